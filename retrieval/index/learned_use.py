"""What was learned from use: past requests with the tools that served them, and which tools are used together.

It is a segment of its own in a snapshot, the files ``use.*``, so the rest of the snapshot is the same with and without it. Of a past
request it holds the hashes of its index terms, its vector where its text was known, and its tools; never its text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inference.arrays import Floats1d, Floats2d
from retrieval.index.bm25 import Bm25Index, Postings, read_postings, write_postings
from retrieval.index.mapped_array import load_mapped
from retrieval.index.records import Records, write_records

__all__ = ["LearnedUse", "ObservedReturn", "UsedWith", "Votes", "read_learned_use", "write_learned_use"]

NEIGHBOURS = 20
"""How many past requests vote. This, the power, the pseudo-count and the share of words were chosen on the part of the usage log of
ToolLens that its other requests do not see (docs/learning.md); between 10 and 40 little changes."""
_LEAST_OF_ONE_REPORTER = 2
_SEARCHED, _POOL = 8 * NEIGHBOURS, 2 * NEIGHBOURS
_POWER = 2.0
_PSEUDO_COUNT = 0.5
"""Votes are divided by their sum and this much: where no past request is near, nothing is learned."""
_LEXICAL_SHARE = 0.5  # of the similarity, where a past request has words and a vector
_FIELD, _PREFIX, _RETURNS = "use", "use", "use.returns"


@dataclass(frozen=True, slots=True, kw_only=True)
class UsedWith:
    """The pairs of tools that are used together, an edge ``used_with`` each, sorted by head.

    :param heads: tool numbers, int32 [pairs].
    :param tails: tool numbers, int32 [pairs].
    :param confidences: the share of the uses of the head with the tail, shrunk, in (0, 1), float32 [pairs].
    :param sessions: in how many sessions, int32 [pairs].
    :param reporters: of how many reporters, int32 [pairs].
    """

    heads: NDArray[np.int32]
    tails: NDArray[np.int32]
    confidences: Floats1d
    sessions: NDArray[np.int32]
    reporters: NDArray[np.int32]


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedReturn:
    """An output that a tool was seen to return; values are never known.

    :param tool: id of the tool.
    :param name: dotted path of the output.
    :param type: JSON type of the value.
    :param taken_by: id of the tool whose input took the value, or empty.
    :param taken_as: that input, or empty.
    :param sessions: in how many sessions it was seen.
    :param reporters: by how many reporters.
    """

    tool: str
    name: str
    type: str
    taken_by: str = ""
    taken_as: str = ""
    sessions: int
    reporters: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Votes:
    """What the past requests nearest to a request say.

    :param tools: the tools that enough of their reporters used, ascending, int64 [tools].
    :param shares: of their votes, in (0, 1), float32 [tools].
    :param sessions: how many of the past requests used each, int32 [tools].
    """

    tools: NDArray[np.int64]
    shares: Floats1d
    sessions: NDArray[np.int32]


@dataclass(frozen=True, kw_only=True)
class LearnedUse:
    """The learned part of a snapshot. Thread-safe and immutable.

    :param vectors_PD: unit rows, zero where the text of a past request was not known, float32 [past requests, D]; D is 0 where none was.
    :param words: postings of the index terms of the past requests.
    :param lengths: the BM25 score of each past request with itself, float32 [past requests].
    :param pointers: start and end of the tools of each past request, int64 [past requests + 1].
    :param tools: their tool numbers, int32 [uses].
    :param weights: of each past request, by its age, in (0, 1], float32 [past requests].
    :param reporters: who reported it, as numbers that are the same for the same reporter, int32 [past requests].
    :param min_reporters: how many reporters among the neighbours must have used a tool, from 1.
    :param request_weight: of the votes, in standard deviations of the scores, >= 0.
    :param pair_weight: of the pairs, likewise.
    """

    vectors_PD: Floats2d
    words: Postings
    lengths: Floats1d
    pointers: NDArray[np.int64]
    tools: NDArray[np.int32]
    weights: Floats1d
    reporters: NDArray[np.int32]
    used_with: UsedWith
    returns: tuple[ObservedReturn, ...] = ()
    min_reporters: int = 2
    request_weight: float = 0.0
    pair_weight: float = 0.0

    @cached_property
    def reporter_count(self) -> int:
        """Number of reporters, at least 1."""
        return max(1, len(np.unique(self.reporters)))

    @property
    def size(self) -> int:
        """Number of past requests."""
        return len(self.weights)

    def votes(self, vector_D: Floats1d | None, terms: Mapping[str, float]) -> Votes:
        """The votes of the past requests that are nearest to a request.

        :param vector_D: of the request, L2-normalised, float32 [D]; None where there is none.
        :param terms: its index terms, with how much each counts.
        """
        similarities = self._similarities(vector_D, terms)
        near, supported = self._supported(self._nearest(similarities))
        strengths = self.weights[near] * similarities[near] ** _POWER
        rows, used = self._uses(near)
        counted = np.isin(used, supported)
        tools, places = np.unique(used[counted], return_inverse=True)
        votes = np.bincount(places, weights=strengths[rows[counted]], minlength=len(tools))
        return Votes(
            tools=tools,
            shares=(votes / (float(strengths.sum()) + _PSEUDO_COUNT)).astype(np.float32),
            sessions=np.bincount(places, minlength=len(tools)).astype(np.int32),
        )

    def restricted(self, tools: NDArray[np.bool_], is_visible: Callable[[str], bool]) -> LearnedUse:
        """What was learned of some tools alone, under the same numbers.

        :param tools: those tools, bool [tools].
        :param is_visible: whether the tool with an id is one of them.
        """
        return self.renumbered(np.where(tools, np.arange(len(tools)), -1), is_visible)

    def renumbered(self, numbers: NDArray[np.int64], is_known: Callable[[str], bool]) -> LearnedUse:
        """What was learned for a catalogue that lacks some tools. A past request that used none of the others is never near.

        :param numbers: the new number of each tool, int64 [tools]; -1 where there is none.
        :param is_known: whether the tool with an id has a new number.
        """
        used, pairs = numbers[self.tools], self.used_with
        requests = np.repeat(np.arange(self.size), np.diff(self.pointers))[used >= 0]
        counts = np.bincount(requests, minlength=self.size)
        vectors_PD = self.vectors_PD if counts.all() else np.where(counts[:, None] > 0, self.vectors_PD, np.float32(0))
        heads, tails = numbers[pairs.heads].astype(np.int32), numbers[pairs.tails].astype(np.int32)
        order = np.lexsort((tails, heads))
        order = order[(heads[order] >= 0) & (tails[order] >= 0)]
        moved = {part.name: getattr(pairs, part.name)[order] for part in fields(UsedWith)}
        return replace(
            self,
            vectors_PD=vectors_PD,
            lengths=np.where(counts > 0, self.lengths, np.float32(np.inf)).astype(np.float32),
            pointers=np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
            tools=used[used >= 0].astype(np.int32),
            used_with=UsedWith(**{**moved, "heads": heads[order], "tails": tails[order]}),
            returns=tuple(
                one for one in self.returns if is_known(one.tool) and (not one.taken_by or is_known(one.taken_by))
            ),
        )

    def pairs_of(self, tool: int) -> slice:
        """The rows of the pairs with this head."""
        start, end = np.searchsorted(self.used_with.heads, (tool, tool + 1))
        return slice(int(start), int(end))

    def _similarities(self, vector_D: Floats1d | None, terms: Mapping[str, float]) -> Floats1d:
        """How near each past request is, in [0, 1], float32 [past requests]."""
        index = Bm25Index(self.words, self.size)
        # Half of the terms of one in the other is half a match, whichever is longer.
        own = np.float32(sum(count * index.idf(term) for term, count in terms.items()))
        shares = index.scores(terms) / np.maximum(np.maximum(self.lengths, own), np.float32(1e-6))
        lexical: Floats1d = np.minimum(shares, 1.0).astype(np.float32)
        if vector_D is None or not self.vectors_PD.shape[1]:
            return lexical
        cosines = np.clip(self.vectors_PD @ vector_D, 0.0, 1.0)
        known = self.vectors_PD[:, 0] != 0.0
        mixed = _LEXICAL_SHARE * lexical + (1 - _LEXICAL_SHARE) * cosines
        return np.where(known, mixed, lexical).astype(np.float32)

    def _nearest(self, similarities: Floats1d) -> NDArray[np.int64]:
        """The nearest past requests, nearest first, twice as many as vote.

        Where more than one reporter is asked for, each may have twice its share, or two of them.
        """
        count = min(_SEARCHED, self.size)
        found = np.argpartition(-similarities, count - 1)[:count] if count else np.empty(0, dtype=np.int64)
        found = found[similarities[found] > 0]
        found = found[np.lexsort((found, -similarities[found]))]
        if self.min_reporters > 1:
            most = max(_LEAST_OF_ONE_REPORTER, 2 * NEIGHBOURS // self.reporter_count)
            seen: Counter[int] = Counter()
            kept = []
            for place, reporter in enumerate(self.reporters[found].tolist()):
                seen[reporter] += 1
                if seen[reporter] <= most:
                    kept.append(place)
            found = found[kept]
        return found[:_POOL].astype(np.int64)

    def _supported(self, near: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The nearest of these past requests of which enough reporters used some tool, and the tools that enough of them used.

        A past request that nobody else confirms takes no place, so it cannot keep others from voting.
        """
        rows, used = self._uses(near)
        tools, places = np.unique(used, return_inverse=True)
        pairs = np.unique(np.stack((places, self.reporters[near][rows])), axis=1)
        supported = tools[np.bincount(pairs[0], minlength=len(tools)) >= self.min_reporters]
        return near[np.unique(rows[np.isin(used, supported)])][:NEIGHBOURS], supported

    def _uses(self, near: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The uses of tools by past requests: the place of each in ``near``, and its tool, int64 [uses]."""
        rows = np.repeat(np.arange(len(near)), self.pointers[near + 1] - self.pointers[near])
        spans = [self.tools[self.pointers[one] : self.pointers[one + 1]] for one in near]
        return rows, np.concatenate([np.empty(0, dtype=np.int32), *spans]).astype(np.int64)


_ARRAYS = ("vectors_PD", "lengths", "pointers", "tools", "weights", "reporters")


def write_learned_use(folder: Path, learned: LearnedUse) -> None:
    """Write the files of the segment. Equal content gives equal bytes."""
    # A past request without tools is infinitely long, which a file must not be; no use of it is counted either way.
    learned = replace(learned, lengths=np.minimum(learned.lengths, np.finfo(np.float32).max))
    for name in _ARRAYS:
        np.save(folder / f"{_PREFIX}.{name}.npy", getattr(learned, name))
    for part in fields(UsedWith):
        np.save(folder / f"{_PREFIX}.pairs.{part.name}.npy", getattr(learned.used_with, part.name))
    write_postings(folder, _FIELD, learned.words)
    write_records(
        folder / _RETURNS, ({part.name: getattr(one, part.name) for part in fields(one)} for one in learned.returns)
    )


def read_learned_use(
    folder: Path, *, tool_count: int, dimensions: int, min_reporters: int, request_weight: float, pair_weight: float
) -> LearnedUse:
    """Open the memory-mapped segment.

    :raises ValueError: when its arrays do not fit together or name a tool that the snapshot does not have.
    """
    arrays: dict[str, Any] = {name: load_mapped(folder / f"{_PREFIX}.{name}.npy") for name in _ARRAYS}
    parts = {part.name: load_mapped(folder / f"{_PREFIX}.pairs.{part.name}.npy") for part in fields(UsedWith)}
    learned = LearnedUse(
        **arrays,
        words=read_postings(folder, _FIELD),
        used_with=UsedWith(**parts),
        returns=tuple(Records(folder / _RETURNS, lambda row: ObservedReturn(**row))),
        min_reporters=min_reporters,
        request_weight=request_weight,
        pair_weight=pair_weight,
    )
    _check(learned, tool_count=tool_count, dimensions=dimensions)
    return learned


def _check(learned: LearnedUse, *, tool_count: int, dimensions: int) -> None:
    size, pairs = learned.size, learned.used_with
    vectors_PD, pointers, docs = learned.vectors_PD, learned.pointers, learned.words.docs
    faults = {
        "the past requests have arrays of several lengths": {
            len(vectors_PD),
            len(learned.lengths),
            len(learned.reporters),
            len(pointers) - 1,
        }
        != {size},
        "the vectors have another width": vectors_PD.ndim != 2 or vectors_PD.shape[1] not in (0, dimensions),
        "a number is not finite": not all(
            np.isfinite(values).all() for values in (vectors_PD, learned.lengths, learned.weights, pairs.confidences)
        ),
        "the tools are not where the pointers say": len(pointers) < 1
        or int(pointers[0]) != 0
        or int(pointers[-1]) != len(learned.tools)
        or bool((np.diff(pointers) < 0).any()),
        "a term is of no past request": bool(len(docs)) and not 0 <= int(docs.min()) <= int(docs.max()) < size,
        "the pairs have arrays of several lengths": len({len(getattr(pairs, part.name)) for part in fields(UsedWith)})
        != 1,
        "the pairs are not in order": bool((np.diff(pairs.heads) < 0).any()),
        "a tool is not in the snapshot": any(
            bool(len(numbers)) and not 0 <= int(numbers.min()) <= int(numbers.max()) < tool_count
            for numbers in (learned.tools, pairs.heads, pairs.tails)
        ),
    }
    for problem, found in faults.items():
        if found:
            raise ValueError(f"what was learned from use cannot be read: {problem}")
