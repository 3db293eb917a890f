"""OpenAPI 3.0, 3.1 and Swagger 2.0, as YAML or JSON, from a file or a live URL: an operation is a tool."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ingest.sources.document import Document
from ingest.sources.json_schema.references import References
from ingest.sources.openapi.fields import inputs_of, outputs_of
from ingest.sources.openapi.links import declared_links
from ingest.sources.prose import plain, sentences
from ingest.sources.source import RejectedRecord
from ontology.errors import DocumentError
from ontology.tool import Dependency, Parameter, Tool

__all__ = ["METHODS", "OpenApiSource", "Operation"]

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace", "query")

_ENDINGS = frozenset({".json", ".yaml", ".yml", ""})
# A document may hold only what others refer to.
_LIBRARY = ("components", "definitions", "webhooks", "parameters", "responses")
_SIGN = re.compile(rb"[\"']?(?:openapi|swagger)[\"']?\s*:")
_TEMPLATE = re.compile(r"\{([^{}/]+)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One operation, where it stands in the document."""

    id: str
    method: str
    path: str
    item: Mapping[str, Any]
    body: Mapping[str, Any]


class OpenApiSource:
    """OpenAPI 3.x and Swagger 2.0."""

    name = "openapi.v1"

    def accepts(self, document: Document) -> bool:
        """Whether the document has the key ``openapi`` or ``swagger`` at its top."""
        if not document.has_content or not (document.is_url or document.suffix in _ENDINGS):
            return False
        try:
            if not _SIGN.search(document.content):
                return False
            data = document.data
        except DocumentError:
            return False
        return isinstance(data, Mapping) and ("openapi" in data or "swagger" in data)

    def read(self, document: Document) -> Iterator[Tool | RejectedRecord]:
        """Read the operations; one whose references lead nowhere is rejected and the others are kept."""
        root: Mapping[str, Any] = document.data
        _check_version(root, document)
        references = References(document)
        operations: list[Operation] = []
        for found in _operations(root, document, references):
            if isinstance(found, RejectedRecord):
                yield found
            else:
                operations.append(found)
        if not root.get("paths") and not any(root.get(key) for key in _LIBRARY):
            detail = "The document has no paths."
            yield RejectedRecord(subject=document.address, reason="no-operations", detail=detail)
        needs, faults = declared_links(operations, references, document.address)
        yield from faults
        for operation in operations:
            yield _tool(operation, root, references, tuple(needs.get(operation.id, ())), document)


def _check_version(root: Mapping[str, Any], document: Document) -> None:
    version = str(root.get("openapi") or root.get("swagger"))
    if not (version.startswith("3.") or version in {"2.0", "2"}):
        raise DocumentError(
            f"unsupported version of OpenAPI: {version[:40]}",
            subject=document.address,
            remedy="egotools reads OpenAPI 3.x and Swagger 2.0",
        )
    if not isinstance(root.get("paths"), (Mapping, type(None))):
        raise DocumentError("paths must be an object", subject=f"{document.address}#/paths")


def _operations(
    root: Mapping[str, Any], document: Document, references: References
) -> Iterator[Operation | RejectedRecord]:
    """The operations in document order; two of one path and method cannot be, so ids are made of these where none is given."""
    for path, item in (root.get("paths") or {}).items():
        if not str(path).startswith("/"):
            continue
        try:
            resolved = {**references.resolve(item), **{k: v for k, v in _mapping(item).items() if k != "$ref"}}
        except DocumentError as error:
            yield _rejected_record(f"{document.address}#{path}", error)
            continue
        for method, body in resolved.items():
            if method.lower() not in METHODS:
                continue
            if isinstance(body, Mapping):
                id_ = _id(body, method, path)
                yield Operation(id=id_, method=method.upper(), path=path, item=resolved, body=body)
            else:
                detail = "An operation must be an object."
                yield RejectedRecord(subject=f"{document.address}#{method} {path}", reason="wrong-type", detail=detail)


def _id(body: Mapping[str, Any], method: str, path: str) -> str:
    given = body.get("operationId")
    if isinstance(given, str) and given.strip():
        return given.strip()
    return re.sub(r"[\W_]+", "_", f"{method.lower()}_{path}").strip("_")


def _tool(
    operation: Operation,
    root: Mapping[str, Any],
    references: References,
    needs: tuple[Dependency, ...],
    document: Document,
) -> Tool | RejectedRecord:
    try:
        inputs = inputs_of(operation.item, operation.body, references)
        outputs = outputs_of(operation.body, references)
    except DocumentError as error:
        return _rejected_record(f"{document.address}#{operation.id}", error)
    metadata = _metadata(operation, root)
    cut = [name for name, fields in (("parameters", inputs), ("returns", outputs)) if fields.cut]
    if cut:
        metadata["cut"] = [f"{name}: only the first fields of a large or deep schema are kept" for name in cut]
    return Tool(
        id=operation.id,
        name=operation.id,
        description=sentences(_text(operation.body, "summary"), _text(operation.body, "description")),
        parameters=_with_path_variables(operation.path, inputs.parameters),
        returns=outputs.parameters,
        depends_on=needs,
        metadata=metadata,
    )


def _rejected_record(subject: str, error: DocumentError) -> RejectedRecord:
    reason = "dangling-ref" if error.problem.startswith("the reference") else "wrong-type"
    where = f" at {error.subject}" if error.subject else ""
    return RejectedRecord(
        subject=subject, reason=reason, detail=f"{error.problem}{where}. {error.remedy}.".replace(". .", ".")
    )


def _with_path_variables(path: str, parameters: tuple[Parameter, ...]) -> tuple[Parameter, ...]:
    """Variables of the path that the document forgot to declare are inputs all the same."""
    declared = {parameter.name for parameter in parameters if parameter.location == "path"}
    missing = [name for name in dict.fromkeys(_TEMPLATE.findall(path)) if name not in declared]
    return (*(Parameter(name=name, required=True, location="path") for name in missing), *parameters)


def _metadata(operation: Operation, root: Mapping[str, Any]) -> dict[str, Any]:
    info = _mapping(root.get("info"))
    tags = [str(tag) for tag in _list(operation.body.get("tags")) if isinstance(tag, (str, int))]
    metadata: dict[str, Any] = {
        "title": plain(_text(operation.body, "summary")),
        "method": operation.method,
        "path": operation.path,
        "tags": tags,
        "servers": _servers(operation, root),
        "api": plain(_text(info, "title")),
        "api_version": str(info.get("version") or ""),
        "deprecated": operation.body.get("deprecated") is True,
    }
    metadata = {key: value for key, value in metadata.items() if value}
    described = [_mapping(tag) for tag in _list(root.get("tags"))]
    holders = [operation.body, operation.item, *(tag for tag in described if tag.get("name") in tags), info, root]
    for holder in holders:  # the nearest says it
        for key, value in holder.items():
            if key.startswith("x-") and _is_plain(value):
                metadata.setdefault(key.removeprefix("x-").replace("-", "_"), value)
    return metadata


def _servers(operation: Operation, root: Mapping[str, Any]) -> list[str]:
    for holder in (operation.body, operation.item, root):
        urls = [_text(_mapping(server), "url") for server in _list(holder.get("servers"))]
        if any(urls):
            return [url for url in urls if url]
    host = _text(root, "host")
    base = _text(root, "basePath")
    if not host:
        return [base] if base else []
    return [f"{scheme}://{host}{base}" for scheme in _list(root.get("schemes")) or ["https"]]


def _is_plain(value: Any) -> bool:
    if isinstance(value, list):
        return bool(value) and all(isinstance(inner, (str, int, float)) for inner in value)
    return isinstance(value, (str, int, float)) and value != ""


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(holder: Mapping[str, Any], key: str) -> str:
    value = holder.get(key)
    return value if isinstance(value, str) else ""
