"""The answers that the documents declare, read with the references as they stand: an oracle that shares no code with the company."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import yaml
from jsonschema import Draft202012Validator
from referencing import Registry
from referencing.jsonschema import DRAFT202012

from tests.harness.company import CATALOG

_BASE = "http://catalog.test/"


@dataclass(frozen=True)
class Declared:
    """An operation as its document declares it: pointers to its node and to the schemas of its answers by status."""

    method: str
    path: str
    node: Mapping[str, Any]
    answers: Mapping[int, str]


@cache
def _documents() -> Mapping[str, Any]:
    found = {}
    for path in sorted(CATALOG.iterdir()):
        if path.suffix in (".yaml", ".json"):
            document = yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
            if isinstance(document, dict) and {"openapi", "swagger"} & set(document):
                found[path.name] = document
    return found


@cache
def _registry() -> Registry[Any]:
    return Registry().with_resources(
        (_BASE + name, DRAFT202012.create_resource(document)) for name, document in _documents().items()
    )


@cache
def declared() -> Mapping[str, Declared]:
    """Tool id → operation."""
    found = {}
    for name, document in _documents().items():
        for path, item in document["paths"].items():
            for method, node in item.items():
                answers = {int(code): _pointer(name, path, method, str(code), node) for code in node["responses"]}
                found[f"{name.split('.')[0]}/{node['operationId']}"] = Declared(method.upper(), path, node, answers)
    return found


def _pointer(name: str, path: str, method: str, code: str, node: Mapping[str, Any]) -> str:
    stated = next(value for key, value in node["responses"].items() if str(key) == code)
    if "$ref" in stated:
        file, _, pointer = stated["$ref"].partition("#")
        return f"{file or name}#{pointer}/content/application~1json/schema"
    place = f"{name}#/paths/{path.replace('~', '~0').replace('/', '~1')}/{method}/responses/{code}"
    if "schema" in stated:
        return f"{place}/schema"
    return f"{place}/content/application~1json/schema" if "content" in stated else ""


def faults(tool_id: str, status: int, body: Any) -> list[str]:
    """What is wrong with an answer by its document; an undeclared status of refusal must be a Problem."""
    pointer = declared()[tool_id].answers.get(
        status, "common.yaml#/components/schemas/Problem" if status >= 400 else None
    )
    if pointer is None:
        return [f"the status {status} is not declared"]
    if not pointer:
        return [] if body is None else ["a body where none is declared"]
    schema = {"$ref": _BASE + pointer}
    checker = Draft202012Validator.FORMAT_CHECKER
    validator = Draft202012Validator(schema, registry=_registry(), format_checker=checker)
    return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(body)]
