"""The source ``google-discovery.v1``: discovery documents, from a file or from the installed google-api-python-client."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from ingest.sources.document import Document
from ingest.sources.json_schema.schema import Fields, flatten
from ingest.sources.json_schema.schema_view import dangling_reference
from ingest.sources.json_values import as_list, as_mapping, as_text
from ingest.sources.parsing import parse_json
from ingest.sources.prose import brief, name_words, plain, title_of
from ingest.sources.source import RejectedRecord, Source
from ontology.errors import DocumentError, MissingExtraError, RejectionReason
from ontology.tool import Parameter, Tool

__all__ = ["GoogleDiscoverySource"]

_LIVE = "google-discovery:"
_KIND_NAME = "discovery#restDescription"
_KIND = re.compile(rf'"kind"\s*:\s*"{_KIND_NAME}"')
# The key "kind" may follow a long list of scopes or all schemas; then one of these keys is near the start.
_HINT = re.compile(r'"(?:discoveryVersion|auth|batchPath|rootUrl|servicePath|ownerName|documentationLink)"\s*:')
_STABLE = re.compile(r"v(\d+)(?:\.(\d+))?")
_DESCRIPTION_CHARS = 600
_FIELD_CHARS = 300


class GoogleDiscoverySource(Source):
    """Reader of discovery documents, of ``google-discovery:NAME``, ``…:NAME.VERSION`` and ``…:*``."""

    name = "google-discovery.v1"
    live_prefixes = (_LIVE,)

    def accepts(self, document: Document) -> bool:
        """Whether it is a ``google-discovery:`` address, or JSON of the kind ``discovery#restDescription``."""
        if not document.has_content:
            return document.address.startswith(self.live_prefixes)
        if document.suffix not in {".json", ""}:
            return False
        if _KIND.search(document.head):
            return True
        return bool(_HINT.search(document.head)) and as_mapping(document.data_or_none).get("kind") == _KIND_NAME

    def read(self, document: Document) -> Iterator[Tool | RejectedRecord]:
        """Yield one tool for each method of all resources; its id is the id of the method.

        ``*`` reads all APIs. For a version that is not the newest stable version of its API, the ids contain the name of the
        version (``compute.beta.instances.list``).

        :raises DocumentError: for a document without methods, or an unknown API.
        :raises MissingExtraError: for a live address when google-api-python-client is not installed.
        """
        if document.has_content:
            yield from _read_api(document.data, document.address)
            return
        seen: set[str] = set()
        for file, version in _installed(document.address):
            address = f"{_LIVE}{file.stem}"
            try:
                data = parse_json(file.read_bytes(), subject=address)
                for item in _read_api(data, address, version):
                    yield _distinct(item, file.stem, seen) if isinstance(item, Tool) else item
            except DocumentError as error:
                if not document.address.endswith("*"):
                    raise
                reason: RejectionReason = "no-operations" if error.reason == "no-operations" else "unreadable"
                yield RejectedRecord(address, reason, f"{error.problem}.")


def _distinct(tool: Tool, api: str, seen: set[str]) -> Tool:
    """Prefix the id with the API's name when an earlier API has a method with the same id (an API and its successor)."""
    if tool.id in seen:
        tool = replace(tool, id=f"{api}.{tool.id}", name=f"{api}.{tool.id}")
    seen.add(tool.id)
    return tool


class _File(NamedTuple):
    """The document of one version of an API, and the version that its ids contain, or empty."""

    path: Path
    version: str = ""


def _installed(address: str) -> list[_File]:
    """Return the installed discovery documents of an address."""
    try:
        from googleapiclient import discovery_cache
    except ImportError as error:
        raise MissingExtraError(address, extra="google") from error
    wanted = address.removeprefix(_LIVE)
    folder = Path(str(discovery_cache.__file__)).parent / "documents"
    apis: dict[str, list[Path]] = {}
    for file in sorted(folder.glob("*.json")):
        api, dot, _ = file.stem.partition(".")
        if dot:  # index.json is no discovery document
            apis.setdefault(api, []).append(file)
    if wanted == "*":
        return [
            _File(file, "" if file is preferred else _version(file))
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
    return [_File(file) for file in named]


def _version(file: Path) -> str:
    return file.stem.partition(".")[2]


def _rank(file: Path) -> tuple[bool, tuple[int, ...], str]:
    """Return the sort key of a version: stable versions are higher than others, then the higher number."""
    version = _version(file)
    stable = _STABLE.fullmatch(version)
    return bool(stable), tuple(int(part) for part in re.findall(r"\d+", version)), version


@dataclass(frozen=True, slots=True)
class _Method:
    """A method, with the names of the nested resources that contain it."""

    resource: tuple[str, ...]
    name: str
    body: Mapping[str, Any]

    @property
    def path(self) -> str:
        return ".".join((*self.resource, self.name))


def _read_api(data: Any, address: str, version: str = "") -> Iterator[Tool | RejectedRecord]:
    api = _Api(as_mapping(data), version)
    methods = list(_methods(api.root, ()))
    if not methods:
        raise DocumentError("the discovery document has no methods", subject=address, reason="no-operations")
    for method in methods:
        subject = f"{address}#{method.path}"
        if not isinstance(method.body, Mapping):
            yield RejectedRecord(subject, "wrong-type", "A method must be an object.")
            continue
        try:
            yield api.tool(method)
        except DocumentError as error:
            yield RejectedRecord.of_error(subject, error)


def _methods(node: Mapping[str, Any], resource: tuple[str, ...]) -> Iterator[_Method]:
    """Yield the methods of a resource and of its nested resources."""
    for name, method in as_mapping(node.get("methods")).items():
        yield _Method(resource, str(name), method)
    for name, nested in as_mapping(node.get("resources")).items():
        if isinstance(nested, Mapping):
            yield from _methods(nested, (*resource, str(name)))


class _Api:
    """One API; each of its schemas is flattened once for inputs and once for outputs."""

    def __init__(self, root: Mapping[str, Any], version: str) -> None:
        self.root = root
        self._version = version
        self._schemas = as_mapping(root.get("schemas"))
        self._known: dict[tuple[str, bool], Fields] = {}

    def tool(self, method: _Method) -> Tool:
        """Convert a method to a tool.

        :raises DocumentError: when a reference cannot be resolved.
        """
        body = method.body
        method_id = as_text(body.get("id")) or f"{self.root.get('name', 'api')}.{method.path}"
        first, _, rest = method_id.partition(".")
        id_ = f"{first}.{self._version}.{rest}" if self._version else method_id
        request = self._fields(body.get("request"), output=False)
        response = self._fields(body.get("response"), output=True)
        required = self._required(body.get("request"), method_id)
        url = tuple(self._url_parameters(body))
        taken = {parameter.name for parameter in url}
        return Tool(
            id=id_,
            name=id_,
            description=brief(plain(as_text(body.get("description"))), _DESCRIPTION_CHARS),
            parameters=(
                *url,
                *(
                    replace(field, required=True) if field.name in required else field
                    for field in request.parameters
                    if field.name not in taken
                ),
            ),
            returns=response.parameters,
            metadata=self._metadata(method, {"parameters": request, "returns": response}),
        )

    def _fields(self, reference: Any, *, output: bool) -> Fields:
        """Return the fields of a request or a response."""
        name = as_mapping(reference).get("$ref")
        if not isinstance(name, str):
            return Fields()
        key = (name, output)
        if key not in self._known:
            location = "" if output else "body"
            fields = flatten({"$ref": name}, lookup=self._lookup, location=location, output=output)
            kept = tuple(replace(p, description=brief(p.description, _FIELD_CHARS)) for p in fields.parameters)
            self._known[key] = Fields(parameters=kept, cut=fields.cut)
        return self._known[key]

    def _required(self, reference: Any, method: str) -> set[str]:
        """Return the names of the request fields that are annotated as required by a method."""
        schema = as_mapping(self._schemas.get(as_text(as_mapping(reference).get("$ref"))))
        return {
            name
            for name, field in as_mapping(schema.get("properties")).items()
            if method in as_list(as_mapping(as_mapping(field).get("annotations")).get("required"))
        }

    def _lookup(self, ref: str) -> Mapping[str, Any]:
        schema = self._schemas.get(ref)
        if not isinstance(schema, Mapping):
            raise dangling_reference(ref, subject=ref)
        return schema

    def _url_parameters(self, body: Mapping[str, Any]) -> Iterator[Parameter]:
        """Yield the path and query parameters, first those in ``parameterOrder``."""
        parameters = as_mapping(body.get("parameters"))
        ordered = [name for name in as_list(body.get("parameterOrder")) if isinstance(name, str) and name in parameters]
        for name in dict.fromkeys((*ordered, *parameters)):
            row = parameters[name]
            if not isinstance(row, Mapping):
                continue
            schema = self._lookup(row["$ref"]) if isinstance(row.get("$ref"), str) else row
            repeated = row.get("repeated") is True
            yield Parameter(
                name=str(name),
                type="array" if repeated else str(schema.get("type", "string")),
                description=brief(plain(str(row.get("description", ""))), _FIELD_CHARS),
                required=row.get("required") is True,
                enum=tuple(map(str, as_list(schema.get("enum")))),
                location=str(row.get("location", "")),
                format="" if repeated else str(schema.get("format", "")),
            )

    def _metadata(self, method: _Method, fields: Mapping[str, Fields]) -> dict[str, Any]:
        api, body, resource = self.root, method.body, method.resource
        metadata: dict[str, Any] = {
            "title": title_of(method.name) + (f" {name_words(resource[-1])}" if resource else ""),
            "service": str(api.get("title") or api.get("name") or ""),
            "version": str(api.get("version", "")),
            "method": str(body.get("httpMethod", "GET")),
            "path": "/" + str(body.get("flatPath") or body.get("path") or "").lstrip("/"),
            "tags": list(resource),
            "scopes": len(as_list(body.get("scopes"))),
        }
        if body.get("deprecated") is True:
            metadata["deprecated"] = True
        cut = [name for name, part in fields.items() if part.cut]
        if cut:
            metadata["cut"] = cut
        return metadata
