"""OpenAPI ``links``: an output of one operation fills an input of a second, so the second depends on the first."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from ingest.sources.json_schema.references import References
from ingest.sources.json_values import as_mapping
from ingest.sources.openapi.http_answer import success_responses
from ingest.sources.openapi.operation import Operation
from ingest.sources.source import RejectedRecord
from ontology.errors import DocumentError
from ontology.tool import Dependency

__all__ = ["Links", "declared_links"]


@dataclass(frozen=True, slots=True)
class Links:
    """The links of a document.

    :param dependencies: map from operation id to the dependencies of the operation.
    :param rejected: the links whose target does not exist.
    """

    dependencies: dict[str, list[Dependency]] = field(default_factory=dict)
    rejected: list[RejectedRecord] = field(default_factory=list)


def declared_links(operations: Sequence[Operation], references: References, address: str) -> Links:
    """Return the links of all operations."""
    found = Links()
    by_id = {operation.id: operation.id for operation in operations}
    by_path = {(operation.path, operation.method.lower()): operation.id for operation in operations}
    for operation in operations:
        for name, link in _links(operation, references):
            target = by_id.get(str(link.get("operationId"))) or by_path.get(_path_and_method(link.get("operationRef")))
            if target is None:
                named = link.get("operationId") or link.get("operationRef") or "no operation"
                problem = f"The link {name!r} names {named}, which this document does not have"
                detail = f"{problem}; the tool is kept without it."
                found.rejected.append(RejectedRecord(f"{address}#{operation.id}", "dangling-link", detail))
            elif target != operation.id:
                found.dependencies.setdefault(target, []).extend(_dependencies(operation.id, name, link))
    return found


def _links(operation: Operation, references: References) -> Iterator[tuple[str, Mapping[str, Any]]]:
    try:
        for _, response in success_responses(operation.body, references):
            for name, link in as_mapping(response.get("links")).items():
                yield str(name), references.resolve(link)
    except DocumentError:
        return  # the same error is told of the answer


def _path_and_method(ref: Any) -> tuple[str, str]:
    """Parse path and method of an ``operationRef`` in this document (``#/paths/~1orders~1{id}/get``)."""
    match = re.fullmatch(r"#/paths/([^/]+)/([a-z]+)", ref) if isinstance(ref, str) else None
    return (_unescaped(match[1]), match[2]) if match else ("", "")


def _dependencies(source: str, link_name: str, link: Mapping[str, Any]) -> Iterator[Dependency]:
    reason = f"openapi link {link_name}"
    filled = dict(as_mapping(link.get("parameters")))
    if isinstance(link.get("requestBody"), str):
        filled["body"] = link["requestBody"]
    if not filled:
        yield Dependency(tool=source, reason=reason)
    for parameter, expression in filled.items():
        name = re.sub(r"^(?:path|query|header|cookie)\.", "", str(parameter))
        yield Dependency(tool=source, parameter=name, output=_output(expression), reason=reason)


def _output(expression: Any) -> str:
    """Return the output of a runtime expression: ``items[].id`` for ``$response.body#/items/0/id``."""
    text = expression.strip("{}") if isinstance(expression, str) else ""
    if text.startswith("$response.header."):
        return text.removeprefix("$response.header.")
    if not text.startswith("$response.body#/"):
        return ""
    name = ""
    for part in text.removeprefix("$response.body#/").split("/"):
        if part.isdigit():
            name += "[]"
        else:
            name += f".{_unescaped(part)}" if name else _unescaped(part)
    return name


def _unescaped(part: str) -> str:
    """Decode one part of a JSON pointer in a URL."""
    return unquote(part).replace("~1", "/").replace("~0", "~")
