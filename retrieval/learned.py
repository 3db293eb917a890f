"""What was learned from use: past requests that are near to a request vote for the tools that served them.

It is a segment of its own in a snapshot, the files ``use.*``, so the rest of the snapshot is the same with and without it. Of a past
request it holds the hashes of its index terms, its vector where its text was known, and its tools; never its text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from inference.encoder import Floats1d, Floats2d
from retrieval.index.bm25 import Bm25Index, Postings, read_postings, write_postings
from retrieval.index.records import load_mapped

NEIGHBOURS = 20  # how many past requests vote; between 10 and 40 little changes
_SEARCHED, _POOL = 8 * NEIGHBOURS, 2 * NEIGHBOURS
_POWER = 2.0
_PSEUDO_COUNT = 0.5  # votes are divided by their sum and this much: where no past request is near, nothing is learned
_LEXICAL_SHARE = 0.5  # of the similarity, where a past request has words and a vector
_ARRAYS = ("vectors_PD", "lengths", "pointers", "tools", "reporters")


@dataclass(frozen=True, slots=True, kw_only=True)
class Votes:
    """What the past requests nearest to a request say."""

    tools: NDArray[np.int64]  # the tools that enough of their reporters used, ascending, int64 [tools]
    shares: Floats1d  # of their votes, in (0, 1), float32 [tools]
    sessions: NDArray[np.int32]  # how many of the past requests used each, int32 [tools]


@dataclass(frozen=True, kw_only=True)
class PastRequests:
    """The learned part of a snapshot. Thread-safe and immutable."""

    # unit rows, zero where the text of a past request was not known, float32 [past requests, D]; D is 0 where none was
    vectors_PD: Floats2d
    words: Postings  # postings of the index terms of the past requests
    lengths: Floats1d  # the BM25 score of each past request with itself, float32 [past requests]
    pointers: NDArray[np.int64]  # start and end of the tools of each past request, int64 [past requests + 1]
    tools: NDArray[np.int32]  # their tool numbers, int32 [uses]
    # who reported it, as numbers that are the same for the same reporter, int32 [past requests]
    reporters: NDArray[np.int32]
    min_reporters: int = 2  # how many reporters among the neighbours must have used a tool, from 1
    weight: float = 0.0  # of the votes, in standard deviations of the scores, >= 0

    @property
    def size(self) -> int:
        """Number of past requests."""
        return len(self.reporters)

    @cached_property
    def reporter_count(self) -> int:
        """Number of reporters."""
        return len(np.unique(self.reporters))

    def votes(self, vector_D: Floats1d | None, terms: Mapping[str, float]) -> Votes:
        """The votes of the past requests that are nearest to a request, of its vector (L2-normalised, float32 [D]) and
        its index terms, with how much each counts. A past request that nobody else confirms takes no place, so it
        cannot keep others from voting."""
        similarities = self._similarities(vector_D, terms)
        count = min(_SEARCHED, self.size)
        found = np.argpartition(-similarities, count - 1)[:count] if count else np.empty(0, dtype=np.int64)
        found = found[similarities[found] > 0]
        found = found[np.lexsort((found, -similarities[found]))]
        if self.min_reporters > 1:  # each reporter may have twice its share, or two of them
            _, who, counts = np.unique(self.reporters[found], return_inverse=True, return_counts=True)
            order = np.argsort(who, kind="stable")
            nth = np.empty(len(found), dtype=np.int64)  # how many of the same reporter are nearer
            nth[order] = np.arange(len(found)) - np.repeat(np.cumsum(counts) - counts, counts)
            found = found[nth < max(2, _POOL // max(1, self.reporter_count))]
        near = found[:_POOL].astype(np.int64)
        rows, used = self._uses(near)
        tools, places = np.unique(used, return_inverse=True)
        pairs = np.unique(np.stack((places, self.reporters[near][rows])), axis=1)
        supported = tools[np.bincount(pairs[0], minlength=len(tools)) >= self.min_reporters]
        near = near[np.unique(rows[np.isin(used, supported)])][:NEIGHBOURS]
        rows, used = self._uses(near)
        counted = np.isin(used, supported)
        tools, places = np.unique(used[counted], return_inverse=True)
        strengths = similarities[near] ** _POWER
        votes = np.bincount(places, weights=strengths[rows[counted]], minlength=len(tools))
        return Votes(
            tools=tools,
            shares=(votes / (float(strengths.sum()) + _PSEUDO_COUNT)).astype(np.float32),
            sessions=np.bincount(places, minlength=len(tools)).astype(np.int32),
        )

    def renumbered(self, numbers: NDArray[np.int64]) -> PastRequests:
        """What was learned, for other tools: ``numbers`` are the new number of each, int64 [tools]; -1 where there is
        none. A past request that used none of them is never near."""
        used = numbers[self.tools]
        requests = np.repeat(np.arange(self.size), np.diff(self.pointers))[used >= 0]
        counts = np.bincount(requests, minlength=self.size)
        vectors_PD = self.vectors_PD if counts.all() else np.where(counts[:, None] > 0, self.vectors_PD, np.float32(0))
        return replace(
            self,
            vectors_PD=vectors_PD,
            lengths=np.where(counts > 0, self.lengths, np.float32(np.inf)).astype(np.float32),
            pointers=np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
            tools=used[used >= 0].astype(np.int32),
        )

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

    def _uses(self, near: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The uses of tools by past requests: the place of each in ``near``, and its tool, int64 [uses]."""
        rows = np.repeat(np.arange(len(near)), self.pointers[near + 1] - self.pointers[near])
        spans = [self.tools[self.pointers[one] : self.pointers[one + 1]] for one in near]
        return rows, np.concatenate([np.empty(0, dtype=np.int32), *spans]).astype(np.int64)


def write_past_requests(folder: Path, learned: PastRequests) -> None:
    """Write the files of the segment. Equal content gives equal bytes."""
    # A past request without tools is infinitely long, which a file must not be; no use of it is counted either way.
    learned = replace(learned, lengths=np.minimum(learned.lengths, np.finfo(np.float32).max))
    for name in _ARRAYS:
        np.save(folder / f"use.{name}.npy", getattr(learned, name))
    write_postings(folder, "use", learned.words)


def read_past_requests(folder: Path, *, min_reporters: int, weight: float) -> PastRequests:
    """Open the memory-mapped segment, whose files have the hashes of the manifest."""
    arrays = {name: load_mapped(folder / f"use.{name}.npy") for name in _ARRAYS}
    words = read_postings(folder, "use")
    return PastRequests(**arrays, words=words, min_reporters=min_reporters, weight=weight)
