"""The source ``google-discovery.v1``: discovery documents, from a file or from the installed google-api-python-client."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from ingest.sources.document import Document
from ingest.sources.google.api import Api, Method
from ingest.sources.json_values import as_mapping
from ingest.sources.parsing import parse_json
from ingest.sources.source import RejectedRecord, Source
from ontology.errors import DocumentError, MissingExtraError, RejectionReason
from ontology.tool import Tool

__all__ = ["GoogleDiscoverySource"]

_LIVE = "google-discovery:"
_KIND_NAME = "discovery#restDescription"
_KIND = re.compile(rf'"kind"\s*:\s*"{_KIND_NAME}"')
# The kind may come after a long list of scopes or after all schemas; then one of these comes before.
_HINT = re.compile(r'"(?:discoveryVersion|auth|batchPath|rootUrl|servicePath|ownerName|documentationLink)"\s*:')
_STABLE = re.compile(r"v(\d+)(?:\.(\d+))?")


class GoogleDiscoverySource(Source):
    """Reader of discovery documents, of ``google-discovery:NAME``, ``…:NAME.VERSION`` and ``…:*``."""

    name = "google-discovery.v1"
    live_prefixes = (_LIVE,)

    def accepts(self, document: Document) -> bool:
        """A ``google-discovery:`` address, or JSON of the kind ``discovery#restDescription``."""
        if not document.has_content:
            return document.address.startswith(self.live_prefixes)
        if document.suffix not in {".json", ""}:
            return False
        if _KIND.search(document.head):
            return True
        return bool(_HINT.search(document.head)) and as_mapping(document.data_or_none).get("kind") == _KIND_NAME

    def read(self, document: Document) -> Iterator[Tool | RejectedRecord]:
        """Read the methods of all resources; ids are those of the methods.

        For ``*``, one API after the other; a version that is not the API's newest stable one has its name put into the ids
        (``compute.beta.instances.list``).

        :raises DocumentError: for a document without methods, an unknown API.
        :raises MissingExtraError: for an address without the extra ``google``.
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
    """Two APIs may give one id to their methods (an API and the one that replaces it): the later has its API's name before it."""
    if tool.id in seen:
        tool = replace(tool, id=f"{api}.{tool.id}", name=f"{api}.{tool.id}")
    seen.add(tool.id)
    return tool


class _File(NamedTuple):
    """The document of one version of an API, and the version to put into its ids, or empty."""

    path: Path
    version: str = ""


def _installed(address: str) -> list[_File]:
    """The files that an address names."""
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
    """Stable versions over others, then the higher number."""
    version = _version(file)
    stable = _STABLE.fullmatch(version)
    return bool(stable), tuple(int(part) for part in re.findall(r"\d+", version)), version


def _read_api(data: Any, address: str, version: str = "") -> Iterator[Tool | RejectedRecord]:
    api = Api(as_mapping(data), version)
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
        except Exception as error:  # whatever is wrong with one, the others are read
            yield RejectedRecord.of_error(subject, error)


def _methods(node: Mapping[str, Any], resource: tuple[str, ...]) -> Iterator[Method]:
    """The methods of a resource and of the resources inside it."""
    for name, method in as_mapping(node.get("methods")).items():
        yield Method(resource, str(name), method)
    for name, below in as_mapping(node.get("resources")).items():
        if isinstance(below, Mapping):
            yield from _methods(below, (*resource, str(name)))
