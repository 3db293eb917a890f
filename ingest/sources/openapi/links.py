"""OpenAPI ``links``: an answer of one operation says which input of another it fills, so the other depends on the one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol
from urllib.parse import unquote

from ingest.sources.json_schema.references import References
from ingest.sources.openapi.fields import success_responses
from ingest.sources.source import RejectedRecord
from ontology.errors import DocumentError
from ontology.tool import Dependency

__all__ = ["declared_links"]


class _Operation(Protocol):
    @property
    def id(self) -> str: ...
    @property
    def method(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def body(self) -> Mapping[str, Any]: ...


def declared_links(
    operations: Sequence[_Operation], references: References, address: str
) -> tuple[dict[str, list[Dependency]], list[RejectedRecord]]:
    """The dependencies by id of the operation that has them, and the links that lead nowhere."""
    by_id = {operation.id: operation.id for operation in operations}
    by_place = {(operation.path, operation.method.lower()): operation.id for operation in operations}
    needs: dict[str, list[Dependency]] = {}
    faults: list[RejectedRecord] = []
    for operation in operations:
        for name, link in _links(operation, references):
            target = by_id.get(str(link.get("operationId"))) or by_place.get(_place(link.get("operationRef")))
            if target is None:
                named = link.get("operationId") or link.get("operationRef") or "no operation"
                detail = (
                    f"The link {name!r} names {named}, which this document does not have; the tool is kept without it."
                )
                faults.append(
                    RejectedRecord(subject=f"{address}#{operation.id}", reason="dangling-link", detail=detail)
                )
            elif target != operation.id:
                needs.setdefault(target, []).extend(_dependencies(operation.id, name, link))
    return needs, faults


def _links(operation: _Operation, references: References) -> Iterator[tuple[str, Mapping[str, Any]]]:
    try:
        for _, response in success_responses(operation.body, references):
            links = response.get("links")
            for name, link in links.items() if isinstance(links, Mapping) else ():
                yield str(name), references.resolve(link)
    except DocumentError:
        return  # the operation itself is rejected for it


def _place(ref: Any) -> tuple[str, str]:
    """Path and method of an ``operationRef`` into this document (``#/paths/~1orders~1{id}/get``)."""
    match = re.fullmatch(r"#/paths/([^/]+)/([a-z]+)", ref) if isinstance(ref, str) else None
    if match is None:
        return "", ""
    return unquote(match[1]).replace("~1", "/").replace("~0", "~"), match[2]


def _dependencies(source: str, name: str, link: Mapping[str, Any]) -> Iterator[Dependency]:
    reason = f"openapi link {name}"
    parameters = link.get("parameters")
    filled = dict(parameters) if isinstance(parameters, Mapping) else {}
    if isinstance(link.get("requestBody"), str):
        filled["body"] = link["requestBody"]
    if not filled:
        yield Dependency(tool=source, reason=reason)
    for parameter, expression in filled.items():
        bare = re.sub(r"^(?:path|query|header|cookie)\.", "", str(parameter))
        yield Dependency(tool=source, parameter=bare, output=_output(expression), reason=reason)


def _output(expression: Any) -> str:
    """The output that a runtime expression names: ``$response.body#/items/0/id`` is ``items[].id``."""
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
            key = unquote(part).replace("~1", "/").replace("~0", "~")
            name += f".{key}" if name else key
    return name
