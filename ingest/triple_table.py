"""Triples in columns: the triples of a large catalogue are too many to hold an object for each, or to visit each in Python."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import overload

import numpy as np
from numpy.typing import NDArray

from ontology.tool_graph import Provenance, Triple

HEAD, TAIL, PREDICATE, PHRASE, TOOL, FIELD, EXTRACTOR, START, END = range(9)
"""The rows of :attr:`TripleTable.columns`."""
_ENDS, _TEXTS = slice(HEAD, PREDICATE), slice(PREDICATE, START)


class TripleTable(Sequence[Triple]):
    """Triples, each made when it is read.

    :param ends: distinct ``(type, name)`` of heads and tails.
    :param texts: distinct predicates, phrases, tool ids, fields and extractors.
    :param columns: numbers of ends and of texts, and the places in the fields, int32 [9, triples].
    :param confidences: float64 [triples], in [0, 1].
    """

    def __init__(
        self,
        ends: Sequence[tuple[str, str]],
        texts: Sequence[str],
        columns: NDArray[np.int32],
        confidences: NDArray[np.float64],
    ) -> None:
        self.ends, self.texts, self.columns, self.confidences = ends, texts, columns, confidences

    @classmethod
    def of(cls, triples: Iterable[Triple]) -> TripleTable:
        """The table of some triples, in their order; of a table itself."""
        if isinstance(triples, TripleTable):
            return triples
        ends: dict[tuple[str, str], int] = {}
        texts: dict[str, int] = {}
        rows: list[int] = []
        confidences: list[float] = []
        for one in triples:
            place = one.provenance
            rows += (ends.setdefault(end, len(ends)) for end in ((one.head_type, one.head), (one.tail_type, one.tail)))
            said = (one.predicate, one.phrase, place.tool_id, place.field, place.extractor)
            rows += (texts.setdefault(text, len(texts)) for text in said)
            rows += (place.start, place.end)
            confidences.append(one.confidence)
        columns = np.ascontiguousarray(np.asarray(rows, dtype=np.int32).reshape(-1, END + 1).T)
        return cls(list(ends), list(texts), columns, np.asarray(confidences, dtype=np.float64))

    @classmethod
    def joined(cls, tables: Iterable[TripleTable]) -> TripleTable:
        """The triples of several tables, one table after another."""
        ends: dict[tuple[str, str], int] = {}
        texts: dict[str, int] = {}
        parts = [np.empty((END + 1, 0), dtype=np.int32)]
        confidences = [np.empty(0, dtype=np.float64)]
        for table in tables:
            columns = table.columns.copy()
            of_end = np.asarray([ends.setdefault(end, len(ends)) for end in table.ends], dtype=np.int32)
            of_text = np.asarray([texts.setdefault(text, len(texts)) for text in table.texts], dtype=np.int32)
            columns[_ENDS], columns[_TEXTS] = of_end[columns[_ENDS]], of_text[columns[_TEXTS]]
            parts.append(columns)
            confidences.append(table.confidences)
        return cls(list(ends), list(texts), np.concatenate(parts, axis=1), np.concatenate(confidences))

    def chosen(self, mask: NDArray[np.bool_]) -> TripleTable:
        """Some of the triples; ``mask`` is bool [triples]."""
        return TripleTable(self.ends, self.texts, self.columns[:, mask], self.confidences[mask])

    def by_predicate(self) -> Counter[str]:
        """How many triples have each predicate."""
        counts = np.bincount(self.columns[PREDICATE], minlength=len(self.texts)).tolist()
        return Counter({text: count for text, count in zip(self.texts, counts, strict=True) if count})

    def to_bytes(self) -> bytes:
        """The table as bytes; :meth:`from_bytes` reads them."""
        head = json.dumps([self.ends, self.texts], ensure_ascii=False).encode("utf-8", "surrogatepass")
        sizes = np.asarray([len(head), len(self)], dtype="<u4").tobytes()
        return sizes + head + self.columns.astype("<i4").tobytes() + self.confidences.astype("<f8").tobytes()

    @classmethod
    def from_bytes(cls, data: bytes) -> TripleTable:
        """The table of its bytes.

        :raises ValueError: for other bytes.
        """
        size, triples = np.frombuffer(data, dtype="<u4", count=2).tolist()
        ends, texts = json.loads(data[8 : 8 + size].decode("utf-8", "surrogatepass"))
        columns = np.frombuffer(data, dtype="<i4", offset=8 + size, count=(END + 1) * triples)
        confidences = np.frombuffer(data, dtype="<f8", offset=len(data) - 8 * triples)
        return cls([(kind, name) for kind, name in ends], texts, columns.reshape(END + 1, triples), confidences)

    def __len__(self) -> int:
        return len(self.confidences)

    @overload
    def __getitem__(self, index: int) -> Triple: ...

    @overload
    def __getitem__(self, index: slice) -> TripleTable: ...

    def __getitem__(self, index: int | slice) -> Triple | TripleTable:
        if isinstance(index, slice):
            return TripleTable(self.ends, self.texts, self.columns[:, index], self.confidences[index])
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

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, Iterable) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"TripleTable({list(self)!r})"
