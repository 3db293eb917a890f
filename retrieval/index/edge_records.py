"""What the edges of a graph say beside their ends: columns, memory-mapped, of which a record is made when it is read."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from egotools.values import Provenance
from ontology.tool_graph import EDGE_DETAILS, EdgeTable
from retrieval.index.records import Texts, read_columns, refuse_invalid, write_columns, write_lines

_NAME = "edges"  # of the files


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeRecord:
    """An edge."""

    key: str  # distinguishes edges between the same two nodes
    # the words that express it in the documents, where they differ from the predicate's name, sorted
    phrases: tuple[str, ...] = ()
    provenance: tuple[Provenance, ...] = ()  # the places in documents where it was found
    evidence_count: int = 0  # number of these places; ``provenance`` may hold only the first ones
    parameter: str = ""  # for an edge between two tools: the input that is filled, or empty
    output: str = ""  # the output that fills it, or empty
    entity: str = ""  # canonical name of the entity that input and output share, or empty
    field: str = ""  # the field of that entity, or empty


class EdgeRecords(Sequence[EdgeRecord]):
    """The records of the edges of a snapshot folder, by number. Thread-safe.

    :raises SnapshotCorruptError: when the files cannot be read, and later when a row has another form than is written.
    """

    def __init__(self, folder: Path) -> None:
        texts = Texts(folder / _NAME)
        self._subject = str(texts.path)
        self._table = read_columns(folder, _NAME, EdgeTable, texts=texts)
        if self._table.places.shape[1:] != (5,):
            raise ValueError(f"the places of edges have the shape {self._table.places.shape}")
        self._numbers: NDArray[np.int64] = np.arange(len(self._table.keys))
        self._change: Callable[[EdgeRecord], EdgeRecord] | None = None

    def subset(
        self, numbers: NDArray[np.int64], change: Callable[[EdgeRecord], EdgeRecord] | None = None
    ) -> EdgeRecords:
        """Return the records with these numbers, int64 [rows], renumbered in this order, with a change to each, made when it is read."""
        view = copy.copy(self)
        view._numbers, view._change = self._numbers[numbers], change
        return view

    def statements(self, wanted: NDArray[np.bool_]) -> tuple[NDArray[np.int64], list[str], NDArray[np.int64]]:
        """Return which documents state the edges of a mask, bool [edges]: the edge of each statement, int64 [statements], the
        ids of tools, and the position in them of the tool of each statement, int64 [statements]."""
        table = self._table
        with refuse_invalid(self._subject):
            edge_P = np.repeat(np.arange(len(table.keys)), np.diff(table.place_pointers))
            place_W = np.isin(edge_P, self._numbers[wanted])
            tools, position_W = np.unique(table.places[place_W, 0], return_inverse=True)
            return edge_P[place_W], [table.texts[int(tool)] for tool in tools], position_W

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, index: Any) -> Any:
        """:param index: the number of one edge."""
        with refuse_invalid(self._subject):
            record = self._record(int(self._numbers[index]))
        return self._change(record) if self._change else record

    def __iter__(self) -> Iterator[EdgeRecord]:
        return map(self.__getitem__, range(len(self)))

    def _record(self, edge: int) -> EdgeRecord:
        table, texts = self._table, self._table.texts
        start, end = table.place_pointers[edge : edge + 2].tolist()
        first, last = np.searchsorted(table.phrase_edges, (edge, edge + 1)).tolist()
        row = int(np.searchsorted(table.detail_edges, edge))
        known = row < len(table.detail_edges) and int(table.detail_edges[row]) == edge
        details = zip(EDGE_DETAILS, map(texts.__getitem__, table.details[row].tolist()), strict=True) if known else ()
        return EdgeRecord(
            key=texts[int(table.keys[edge])],
            phrases=tuple(texts[phrase] for phrase in table.phrases[first:last].tolist()),
            provenance=tuple(
                Provenance(texts[tool], texts[field], texts[extractor], *span)
                for tool, field, extractor, *span in table.places[start:end].tolist()
            ),
            evidence_count=int(table.evidence_counts[edge]),
            **dict(details),
        )


def write_edge_records(folder: Path, table: EdgeTable) -> None:
    """Write a table of edges."""
    write_lines(folder / _NAME, table.texts, ".txt")
    write_columns(folder, _NAME, table)
