"""What was learned from use: past requests that are near to a request vote for the tools that served them.

It is a segment of its own in a snapshot, the files ``use.*``, so the rest of the snapshot is the same with and without it. Of a past
request it holds the hashes of its index terms, its vector where its text was known, and its tools; never its text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from inference.encoder import Floats1d, Floats2d
from retrieval.index.bm25 import Bm25Index, Postings, read_postings, write_postings
from retrieval.index.records import read_columns, write_columns

# How many past requests vote. Chosen on the shipped company with planted reporters: 20 lose 2 to 4 points, 60 gain 1 to 3.
NEIGHBOURS = 40
_SEARCHED = 8 * NEIGHBOURS
_PSEUDO_COUNT = 0.5  # votes are divided by their sum and this much: where no past request is near, nothing is learned
_LEXICAL_SHARE = 0.5  # of the similarity, where a past request has words and a vector


@dataclass(frozen=True, kw_only=True)
class PastRequests:
    """The learned part of a snapshot. Thread-safe and immutable."""

    # unit rows, zero where the text of a past request was not known, float32 [past requests, D]; D is 0 where none was
    vectors_PD: Floats2d
    words: Postings  # postings of the index terms of the past requests
    lengths: Floats1d  # the BM25 score of each past request with itself, float32 [past requests]
    pointers: NDArray[np.int64]  # start and end of the tools of each past request, int64 [past requests + 1]
    tools: NDArray[np.int32]  # their tool numbers, int32 [uses]
    reporters: NDArray[np.int32]  # who reported it, numbered from 0, int32 [past requests]
    min_reporters: int  # how many reporters among the neighbours must have used a tool, from 1
    weight: float  # of the votes, in standard deviations of the scores, >= 0

    @property
    def reporter_count(self) -> int:
        """Number of reporters."""
        return int(self.reporters.max(initial=-1)) + 1

    def votes(self, vector_D: Floats1d | None, terms: Mapping[str, float]) -> dict[int, tuple[float, int]]:
        """The votes of the past requests nearest to a request, of its vector (L2-normalised, float32 [D]) and its index
        terms, with how much each counts: for each tool that enough of their reporters used its share, in (0, 1), and
        how many of them used it. Ascending by tool."""
        similarities = self._similarities(vector_D, terms)
        users = dict[int, list[int]]()
        for row in self._nearest(similarities).tolist():
            for tool in self.tools[self.pointers[row] : self.pointers[row + 1]].tolist():
                users.setdefault(tool, []).append(row)
        reporters = {tool: len(set(self.reporters[rows].tolist())) for tool, rows in users.items()}
        counted = {tool: users[tool] for tool in sorted(users) if reporters[tool] >= self.min_reporters}
        # A past request of whose tools none counts does not weaken the votes of the others.
        voting = sorted({row for rows in counted.values() for row in rows})
        total = float((similarities[voting] ** 2).sum()) + _PSEUDO_COUNT
        return {tool: (float((similarities[rows] ** 2).sum()) / total, len(rows)) for tool, rows in counted.items()}

    def renumbered(self, numbers: NDArray[np.int64]) -> PastRequests:
        """What was learned, for other tools: ``numbers`` are the new number of each, int64 [tools]; -1 where there is
        none. A past request that used none of them is never near."""
        used = numbers[self.tools]
        pointers = np.concatenate(([0], np.cumsum(used >= 0)))[self.pointers]
        return replace(self, pointers=pointers, tools=used[used >= 0].astype(np.int32))

    def _similarities(self, vector_D: Floats1d | None, terms: Mapping[str, float]) -> Floats1d:
        """How near each past request is, in [0, 1], float32 [past requests]; 0 where it has no tool."""
        index = Bm25Index(self.words, len(self.reporters))
        # Half of the terms of one in the other is half a match, whichever is longer.
        own = np.float32(sum(count * index.idf(term) for term, count in terms.items()))
        shares = index.scores(terms) / np.maximum(np.maximum(self.lengths, own), np.float32(1e-6))
        similarities = np.minimum(shares, 1.0)
        if vector_D is not None and self.vectors_PD.shape[1]:
            mixed = _LEXICAL_SHARE * similarities + (1 - _LEXICAL_SHARE) * np.clip(self.vectors_PD @ vector_D, 0.0, 1.0)
            similarities = np.where(self.vectors_PD[:, 0] != 0.0, mixed, similarities)
        return np.where(np.diff(self.pointers) > 0, similarities, 0.0).astype(np.float32)

    def _nearest(self, similarities: Floats1d) -> NDArray[np.int64]:
        """The past requests that vote, nearest first. A reporter has its share of the places and no more, however much it
        reported."""
        share = -(-NEIGHBOURS // max(1, self.reporter_count))
        size, searched = len(similarities), _SEARCHED
        while True:  # further away while one who reported much has taken more than its share
            found = np.argpartition(-similarities, searched)[:searched] if searched < size else np.arange(size)
            found = found[similarities[found] > 0]
            found = found[
                np.lexsort((found, -similarities[found], self.reporters[found]))
            ]  # by reporter, nearest first
            reporters = self.reporters[found]
            near = found[np.arange(len(found)) - np.searchsorted(reporters, reporters) < share]
            if len(near) >= NEIGHBOURS or searched >= size:
                return near[np.lexsort((near, -similarities[near]))][:NEIGHBOURS]
            searched *= 8


def write_past_requests(folder: Path, learned: PastRequests) -> None:
    """Write the files of the segment. Equal content gives equal bytes."""
    write_columns(folder, "use", learned)
    write_postings(folder, "use", learned.words)


def read_past_requests(folder: Path, *, min_reporters: int, weight: float) -> PastRequests:
    """Open the memory-mapped segment, whose files have the hashes of the manifest."""
    words = read_postings(folder, "use")
    return read_columns(folder, "use", PastRequests, words=words, min_reporters=min_reporters, weight=weight)
