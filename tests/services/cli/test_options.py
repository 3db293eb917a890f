"""Commands whose options come from the fields of dataclasses."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from typer.testing import CliRunner

from inference import DEFAULT_ENCODER
from ontology.errors import NotFoundError
from retrieval.ranking.weights import FUSION
from services.cli.app import app
from services.cli.options import Json, command
from services.jobs.plans import DEFAULT_RERANKER, BuildPlan
from tests.conftest import ROOT


@dataclass(frozen=True, kw_only=True)
class _Inner:
    token: Annotated[str, typer.Option("--inner-token")] = ""


@dataclass(frozen=True, kw_only=True)
class _Plan:
    folder: Annotated[Path, typer.Argument()]
    names: Annotated[tuple[str, ...], typer.Option("--name")] = ()
    count: Annotated[int, typer.Option(min=1)] = 3
    inner: _Inner = field(default_factory=_Inner)


def _call(*arguments: str) -> tuple[int, Any, str]:
    app, called = typer.Typer(), []

    @command(app)
    def go(plan: _Plan, as_json: Json = False) -> None:
        """Go."""
        called.append((plan, as_json))
        if plan.count == 13:
            raise NotFoundError("there is nothing", subject="here")

    done = CliRunner().invoke(app, list(arguments))
    return done.exit_code, called, done.output


def test_a_dataclass_becomes_options_and_the_options_a_dataclass() -> None:
    code, called, _ = _call("store", "--name", "a", "--name", "b", "--inner-token", "t", "--json")
    assert code == 0
    assert called == [(_Plan(folder=Path("store"), names=("a", "b"), inner=_Inner(token="t")), True)]
    assert _call("store")[1] == [(_Plan(folder=Path("store")), False)]


@pytest.mark.parametrize("arguments", [(), ("store", "--count", "0"), ("store", "--count", "many"), ("store", "--no")])
def test_an_invalid_option_is_an_error_before_the_command_is_called(arguments: tuple[str, ...]) -> None:
    code, called, _ = _call(*arguments)
    assert (code, called) == (2, [])


def test_an_error_ends_the_command_with_its_exit_code() -> None:
    code, _, _ = _call("store", "--count", "13")
    assert code == NotFoundError.exit_code


def test_two_fields_of_one_name_are_an_error() -> None:
    def twice(plan: _Plan, inner: _Inner) -> None:
        """Have one option twice."""

    with pytest.raises(ValueError, match="token"):
        command(typer.Typer())(twice)


def test_the_defaults_of_plans_are_names_that_can_be_loaded() -> None:
    assert (BuildPlan(addresses=("x",)).encoder, DEFAULT_RERANKER) == (DEFAULT_ENCODER, FUSION)


_PACKAGES = ("services", "egotools", "ingest", "planners", "retrieval", "eval", "datagen", "inference", "ontology")


def _commands(found: Any, name: str = "egotools") -> dict[str, set[str]]:
    """Each command → its options and those of its commands."""
    known = {name: {option for each in found.params for option in (*each.opts, *each.secondary_opts)} | {"--help"}}
    for word, child in getattr(found, "commands", {}).items():
        known |= _commands(child, f"{name} {word}")
    known[name] = set.union(*known.values())
    return known


def _texts(path: Path) -> Iterator[str]:
    """The texts of a module's code, without docstrings; values in them are ``{}``."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    left_out = {id(each.value) for each in ast.walk(tree) if isinstance(each, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            left_out |= {id(value) for value in node.values}
            yield "".join(str(value.value) if isinstance(value, ast.Constant) else "{}" for value in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in left_out:
            yield node.value


@pytest.mark.parametrize(
    "package", ["services", "egotools", "ingest", "planners", "retrieval", "eval", "datagen", "ontology"]
)
def test_texts_name_options_that_their_commands_have(package: str) -> None:
    commands = _commands(typer.main.get_command(app))
    calling = set.intersection(*(options for name, options in commands.items() if "--base-url" in options))
    options_of = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*").findall
    wrong = []
    for path in sorted((ROOT / package).rglob("*.py")):
        allowed = calling if path.parent.name == "calling" else commands["egotools"]  # these texts reach all that call
        for text in _texts(path):
            sentences = [(text, allowed)] if " " in text and "ray start" not in text else []
            for name, rest in re.findall(r"(egotools(?: [a-z][a-z-]*)+)([^`.;]*)", text):
                while name not in commands:
                    name = name.rpartition(" ")[0]
                sentences.append((rest, commands[name]))
            wrong += [(path.name, said) for said, options in sentences if not set(options_of(said)) <= options]
    assert wrong == []
