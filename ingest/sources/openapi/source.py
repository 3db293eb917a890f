"""The source ``openapi.v1``: OpenAPI 3.x and Swagger 2.0, as YAML or JSON, from a file or a URL. Each operation is a tool."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
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


class OpenApiSource(Source):
    """OpenAPI 3.x and Swagger 2.0."""

    name = "openapi.v1"

    def accepts(self, document: Document) -> bool:
        """Whether the document has the top-level key ``openapi`` or ``swagger``."""
        may_be = document.is_url or document.suffix in DATA_SUFFIXES
        return may_be and not {"openapi", "swagger"}.isdisjoint(as_mapping(document.data_or_none))

    def read(self, document: Document) -> Iterator[Tool | RejectedRecord]:
        """Yield one tool for each operation. One whose request cannot be read is rejected; one whose answer cannot has no outputs."""
        root: Mapping[str, Any] = document.data
        version = str(root.get("openapi") or root.get("swagger"))
        if not (version.startswith("3.") or version in {"2.0", "2"}):
            problem = f"unsupported version of OpenAPI: {version[:40]}"
            remedy = "egotools reads OpenAPI 3.x and Swagger 2.0"
            raise DocumentError(problem, subject=document.address, remedy=remedy, reason="unsupported-version")
        if not isinstance(root.get("paths"), (Mapping, type(None))):
            raise DocumentError("paths must be an object", subject=f"{document.address}#/paths", reason="wrong-type")
        _state_subtypes(root)
        references = References(document)
        operations: list[HttpOperation] = []
        for found in _operations(references, document.address):
            if isinstance(found, RejectedRecord):
                yield found
            else:
                operations.append(found)
        if not root.get("paths") and not any(root.get(key) for key in _LIBRARY):
            yield RejectedRecord(document.address, "no-operations", "The document has no paths.")
        for key, node in security_schemes(root).items():
            try:
                references.resolve(node)
            except DocumentError as error:
                kept = "The operations that need it are kept without it."
                yield RejectedRecord.of_error(f"{document.address}#{key}", error, kept)
        linked = _linked(operations, references)
        base, schemas = "", Schemas(references.lookup)
        if document.is_url:  # without credentials and query
            parts = urlsplit(document.address)
            base = urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
        for each in operations:
            reading = partial(_operation, each, references, linked.get(each.id, ()), base)
            yield from schemas.tools(f"{document.address}#{each.id}", reading)


# Alternatives of one schema. Chosen, not tuned: a type of a few dozen kinds is opened, the root type of a whole service is not.
_MAX_SUBTYPES = 40


def _state_subtypes(root: Mapping[str, Any]) -> None:
    """Write the subtypes of schemas with a ``discriminator`` as their alternatives (``anyOf``), in place. OpenAPI
    states them from below: each subtype has the schema in its ``allOf``. The schema itself moves to a name of its own,
    to which its subtypes refer, so that nothing leads back to the alternatives."""
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


def _operations(references: References, address: str) -> Iterator[HttpOperation | RejectedRecord]:
    """Yield the operations in document order; the id is the ``operationId`` where it is free, else method and path."""
    taken: set[str] = set()
    for path, item in (references.root.get("paths") or {}).items():
        if not str(path).startswith("/"):
            continue
        try:
            resolved = {**references.resolve(item), **{k: v for k, v in as_mapping(item).items() if k != "$ref"}}
        except DocumentError as error:
            yield RejectedRecord.of_error(f"{address}#{path}", error)
            continue
        if not isinstance(item, Mapping | None):  # an empty item has no operations, which is allowed
            yield RejectedRecord(f"{address}#{path}", "wrong-type", "A path item must be an object.")
            continue
        for method, body in resolved.items():
            if method.lower() not in _METHODS:
                continue
            if not isinstance(body, Mapping):
                yield RejectedRecord(f"{address}#{method} {path}", "wrong-type", "An operation must be an object.")
                continue
            stem, number = re.sub(r"[\W_]+", "_", f"{method.lower()}_{path}").strip("_"), 2
            id_ = as_text(body.get("operationId")).strip() or stem
            if id_ in taken:
                id_ = stem
            while id_ in taken:
                id_, number = f"{stem}_{number}", number + 1
            taken.add(id_)
            yield HttpOperation(id=id_, method=method.upper(), path=path, item=resolved, body=body)


def _linked(operations: Sequence[HttpOperation], references: References) -> dict[str, list[Dependency]]:
    """What the links of all operations fill: operation id → its dependencies. A link that leads nowhere says nothing."""
    ids = {operation.id for operation in operations}
    by_path = {(operation.path, operation.method.lower()): operation.id for operation in operations}
    found: dict[str, list[Dependency]] = {}
    for operation in operations:
        for name, link in _links(operation, references):
            # In this document: ``#/paths/~1orders~1{id}/get``.
            path = re.fullmatch(r"#/paths/([^/]+)/([a-z]+)", as_text(link.get("operationRef")))
            target = by_path.get((_unescaped(path[1]), path[2])) if path else as_text(link.get("operationId"))
            if target in ids and target != operation.id:
                found.setdefault(target, []).extend(_dependencies(operation.id, name, link))
    return found


def _links(operation: HttpOperation, references: References) -> Iterator[tuple[str, Mapping[str, Any]]]:
    try:
        for response in success_responses(operation.body, references):
            for name, link in as_mapping(response.get("links")).items():
                yield str(name), references.resolve(link)
    except DocumentError:
        return  # the same error is told of the answer


def _dependencies(source: str, link_name: str, link: Mapping[str, Any]) -> Iterator[Dependency]:
    """Yield what a link fills of its target, with outputs of its source."""
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
    name = ""
    for part in text.removeprefix("$response.body#/").split("/") if text.startswith("$response.body#/") else ():
        if part.isdigit():
            name += "[]"
        else:
            name += f".{_unescaped(part)}" if name else _unescaped(part)
    return name


def _unescaped(part: str) -> str:
    """Decode one part of a JSON pointer in a URL."""
    return unquote(part).replace("~1", "/").replace("~0", "~")


def _operation(
    operation: HttpOperation, references: References, depends_on: Sequence[Dependency], base: str
) -> Operation:
    """The request, the answer and the call; a server that is only a path is on the host of the document, ``base``."""
    request, servers = request_of(operation, references), _servers(operation, references.root)
    accept = ""
    output: Output | Exception | None = None
    try:
        accept, schema = answer_of(operation, references)
        output = Output(schema) if schema is not None else None
    except Exception as error:  # the tool is kept without its outputs
        output = error
    return Operation(
        id=operation.id,
        description=_described(operation.body) or _described(operation.item),
        inputs=request.inputs,
        values=request.values,
        output=output,
        depends_on=tuple(depends_on),
        metadata=_metadata(operation, references.root, servers),
        call=Call(
            protocol="http",
            servers=tuple(_absolute(base, url) for url in servers),
            method=operation.method,
            path=operation.path,
            media_type=request.media_type,
            accept=accept,
            arguments=request.arguments,
            security=security_of(operation, references, request),
        ),
    )


def _described(holder: Mapping[str, Any]) -> str:
    return sentences(as_text(holder.get("summary")), as_text(holder.get("description")))


def _metadata(operation: HttpOperation, root: Mapping[str, Any], servers: list[str]) -> dict[str, Any]:
    info, body = as_mapping(root.get("info")), operation.body
    tags = [str(tag) for tag in as_list(body.get("tags")) if isinstance(tag, (str, int))]
    contact = as_mapping(info.get("contact"))
    host = _HOST.search(f"{as_text(contact.get('url'))} {as_text(contact.get('email'))}")
    metadata: dict[str, Any] = {
        "title": plain(as_text(body.get("summary"))),
        "method": operation.method,
        "path": operation.path,
        "tags": tags,
        "servers": servers,
        "api": plain(as_text(info.get("title"))),
        "api_version": str(info.get("version") or ""),
        "contact": plain(as_text(contact.get("name"))),
        "contact_host": host[1] if host else "",  # never the address of a person
        "deprecated": body.get("deprecated") is True,
    }
    metadata = {key: value for key, value in metadata.items() if value}
    own_tags = [tag for tag in map(as_mapping, as_list(root.get("tags"))) if tag.get("name") in tags]
    for holder in (body, operation.item, *own_tags, info, root):  # the innermost value has priority
        for key, value in holder.items():
            values = value if isinstance(value, list) else [] if value == "" else [value]
            if key.startswith("x-") and values and all(isinstance(each, (str, int, float)) for each in values):
                metadata.setdefault(key.removeprefix("x-").replace("-", "_"), value)
    return metadata


def _servers(operation: HttpOperation, root: Mapping[str, Any]) -> list[str]:
    for holder in (operation.body, operation.item, root):
        urls = [_server(as_mapping(server)) for server in as_list(holder.get("servers"))]
        if any(urls):
            return [url for url in urls if url]
    host, base = as_text(root.get("host")), as_text(root.get("basePath"))
    if not host:
        return [base] if base else []
    return [f"{scheme}://{host}{base}" for scheme in as_list(root.get("schemes")) or ["https"]]


def _server(server: Mapping[str, Any]) -> str:
    """The URL of a server; its variables have their defaults."""
    url = as_text(server.get("url"))
    for name, variable in as_mapping(server.get("variables")).items():
        default = as_mapping(variable).get("default")
        if isinstance(default, str | int) and not isinstance(default, bool):
            url = url.replace(f"{{{name}}}", str(default))
    return url


def _absolute(base: str, url: str) -> str:
    """The URL on the host of the document, or as it is where it is no valid one."""
    try:
        return urljoin(base, url)
    except ValueError:
        return url
