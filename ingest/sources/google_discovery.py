"""The source ``google-discovery.v1``: discovery documents, from a file or from the installed google-api-python-client."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ingest.sources.brief import brief
from ingest.sources.document import Document
from ingest.sources.json_schema.schema import Fields, flatten
from ingest.sources.odata.fields import words
from ingest.sources.parsing import parse_json
from ingest.sources.prose import plain
from ingest.sources.source import RejectedRecord
from ontology.errors import DocumentError, MissingExtraError
from ontology.tool import Parameter, Tool

__all__ = ["GoogleDiscoverySource"]

_LIVE = "google-discovery:"
_KIND = re.compile(r'"kind"\s*:\s*"discovery#restDescription"')
# The kind may come after a long list of scopes or after all schemas; then one of these comes before.
_HINT = re.compile(r'"(?:discoveryVersion|auth|batchPath|rootUrl|servicePath|ownerName|documentationLink)"\s*:')
_STABLE = re.compile(r"v(\d+)(?:\.(\d+))?")
_DESCRIPTION_CHARS = 600
_FIELD_CHARS = 300


class GoogleDiscoverySource:
    """Reader of discovery documents, of ``google-discovery:NAME``, ``…:NAME.VERSION`` and ``…:*``."""

    name = "google-discovery.v1"

    def accepts(self, document: Document) -> bool:
        """A ``google-discovery:`` address, or JSON of the kind ``discovery#restDescription``."""
        if document.address.startswith(_LIVE):
            return True
        if not document.has_content or document.suffix not in {".json", ""}:
            return False
        head = document.head
        if _KIND.search(head):
            return True
        if not _HINT.search(head):
            return False
        try:
            data = document.data
        except DocumentError:
            return False
        return isinstance(data, Mapping) and data.get("kind") == "discovery#restDescription"

    def read(self, document: Document) -> Iterator[Tool | RejectedRecord]:
        """Read the methods of all resources; ids are those of the methods.

        For ``*``, one API after the other; a version that is not the API's newest stable one has its name put into the ids
        (``compute.beta.instances.list``).

        :raises DocumentError: for a document without methods, an unknown API.
        :raises MissingExtraError: for an address without the extra ``google``.
        """
        if not document.address.startswith(_LIVE):
            yield from _read_api(document.data, document.address)
            return
        seen: set[str] = set()
        for file, version in _installed(document.address):
            address = f"{_LIVE}{file.stem}"
            try:
                data = parse_json(file.read_bytes(), subject=address)
                for item in _read_api(data, address, version):
                    yield _apart(item, file.stem, seen) if isinstance(item, Tool) else item
            except DocumentError as error:
                if not document.address.endswith("*"):
                    raise
                reason = "no-operation" if error.problem.endswith("no methods") else "unreadable"
                yield RejectedRecord(subject=address, reason=reason, detail=f"{error.problem}.")


def _apart(tool: Tool, api: str, seen: set[str]) -> Tool:
    """Two APIs may give one id to their methods (an API and the one that replaces it): the later says which it is."""
    if tool.id in seen:
        tool = replace(tool, id=f"{api}.{tool.id}", name=f"{api}.{tool.id}")
    seen.add(tool.id)
    return tool


def _installed(address: str) -> list[tuple[Path, str]]:
    """The files that an address names, each with the version to put into its ids, or empty."""
    try:
        from googleapiclient import discovery_cache
    except ImportError as error:
        raise MissingExtraError(address, extra="google") from error
    wanted = address.removeprefix(_LIVE)
    folder = Path(str(discovery_cache.__file__)).parent / "documents"
    apis: dict[str, list[Path]] = {}
    for file in sorted(folder.glob("*.json")):
        api, dot, _ = file.stem.partition(".")
        if dot:  # index.json lists the others
            apis.setdefault(api, []).append(file)
    if wanted == "*":
        return [
            (file, "" if file is preferred else _version(file))
            for files in apis.values()
            for preferred in [max(files, key=_rank)]
            for file in files
        ]
    named = [file for file in apis.get(wanted.partition(".")[0], ()) if file.stem == wanted]
    if not named and wanted in apis:
        named = [max(apis[wanted], key=_rank)]
    if not named:
        raise DocumentError(
            f"google-api-python-client has no API {wanted!r}",
            subject=address,
            remedy="Name one as it does (gmail, calendar.v3), or * for all",
        )
    return [(file, "") for file in named]


def _version(file: Path) -> str:
    return file.stem.partition(".")[2]


def _rank(file: Path) -> tuple[bool, tuple[int, ...], str]:
    """Stable versions over others, then the higher number."""
    version = _version(file)
    stable = _STABLE.fullmatch(version)
    return bool(stable), tuple(int(part) for part in re.findall(r"\d+", version)), version


def _read_api(api: Any, address: str, version: str = "") -> Iterator[Tool | RejectedRecord]:
    methods = list(_methods(api, ())) if isinstance(api, Mapping) else []
    if not methods:
        raise DocumentError("the discovery document has no methods", subject=address)
    book = _Schemas(api)
    for resource, name, method in methods:
        subject = f"{address}#{'.'.join((*resource, name))}"
        if not isinstance(method, Mapping):
            yield RejectedRecord(subject=subject, reason="wrong-type", detail="A method must be an object.")
            continue
        try:
            yield _tool(api, book, resource, name, method, version)
        except DocumentError as error:
            reason = "dangling-ref" if error.problem.startswith("the reference") else "wrong-type"
            yield RejectedRecord(subject=subject, reason=reason, detail=f"{error.problem}.")


def _methods(node: Mapping[str, Any], resource: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str, Any]]:
    """The methods of a resource and of the resources inside it, each with the names that lead to it."""
    methods, inner = node.get("methods"), node.get("resources")
    for name, method in methods.items() if isinstance(methods, Mapping) else ():
        yield resource, str(name), method
    for name, below in inner.items() if isinstance(inner, Mapping) else ():
        if isinstance(below, Mapping):
            yield from _methods(below, (*resource, str(name)))


class _Schemas:
    """The schemas of one API, each flattened once for inputs and once for outputs."""

    def __init__(self, api: Mapping[str, Any]) -> None:
        schemas = api.get("schemas")
        self.schemas: Mapping[str, Any] = schemas if isinstance(schemas, Mapping) else {}
        self._done: dict[tuple[str, bool], Fields] = {}

    def fields(self, reference: Any, *, output: bool) -> Fields:
        """The fields of a request or a response.

        :raises DocumentError: when a reference leads nowhere.
        """
        name = reference.get("$ref") if isinstance(reference, Mapping) else None
        if not isinstance(name, str):
            return Fields(parameters=())
        key = (name, output)
        if key not in self._done:
            schema, where = {"$ref": name}, "" if output else "body"
            fields = flatten(schema, lookup=self.lookup, location=where, output=output)
            kept = tuple(replace(p, description=brief(p.description, _FIELD_CHARS)) for p in fields.parameters)
            self._done[key] = Fields(parameters=kept, cut=fields.cut)
        return self._done[key]

    def needed(self, reference: Any, method: str) -> set[str]:
        """Names of the fields of a request that are annotated as required by a method."""
        name = reference.get("$ref") if isinstance(reference, Mapping) else None
        schema = self.schemas.get(name) if isinstance(name, str) else None
        properties = schema.get("properties") if isinstance(schema, Mapping) else None
        needed: set[str] = set()
        for key, property_ in properties.items() if isinstance(properties, Mapping) else ():
            notes = property_.get("annotations") if isinstance(property_, Mapping) else None
            methods = notes.get("required") if isinstance(notes, Mapping) else None
            if isinstance(methods, list) and method in methods:
                needed.add(key)
        return needed

    def lookup(self, ref: str) -> Mapping[str, Any]:
        """The schema that a ``$ref`` names."""
        schema = self.schemas.get(ref)
        if not isinstance(schema, Mapping):
            raise DocumentError(f"the reference {ref!r} leads nowhere", subject=ref, remedy="Define what it names")
        return schema


def _tool(
    api: Mapping[str, Any],
    book: _Schemas,
    resource: tuple[str, ...],
    name: str,
    method: Mapping[str, Any],
    version: str,
) -> Tool:
    given = method.get("id")
    own = given if isinstance(given, str) and given else ".".join((str(api.get("name", "api")), *resource, name))
    first, _, rest = own.partition(".")
    id_ = f"{first}.{version}.{rest}" if version else own
    request = book.fields(method.get("request"), output=False)
    response = book.fields(method.get("response"), output=True)
    needed = book.needed(method.get("request"), own)
    url = tuple(_url_parameters(method, book))
    taken = {parameter.name for parameter in url}
    description = method.get("description")
    return Tool(
        id=id_,
        name=id_,
        description=brief(plain(description), _DESCRIPTION_CHARS) if isinstance(description, str) else "",
        parameters=(
            *url,
            *(replace(p, required=True) if p.name in needed else p for p in request.parameters if p.name not in taken),
        ),
        returns=response.parameters,
        metadata=_metadata(api, resource, name, method, [("parameters", request), ("returns", response)]),
    )


def _url_parameters(method: Mapping[str, Any], book: _Schemas) -> Iterator[Parameter]:
    """The parameters of path and query, those that have an order first."""
    parameters = method.get("parameters")
    if not isinstance(parameters, Mapping):
        return
    order = method.get("parameterOrder")
    ordered = (
        [name for name in order if isinstance(name, str) and name in parameters] if isinstance(order, list) else []
    )
    for name in dict.fromkeys((*ordered, *parameters)):
        row = parameters[name]
        if not isinstance(row, Mapping):
            continue
        schema = book.lookup(row["$ref"]) if isinstance(row.get("$ref"), str) else row
        enum = schema.get("enum")
        repeated = row.get("repeated") is True
        yield Parameter(
            name=str(name),
            type="array" if repeated else str(schema.get("type", "string")),
            description=brief(plain(str(row.get("description", ""))), _FIELD_CHARS),
            required=row.get("required") is True,
            enum=tuple(map(str, enum)) if isinstance(enum, list) else (),
            location=str(row.get("location", "")),
            format="" if repeated else str(schema.get("format", "")),
        )


def _metadata(
    api: Mapping[str, Any],
    resource: tuple[str, ...],
    name: str,
    method: Mapping[str, Any],
    fields: list[tuple[str, Fields]],
) -> dict[str, Any]:
    title = words(name) + (f" {words(resource[-1])}" if resource else "")
    scopes = method.get("scopes")
    metadata: dict[str, Any] = {
        "title": title[:1].upper() + title[1:],
        "service": str(api.get("title") or api.get("name") or ""),
        "version": str(api.get("version", "")),
        "method": str(method.get("httpMethod", "GET")),
        "path": "/" + str(method.get("flatPath") or method.get("path") or "").lstrip("/"),
        "tags": list(resource),
        "scopes": len(scopes) if isinstance(scopes, list) else 0,
    }
    if method.get("deprecated") is True:
        metadata["deprecated"] = True
    cut = [where for where, part in fields if part.cut]
    if cut:
        metadata["cut"] = cut
    return metadata
