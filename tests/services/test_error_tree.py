"""Every class of the error tree is one gRPC code, one exit code and one class of the client; none is UNKNOWN."""

import ast
import json
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from egotools.client_errors import InternalServerError, client_error_of
from ontology import errors
from ontology.errors import EgotoolsError, MissingExtraError
from services.cli.options import Json, command
from services.server.calls import error_message, reason_of, status
from tests.conftest import ROOT
from tests.house import nodes_of

PACKAGES = ("ontology", "inference", "ingest", "retrieval", "eval", "datagen", "services", "egotools")


def _tree(root: type[Any]) -> list[type[Any]]:
    return [root, *(below for child in root.__subclasses__() for below in _tree(child))]


TREE = [kind for kind in _tree(EgotoolsError) if kind.__module__ == errors.__name__]


def made(kind: type[EgotoolsError]) -> EgotoolsError:
    if kind is MissingExtraError:
        return MissingExtraError("the thing", extra="llm")
    return kind("it is wrong", subject="the thing", remedy="Mend it")


def test_every_error_of_the_packages_is_in_the_tree() -> None:
    names = {kind.__name__ for kind in TREE}
    outside = [
        f"{path.relative_to(ROOT)}: {node.name}"
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
        if path != Path(errors.__file__)
        for node in nodes_of(path)
        if isinstance(node, ast.ClassDef)
        and {getattr(base, "id", "") for base in node.bases} & names
        and package != "egotools"  # the errors of the client have a tree of their own, with some of the same names
    ]
    assert outside == []


def ended(error: EgotoolsError) -> Result:
    """A command that ends with an error."""
    app = typer.Typer()

    @command(app)
    def fail(as_json: Json = False) -> None:
        raise error

    return CliRunner().invoke(app, ["--json"])


def test_a_class_is_one_code_one_reason_one_exit_code_and_one_error_of_the_client(subtests: pytest.Subtests) -> None:
    for kind in TREE:
        with subtests.test(ascii(kind)):
            error = made(kind)
            message = error_message(error)
            code, _, _ = status(message)
            assert kind.grpc_code != "UNKNOWN" and (kind.grpc_code == "INTERNAL") == (kind is EgotoolsError)
            assert code.name == kind.grpc_code and message.reason == reason_of(error)
            assert [other.__name__ for other in TREE if reason_of(made(other)) == message.reason] == [kind.__name__]
            met = client_error_of(code.name, message.message)
            assert met.code == kind.grpc_code
            assert isinstance(met, InternalServerError) == (kind is EgotoolsError)
            result = ended(error)
            assert (result.exit_code, json.loads(result.stderr)["error"]) == (kind.exit_code, kind.__name__)
