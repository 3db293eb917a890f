"""The source ``openapi.v1``: OpenAPI 3.x and Swagger 2.0, as YAML or JSON, from a file or a URL. Each operation is a tool."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit, urlunsplit

from egotools.call import Call
from ingest.sources.document import Document
from ingest.sources.json_schema.references import References
from ingest.sources.openapi.http_request import (
    HttpOperation,
    answer_of,
    request_of,
    security_of,
    security_schemes,
    success_responses,
)
from ingest.sources.operation import Operation, Output, Schemas
from ingest.sources.prose import plain, sentences
from ingest.sources.source import DATA_SUFFIXES, RejectedRecord, Source, as_list, as_mapping, as_text
from ontology.errors import DocumentError
from ontology.tool import Dependency, Tool

_METHODS = frozenset({"get", "put", "post", "delete", "options", "head", "patch", "trace", "query"})
# A document without paths is valid when it has one of these keys: other documents can refer to it.
_LIBRARY = ("components", "definitions", "webhooks", "parameters", "responses")
_HOST = re.compile(r"(?:://(?:[^/@\s]*@)?|@)([\w-]+(?:\.[\w-]+)+)")  # of a URL, else of an e-mail address
_VERSION_KEY = re.compile(rb"[\"']?(?:openapi|swagger)[\"']?\s*:")


class OpenApiSource(Source):
    """OpenAPI 3.x and Swagger 2.0."""

    name = "openapi.v1"

    def accepts(self, document: Document) -> bool:
        """Whether the document has the top-level key ``openapi`` or ``swagger``."""
        if not document.has_content or not (document.is_url or document.suffix in DATA_SUFFIXES):
            return False
        try:
            if not _VERSION_KEY.search(document.content):
                return False
        except DocumentError:
            return False
        data = document.data_or_none
        return isinstance(data, Mapping) and ("openapi" in data or "swagger" in data)

    def read(self, document: Document) -> Iterator[Tool | RejectedRecord]:
        """Yield one tool for each operation. One whose request cannot be read is rejected; one whose answer cannot has no outputs."""
        root: Mapping[str, Any] = document.data
        _check_version(root, document)
        _state_subtypes(root)
        references = References(document)
        operations: list[HttpOperation] = []
        taken: set[str] = set()
        for found in _operations(root, document, references):
            if isinstance(found, RejectedRecord):
                yield found
            else:
                operations.append(_distinct(found, taken))
        if not root.get("paths") and not any(root.get(key) for key in _LIBRARY):
            yield RejectedRecord(document.address, "no-operations", "The document has no paths.")
        for key, node in security_schemes(root).items():
            try:
                references.resolve(node)
            except DocumentError as error:
                kept = "The operations that need it are kept without it."
                yield RejectedRecord.of_error(f"{document.address}#{key}", error, kept)
        linked: dict[str, list[Dependency]] = {}
        yield from _take_links(operations, references, document.address, linked)
        reader, schemas = _Reader(document, references, linked), Schemas(references.lookup)
        for operation in operations:
            subject = f"{document.address}#{operation.id}"
            yield from schemas.tools(subject, partial(reader.operation, operation))


def _check_version(root: Mapping[str, Any], document: Document) -> None:
    version = str(root.get("openapi") or root.get("swagger"))
    if not (version.startswith("3.") or version in {"2.0", "2"}):
        raise DocumentError(
            f"unsupported version of OpenAPI: {version[:40]}",
            subject=document.address,
            remedy="egotools reads OpenAPI 3.x and Swagger 2.0",
            reason="unsupported-version",
        )
    if not isinstance(root.get("paths"), (Mapping, type(None))):
        raise DocumentError("paths must be an object", subject=f"{document.address}#/paths", reason="wrong-type")


# Alternatives of one schema. Chosen, not tuned: a type of a few dozen kinds is opened, the root type of a whole service is not.
_MAX_SUBTYPES = 40


def _state_subtypes(root: Mapping[str, Any]) -> None:
    """Write the subtypes of schemas with a ``discriminator`` as their alternatives (``anyOf``), in place.

    OpenAPI states them from below: each subtype has the schema in its ``allOf``. The schema itself moves to a name of its own, to which
    its subtypes refer, so that nothing leads back to the alternatives.
    """
    for prefix, schemas in (
        ("#/components/schemas/", as_mapping(as_mapping(root.get("components")).get("schemas"))),
        ("#/definitions/", as_mapping(root.get("definitions"))),
    ):
        below: dict[str, list[str]] = {}
        for name, schema in schemas.items():
            for part in as_list(as_mapping(schema).get("allOf")):
                if isinstance(ref := as_mapping(part).get("$ref"), str) and ref.startswith(prefix):
                    below.setdefault(ref.removeprefix(prefix), []).append(str(name))
        opened = {
            name: subtypes
            for name in below
            if (schema := as_mapping(schemas.get(name))).get("discriminator")
            and not {"oneOf", "anyOf"} & schema.keys()
            and f"{name}.own" not in schemas
            and len(subtypes := _all_below(name, below)) <= _MAX_SUBTYPES
        }
        for name in {each for key in opened for each in below[key]}:
            for part in as_list(schemas[name]["allOf"]):
                if isinstance(part, dict) and (base := str(part.get("$ref")).removeprefix(prefix)) in opened:
                    part["$ref"] = f"{prefix}{base}.own"
        own = {name: dict(schemas[name]) for name in opened}
        for name, subtypes in opened.items():
            schema = schemas[name]
            kept = {key: schema[key] for key in ("title", "description", "nullable", "x-nullable") if key in schema}
            named = [f"{each}.own" if each in opened else each for each in (*subtypes, name)]
            schema.clear()
            schema.update(kept, anyOf=[{"$ref": f"{prefix}{each}"} for each in named])
            schemas[f"{name}.own"] = own[name]  # type: ignore[index]  # what is read from a file is a dict


def _all_below(name: str, below: Mapping[str, Sequence[str]]) -> list[str]:
    """All subtypes of a schema, each once, without itself."""
    found, waiting = dict[str, None](), list(below[name])
    while waiting:
        if (each := waiting.pop(0)) not in found and each != name:
            found[each] = None
            waiting += below.get(each, ())
    return list(found)


def _operations(
    root: Mapping[str, Any], document: Document, references: References
) -> Iterator[HttpOperation | RejectedRecord]:
    """Yield the operations in document order."""
    for path, item in (root.get("paths") or {}).items():
        if not str(path).startswith("/"):
            continue
        try:
            resolved = {**references.resolve(item), **{k: v for k, v in as_mapping(item).items() if k != "$ref"}}
        except DocumentError as error:
            yield RejectedRecord.of_error(f"{document.address}#{path}", error)
            continue
        if not isinstance(item, Mapping | None):  # an empty item has no operations, which is allowed
            yield RejectedRecord(f"{document.address}#{path}", "wrong-type", "A path item must be an object.")
            continue
        for method, body in resolved.items():
            if method.lower() not in _METHODS:
                continue
            if isinstance(body, Mapping):
                id_ = _id(body, method, path)
                yield HttpOperation(id=id_, method=method.upper(), path=path, item=resolved, body=body)
            else:
                subject = f"{document.address}#{method} {path}"
                yield RejectedRecord(subject, "wrong-type", "An operation must be an object.")


def _id(body: Mapping[str, Any], method: str, path: str) -> str:
    """Return the ``operationId``, else method and path."""
    return as_text(body.get("operationId")).strip() or re.sub(r"[\W_]+", "_", f"{method.lower()}_{path}").strip("_")


def _distinct(operation: HttpOperation, taken: set[str]) -> HttpOperation:
    """The operation with an id of its own: of two with one id, the later has method and path as its id, and a number if need be."""
    id_, number = operation.id, 2
    if id_ in taken:
        id_ = stem = _id({}, operation.method, operation.path)
        while id_ in taken:
            id_, number = f"{stem}_{number}", number + 1
    taken.add(id_)
    return operation if id_ == operation.id else replace(operation, id=id_)


def _take_links(
    operations: Sequence[HttpOperation], references: References, address: str, found: dict[str, list[Dependency]]
) -> Iterator[RejectedRecord]:
    """Add the links of all operations to ``found`` (operation id → its dependencies); yield a record for each without a target."""
    by_id = {operation.id: operation.id for operation in operations}
    by_path = {(operation.path, operation.method.lower()): operation.id for operation in operations}
    for operation in operations:
        for name, link in _links(operation, references):
            target = by_id.get(str(link.get("operationId"))) or by_path.get(_path_and_method(link.get("operationRef")))
            if target is None:
                named = link.get("operationId") or link.get("operationRef") or "no operation"
                problem = f"The link {name!r} names {named}, which this document does not have"
                detail = f"{problem}; the tool is kept without it."
                yield RejectedRecord(f"{address}#{operation.id}", "dangling-link", detail)
            elif target != operation.id:
                found.setdefault(target, []).extend(_dependencies(operation.id, name, link))


def _links(operation: HttpOperation, references: References) -> Iterator[tuple[str, Mapping[str, Any]]]:
    try:
        for response in success_responses(operation.body, references):
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


class _Reader:
    """Reader of the operations of one document."""

    def __init__(self, document: Document, references: References, linked: Mapping[str, list[Dependency]]) -> None:
        self._root: Mapping[str, Any] = document.data
        self._references = references
        self._linked = linked
        self._base = ""
        if document.is_url:  # without credentials and query
            parts = urlsplit(document.address)
            self._base = urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))

    def operation(self, operation: HttpOperation) -> Operation:
        """The request, the answer and the call; a server that is only a path is on the host of the document.

        :raises DocumentError: when a reference of the request leads nowhere or a parameter has no name.
        """
        root, references = self._root, self._references
        request = request_of(operation, root, references)
        accept = ""
        output: Output | Exception | None = None
        try:
            accept, schema = answer_of(operation, root, references)
            output = Output(schema) if schema is not None else None
        except Exception as error:  # the tool is kept without its outputs
            output = error
        return Operation(
            id=operation.id,
            description=_described(operation.body) or _described(operation.item),
            inputs=request.inputs,
            values=request.values,
            output=output,
            depends_on=tuple(self._linked.get(operation.id, ())),
            metadata=_metadata(operation, root),
            call=Call(
                protocol="http",
                servers=tuple(_absolute(self._base, url) for url in _servers(operation, root)),
                method=operation.method,
                path=operation.path,
                media_type=request.media_type,
                accept=accept,
                arguments=request.arguments,
                security=security_of(operation, root, references, request),
            ),
        )


def _described(holder: Mapping[str, Any]) -> str:
    return sentences(as_text(holder.get("summary")), as_text(holder.get("description")))


def _metadata(operation: HttpOperation, root: Mapping[str, Any]) -> dict[str, Any]:
    info, body = as_mapping(root.get("info")), operation.body
    tags = [str(tag) for tag in as_list(body.get("tags")) if isinstance(tag, (str, int))]
    metadata: dict[str, Any] = {
        "title": plain(as_text(body.get("summary"))),
        "method": operation.method,
        "path": operation.path,
        "tags": tags,
        "servers": _servers(operation, root),
        "api": plain(as_text(info.get("title"))),
        "api_version": str(info.get("version") or ""),
        **_contact(as_mapping(info.get("contact"))),
        "deprecated": body.get("deprecated") is True,
    }
    metadata = {key: value for key, value in metadata.items() if value}
    own_tags = [tag for tag in map(as_mapping, as_list(root.get("tags"))) if tag.get("name") in tags]
    for holder in (body, operation.item, *own_tags, info, root):  # the innermost value has priority
        for key, value in holder.items():
            if key.startswith("x-") and _is_plain(value):
                metadata.setdefault(key.removeprefix("x-").replace("-", "_"), value)
    return metadata


def _contact(contact: Mapping[str, Any]) -> dict[str, str]:
    """The name of whom a document names as its contact, and the host of its address; never the address of a person."""
    host = _HOST.search(f"{as_text(contact.get('url'))} {as_text(contact.get('email'))}")
    return {"contact": plain(as_text(contact.get("name"))), "contact_host": host[1] if host else ""}


def _servers(operation: HttpOperation, root: Mapping[str, Any]) -> list[str]:
    for holder in (operation.body, operation.item, root):
        urls = [_server(as_mapping(server)) for server in as_list(holder.get("servers"))]
        if any(urls):
            return [url for url in urls if url]
    host, base = as_text(root.get("host")), as_text(root.get("basePath"))
    if not host:
        return [base] if base else []
    return [f"{scheme}://{host}{base}" for scheme in as_list(root.get("schemes")) or ["https"]]


def _absolute(base: str, url: str) -> str:
    """The URL on the host of the document, or as it is where it is no valid one."""
    try:
        return urljoin(base, url)
    except ValueError:
        return url


def _server(server: Mapping[str, Any]) -> str:
    """The URL of a server; its variables have their defaults."""
    url = as_text(server.get("url"))
    for name, variable in as_mapping(server.get("variables")).items():
        default = as_mapping(variable).get("default")
        if isinstance(default, str | int) and not isinstance(default, bool):
            url = url.replace(f"{{{name}}}", str(default))
    return url


def _is_plain(value: Any) -> bool:
    if isinstance(value, list):
        return bool(value) and all(isinstance(inner, (str, int, float)) for inner in value)
    return isinstance(value, (str, int, float)) and value != ""
