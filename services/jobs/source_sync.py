"""Sync: the tools of named sources are read again, and only what differs from the last time goes to the catalogue."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from ingest.sources import Catalog, read_catalog
from ingest.sources.addresses import find_documents
from ingest.sources.source_entry import SourceEntry
from ingest.sources.tool_selection import EXCLUDES_NOTHING
from ontology.errors import CatalogError, EgotoolsError, InvalidArgumentError, OtherWriterError
from services.jobs.sync_state import REMOVED, SentTools, read_sent, write_sent

__all__ = ["ChangeSink", "SourceSync", "Sync"]

_AT_ONCE = 500
# Codes that a tool is refused with; with others, all would be.
_REFUSALS = frozenset({"INVALID_ARGUMENT", "FAILED_PRECONDITION"})


class ChangeSink(Protocol):
    """What takes the changes: the catalogue of a store or of a server.

    :param target: the store or the server; ``tenant``: whose catalogue of it.
    """

    target: str
    tenant: str

    def base(self) -> str:
        """Return the id of the snapshot that the catalogue is served from, without changes.

        :raises EgotoolsError: when there is no such catalogue, or it does not answer.
        """

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
    :param refused: (id, why) of the tools that the catalogue did not take; it has them as they were.
    :param problem: why its tools were left as they are, in part or all; or empty.
    :param exit_code: of the error that is the first problem; 0 for none.
    """

    name: str
    tools: int = 0
    upserted: int = 0
    deleted: int = 0
    refused: tuple[tuple[str, str], ...] = ()
    problem: str = ""
    exit_code: int = 0


@dataclass(slots=True)
class Sync:
    """The sources of a catalogue, and what was sent of each.

    :param addresses: sources files and ``NAME=ADDRESS``.
    :param state: file that keeps the digest of each tool that was sent to this catalogue, so that nothing is sent twice, and what a
        source no longer has is removed. Where there is none, and where another snapshot answers, every tool is sent; the catalogue
        counts those that it has as unchanged.
    :raises InvalidArgumentError: when an address is no named source.
    :raises StorageError: when the file was written by another program.
    """

    addresses: Sequence[str]
    sink: ChangeSink
    state: Path

    def __post_init__(self) -> None:
        self._sent()

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
            return SourceSync(name=name, problem=error.problem, exit_code=error.exit_code)
        problem = _problem(catalog)
        texts = {tool.id: tool.canonical_json() for tool in catalog.tools}
        digests = {id_: hashlib.sha256(text.encode("utf-8", "replace")).hexdigest() for id_, text in texts.items()}
        base, sent = self.sink.base(), self._sent()
        known = sent.pop(name, SentTools())
        tools = dict(known.over(base).tools)
        before = dict(tools)
        changed = [id_ for id_, digest in sorted(digests.items()) if tools.get(id_) != digest]
        elsewhere = {id_ for other in sent.values() for id_, digest in other.tools.items() if digest != REMOVED}
        left = {id_ for id_, digest in tools.items() if digest != REMOVED} - digests.keys() - elsewhere
        gone = [] if problem else sorted(left)  # a record that cannot be read now is no tool that is gone
        refused: dict[str, EgotoolsError] = {}
        try:
            for ids in self._taken(changed, texts, refused):
                tools.update((id_, digests[id_]) for id_ in ids)
            for start in range(0, len(gone), _AT_ONCE):
                ids = gone[start : start + _AT_ONCE]
                self.sink.delete(ids)
                tools.update(dict.fromkeys(ids, REMOVED))
        finally:
            if tools != before or base != known.base:
                write_sent(self.state, self.sink.target, self.sink.tenant, name, SentTools(base=base, tools=tools))
        codes = [CatalogError.exit_code] if problem else [error.exit_code for error in refused.values()]
        return SourceSync(
            name=name,
            tools=len(digests),
            upserted=len(changed) - len(refused),
            deleted=len(gone),
            refused=tuple((id_, error.problem) for id_, error in refused.items()),
            problem=problem,
            exit_code=codes[0] if codes else 0,
        )

    def _sent(self) -> dict[str, SentTools]:
        return read_sent(self.state, self.sink.target, self.sink.tenant)

    def _taken(
        self, ids: Sequence[str], texts: Mapping[str, str], refused: dict[str, EgotoolsError]
    ) -> Iterator[list[str]]:
        """Send tools; yield the ids of each call that was taken. Of a call that is refused the halves are sent, down to single tools."""
        waiting = [list(ids[start : start + _AT_ONCE]) for start in range(0, len(ids), _AT_ONCE)][::-1]
        while waiting:
            some = waiting.pop()
            try:
                self.sink.upsert([json.loads(texts[id_]) for id_ in some])
            except EgotoolsError as error:
                if error.grpc_code not in _REFUSALS or isinstance(error, OtherWriterError):
                    raise
                middle = len(some) // 2
                if middle:
                    waiting += [some[middle:], some[:middle]]
                else:
                    refused[some[0]] = error
            else:
                yield some


def _problem(catalog: Catalog) -> str:
    faults = [record for record in catalog.rejected if record.reason != EXCLUDES_NOTHING]
    return f"{len(faults)} rejected: {faults[0].subject}: {faults[0].detail}" if faults else ""
