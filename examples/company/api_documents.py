"""The operations of the OpenAPI documents of a folder, with their schemas written out: no references, no ``allOf``; and values against these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.exceptions import best_match

from ontology.errors import DocumentError, InvalidArgumentError

Schema = Mapping[str, Any]
_METHODS = ("get", "post", "put", "patch", "delete")
_BESIDE_SCHEMA = ("name", "in", "required", "description")


class Refusal(Exception):
    """A call that is refused with the status of its answer; code and message are its body, a Problem of ``common.yaml``."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, message


def wrong(where: str, message: str) -> Refusal:
    """A value that is not what the document says."""
    return Refusal(400, "INVALID", f"{where}: {message}")


def no_record(key: str, value: object) -> Refusal:
    """A record that is not there."""
    return Refusal(404, "NOT_FOUND", f"{key}: there is no record {str(value)[:80]!r}")


def conflict(message: str) -> Refusal:
    """A call that the state of a record does not allow."""
    return Refusal(409, "CONFLICT", message)


@dataclass(frozen=True, slots=True)
class OperationParameter:
    """A parameter of the path or the query."""

    name: str
    place: str
    required: bool
    schema: Schema


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation.

    :param system: the stem of its document's name.
    :param path: template, ``/suppliers/{supplierId}``.
    :param status: the declared status of success.
    :param answer: schema of the body of that answer; None where there is none.
    """

    id: str
    system: str
    method: str
    path: str
    parameters: tuple[OperationParameter, ...]
    body: Schema | None
    body_required: bool
    status: int
    answer: Schema | None

    @property
    def path_names(self) -> tuple[str, ...]:
        """The parameters of the path, in its order."""
        parts = self.path.split("/")
        return tuple(part[1:-1] for part in parts if part.startswith("{"))


def read_operations(folder: Path) -> tuple[Operation, ...]:
    """Read the operations of every OpenAPI and Swagger document of a folder, in the order of files and paths.

    :raises InvalidArgumentError: when the folder has none.
    :raises DocumentError: when a document cannot be read.
    """
    documents = _Documents(folder)
    found = tuple(
        _operation(
            documents, name, path, method, {**operation, "parameters": [*shared, *operation.get("parameters", ())]}
        )
        for name in documents.names
        for path, item in documents.load(name).get("paths", {}).items()
        for shared in [item.get("parameters", ())]
        for method, operation in item.items()
        if method in _METHODS
    )
    if not found:
        remedy = "Name the folder of the catalogue"
        raise InvalidArgumentError("the folder has no OpenAPI document", subject=str(folder), remedy=remedy)
    return found


class _Documents:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._loaded: dict[str, dict[str, Any]] = {}
        files = [each for each in sorted(folder.glob("*")) if each.suffix in (".yaml", ".json")]
        self.names = [each.name for each in files if {"openapi", "swagger"} & self.load(each.name).keys()]

    def load(self, name: str) -> dict[str, Any]:
        if name not in self._loaded:
            path = self._folder / name
            try:
                content = yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
            except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
                raise DocumentError(f"cannot be read: {error}", subject=str(path), remedy="Correct the file") from error
            self._loaded[name] = content if isinstance(content, dict) else {}
        return self._loaded[name]

    def target(self, node: Any, name: str) -> tuple[Any, str]:
        """Follow the references of a node; returns what they point to, and the document that holds it."""
        while isinstance(node, dict) and "$ref" in node:
            file, _, pointer = node["$ref"].partition("#")
            name = file or name
            node = self.load(name)
            for part in pointer.strip("/").split("/"):
                node = node[part.replace("~1", "/").replace("~0", "~")]
        return node, name

    def schema(self, node: Any, name: str, within: tuple[str, ...] = ()) -> dict[str, Any]:
        """Write a schema out. One that holds itself is cut off where it begins again: there, anything goes."""
        if isinstance(node, dict) and "$ref" in node:
            place = f"{name} {node['$ref']}"
            if place in within:
                return {}
            within = (*within, place)
        node, name = self.target(node, name)
        written = {key: value for key, value in node.items() if key not in ("allOf", "properties", "items")}
        for part in node.get("allOf", ()):
            inner = self.schema(part, name, within)
            written["properties"] = {**written.get("properties", {}), **inner.get("properties", {})}
            written["required"] = [*written.get("required", []), *inner.get("required", [])]
            written["type"] = "object"
        if "properties" in node:
            own = {key: self.schema(value, name, within) for key, value in node["properties"].items()}
            written["properties"] = {**written.get("properties", {}), **own}
        if "items" in node:
            written["items"] = self.schema(node["items"], name, within)
        return written

    def content(self, node: Any, name: str) -> Schema | None:
        """The schema of a body: of Swagger beside its description, of OpenAPI below its media type."""
        found, holder = self.target(node, name)
        held = found if "schema" in found else found.get("content", {}).get("application/json", {})
        return self.schema(held["schema"], holder) if "schema" in held else None


def _operation(documents: _Documents, name: str, path: str, method: str, stated: dict[str, Any]) -> Operation:
    given = [documents.target(node, name) for node in stated["parameters"]]
    parameters = tuple(
        OperationParameter(node["name"], node["in"], node.get("required") is True, documents.schema(schema, holder))
        for node, holder in given
        for schema in [node.get("schema") or {key: node[key] for key in node if key not in _BESIDE_SCHEMA}]
        if node["in"] != "body"
    )
    bodies = [*(each for each in given if each[0]["in"] == "body"), (stated.get("requestBody"), name)]
    body, holder = bodies[0]
    status, answer = next((int(code), node) for code, node in stated["responses"].items() if str(code)[0] == "2")
    return Operation(
        id=stated["operationId"],
        system=Path(name).stem,
        method=method.upper(),
        path=path,
        parameters=parameters,
        body=documents.content(body, holder) if body else None,
        body_required=bool(body) and documents.target(body, holder)[0].get("required", False),
        status=status,
        answer=documents.content(answer, name),
    )


_FORMATS = FormatChecker(formats=())
_FORMATS.checks("date", raises=ValueError)(lambda value: not isinstance(value, str) or bool(date.fromisoformat(value)))
_FORMATS.checks("date-time", raises=ValueError)(
    lambda value: not isinstance(value, str) or bool(datetime.fromisoformat(value))
)


def check_value(value: Any, schema: Schema, where: str) -> None:
    """Check a value and all that is in it.

    :raises Refusal: 400 that names the part that is wrong.
    """
    error = best_match(Draft202012Validator(schema, format_checker=_FORMATS).iter_errors(value))
    if error is not None:
        raise wrong(where + error.json_path.removeprefix("$"), error.message[:300])


def parsed(texts: Sequence[str], schema: Schema, where: str) -> Any:
    """The value of a parameter from its texts in the URL.

    :raises Refusal: 400 when it is none of its schema.
    """
    kind = schema.get("type")
    if kind == "array":
        return [parsed([part], schema["items"], where) for text in texts for part in text.split(",")]
    if len(texts) > 1:
        raise wrong(where, "it is given several times")
    value: Any = texts[0]
    try:
        if kind in ("integer", "number") and len(value) < 20:
            value = int(value) if kind == "integer" else float(value)
        elif kind == "boolean":
            value = {"true": True, "false": False}.get(value, value)
    except ValueError:
        pass
    check_value(value, schema, where)
    return value
