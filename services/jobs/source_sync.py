"""Sync: the tools of named sources are read again, and only what differs from the last time goes to the catalogue."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from ingest.sources import Catalog, read_catalog
from ingest.sources.addresses import find_documents
from ingest.sources.source_entry import SourceEntry
from ingest.sources.tool_selection import EXCLUDES_NOTHING
from ontology.errors import CatalogError, InvalidArgumentError, StorageError
from ontology.files import disk_errors, write_file

__all__ = ["ChangeSink", "SourceSync", "Sync"]

_FORMAT = "egotools-sync.v1"
_AT_ONCE = 500


class ChangeSink(Protocol):
    """What takes the changes: the catalogue of a store or of a server."""

    def upsert(self, tools: Sequence[Mapping[str, Any]]) -> None:
        """Add or replace tools; return when that is durable.

        :raises EgotoolsError: when it is not.
        """

    def delete(self, ids: Sequence[str]) -> None:
        """Remove tools; likewise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSync:
    """What came of reading one source again.

    :param upserted: number of tools that were sent; ``deleted`` likewise.
    :param problem: why its tools were left as they are, in part or all; or empty.
    """

    name: str
    tools: int = 0
    upserted: int = 0
    deleted: int = 0
    problem: str = ""


@dataclass(slots=True)
class Sync:
    """The sources of a catalogue, and what was sent of each.

    :param addresses: sources files and ``NAME=ADDRESS``.
    :param state: file that keeps the digest of each tool that was sent, so that nothing is sent twice, and what a source no longer
        has is removed. Without the file every tool is sent; the catalogue counts those that it has as unchanged.
    :raises InvalidArgumentError: when an address is no named source.
    :raises StorageError: when the file was written by another program.
    """

    addresses: Sequence[str]
    sink: ChangeSink
    state: Path
    _sent: dict[str, dict[str, str]] = field(init=False)

    def __post_init__(self) -> None:
        self._sent = _read_state(self.state)

    def sources(self) -> tuple[SourceEntry, ...]:
        """The sources, by name.

        :raises InvalidArgumentError: when an address is no named source, or there is none.
        """
        found = find_documents(self.addresses)
        unnamed = [document.address for document in found.documents if document.source is None]
        if unnamed or not found.sources:
            raise InvalidArgumentError(
                "sync needs sources with names",
                subject=unnamed[0] if unnamed else "ADDRESS",
                remedy="Give a sources file, or NAME=ADDRESS",
            )
        return found.sources

    def run(self, names: Iterable[str]) -> Iterator[SourceSync]:
        """Read these sources again and send what differs; yield the counts of each. What was sent is kept after each source.

        :raises EgotoolsError: when a change cannot be made; the next run sends it again.
        """
        for name in names:
            yield self._run(name)

    def files(self, name: str) -> str:
        """What tells whether the files of a source have changed: their names, sizes and times; empty for a live source."""
        states = []
        for document in find_documents(self.addresses, only=(name,)).documents:
            if document.path is not None:
                with contextlib.suppress(OSError):
                    found = document.path.stat()
                    states.append((str(document.path), found.st_ino, found.st_size, found.st_mtime_ns))
        return repr(states) if states else ""

    def _run(self, name: str) -> SourceSync:
        try:
            catalog = read_catalog(self.addresses, only=(name,))
        except CatalogError as error:
            return SourceSync(name=name, problem=error.problem)
        texts = {tool.id: tool.canonical_json() for tool in catalog.tools}
        digests = {id_: hashlib.sha256(text.encode("utf-8", "replace")).hexdigest() for id_, text in texts.items()}
        sent = self._sent.get(name, {})
        changed = [id_ for id_, digest in sorted(digests.items()) if sent.get(id_) != digest]
        problem = _problem(catalog)
        # A record that cannot be read now is no tool that is gone.
        gone = [] if problem else sorted(sent.keys() - digests.keys())
        for start in range(0, len(changed), _AT_ONCE):
            self.sink.upsert([json.loads(texts[id_]) for id_ in changed[start : start + _AT_ONCE]])
        for start in range(0, len(gone), _AT_ONCE):
            self.sink.delete(gone[start : start + _AT_ONCE])
        if changed or gone:
            self._sent[name] = {**{id_: digest for id_, digest in sent.items() if id_ not in gone}, **digests}
            write_file(self.state, json.dumps({"format": _FORMAT, "sources": self._sent}, sort_keys=True))
        return SourceSync(name=name, tools=len(digests), upserted=len(changed), deleted=len(gone), problem=problem)


def _problem(catalog: Catalog) -> str:
    faults = [record for record in catalog.rejected if record.reason != EXCLUDES_NOTHING]
    return f"{len(faults)} rejected: {faults[0].subject}: {faults[0].detail}" if faults else ""


def _read_state(path: Path) -> dict[str, dict[str, str]]:
    if not path.exists():
        return {}
    with disk_errors(path):
        text = path.read_text(encoding="utf-8")
    try:
        content = json.loads(text)
        if content["format"] != _FORMAT:
            raise ValueError(content["format"])
        return {str(name): dict(sent) for name, sent in content["sources"].items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        remedy = "Remove it: all tools are sent again then, and nothing is removed"
        raise StorageError("the file is no state of a sync", subject=str(path), remedy=remedy) from error
