"""Triples in columns: those of a large catalogue are too many to hold an object for each, or to visit each in Python."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ontology.tool_graph import Provenance, Triple

HEAD, TAIL, PREDICATE, PHRASE, TOOL, FIELD, EXTRACTOR, START, END = range(9)
"""The rows of :attr:`TripleTable.columns`."""
_ENDS = (attrgetter("head_type", "head"), attrgetter("tail_type", "tail"))
_PLACE = ("tool_id", "field", "extractor", "start", "end")
_TEXTS = [attrgetter(name) for name in ("predicate", "phrase", *(f"provenance.{each}" for each in _PLACE[:3]))]
_PLACES = [attrgetter(f"provenance.{each}") for each in _PLACE[3:]]
_T = TypeVar("_T", bound=Hashable)


@dataclass(frozen=True, slots=True, eq=False)
class TripleTable(Sequence[Triple]):
    """Triples, each made when it is read.

    :param ends: distinct ``(type, name)`` of heads and tails.
    :param texts: distinct predicates, phrases, tool ids, fields and extractors.
    :param columns: numbers of ends and of texts, and the places in the fields, int32 [9, triples].
    :param confidences: float64 [triples], in [0, 1].
    """

    ends: Sequence[tuple[str, str]]
    texts: Sequence[str]
    columns: NDArray[np.int32]
    confidences: NDArray[np.float64]

    @classmethod
    def of(cls, triples: Iterable[Triple]) -> TripleTable:
        """The table of some triples, in their order; of a table itself."""
        if isinstance(triples, TripleTable):
            return triples
        rows, ends, texts = list(triples), dict[tuple[str, str], int](), dict[str, int]()
        columns = [
            *(_numbers(map(read, rows), ends) for read in _ENDS),
            *(_numbers(map(read, rows), texts) for read in _TEXTS),
            *(list(map(read, rows)) for read in _PLACES),
        ]
        confidences = np.asarray([one.confidence for one in rows], dtype=np.float64)
        return cls(list(ends), list(texts), np.asarray(columns, dtype=np.int32), confidences)

    @classmethod
    def joined(cls, tables: Sequence[TripleTable]) -> TripleTable:
        """The triples of several tables, one table after another; of one table at least."""
        ends, texts, parts = dict[tuple[str, str], int](), dict[str, int](), []
        for table in tables:
            of_end = np.asarray(_numbers(table.ends, ends), dtype=np.int32)[table.columns[:PREDICATE]]
            of_text = np.asarray(_numbers(table.texts, texts), dtype=np.int32)[table.columns[PREDICATE:START]]
            parts.append(np.concatenate((of_end, of_text, table.columns[START:])))
        confidences = np.concatenate([table.confidences for table in tables])
        return cls(list(ends), list(texts), np.concatenate(parts, axis=1), confidences)

    def chosen(self, mask: NDArray[np.bool_]) -> TripleTable:
        """Some of the triples; ``mask`` is bool [triples]."""
        return TripleTable(self.ends, self.texts, self.columns[:, mask], self.confidences[mask])

    def by_predicate(self) -> Counter[str]:
        """How many triples have each predicate."""
        return Counter(map(self.texts.__getitem__, self.columns[PREDICATE].tolist()))

    def to_json(self) -> bytes:
        """The table as JSON; :meth:`from_json` reads it."""
        values = (self.ends, self.texts, self.columns.tolist(), self.confidences.tolist())
        return json.dumps(values, ensure_ascii=False).encode("utf-8", "surrogatepass")

    @classmethod
    def from_json(cls, data: bytes) -> TripleTable:
        """The table of its JSON form.

        :raises ValueError: for other bytes.
        """
        ends, texts, columns, confidences = json.loads(data.decode("utf-8", "surrogatepass"))
        numbers = np.asarray(columns, np.int32)
        return cls([(kind, name) for kind, name in ends], texts, numbers, np.asarray(confidences, np.float64))

    def __len__(self) -> int:
        return len(self.confidences)

    def __getitem__(self, index: Any) -> Any:
        """:param index: the number of one triple."""
        head, tail, predicate, phrase, tool, field, extractor, start, end = self.columns[:, index].tolist()
        (head_type, head_name), (tail_type, tail_name), texts = self.ends[head], self.ends[tail], self.texts
        return Triple(
            head=head_name,
            head_type=head_type,
            predicate=texts[predicate],
            tail=tail_name,
            tail_type=tail_type,
            confidence=float(self.confidences[index]),
            provenance=Provenance(texts[tool], texts[field], texts[extractor], start, end),
            phrase=texts[phrase],
        )

    def __iter__(self) -> Iterator[Triple]:
        return map(self.__getitem__, range(len(self)))


def _numbers(values: Iterable[_T], known: dict[_T, int]) -> list[int]:
    """The number of each value; new ones get the next."""
    return [known.setdefault(value, len(known)) for value in values]
