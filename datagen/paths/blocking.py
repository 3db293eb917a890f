"""Blocking: only tools in the same block are compared. A block has the tools with a common word."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from inference.arrays import Floats1d, Floats2d

__all__ = ["MAX_BLOCK", "blocks_of", "compared_pairs"]

MAX_BLOCK = 64
"""A block of more tools is divided; tools with the same entity stay together where possible."""

Numbers = NDArray[np.int64]


def blocks_of(words: Sequence[Iterable[str]], entities: Sequence[str]) -> Iterator[Numbers]:
    """Yield the blocks of at least two tools, word by word in alphabetical order; numbers ascending, int64.

    :param words: the words of each tool.
    :param entities: the entity of each tool.
    """
    having: dict[str, list[int]] = defaultdict(list)
    for number, own in enumerate(words):
        for word in own:
            having[word].append(number)
    seen: set[tuple[int, ...]] = set()
    for word in sorted(having):
        members = sorted(having[word], key=lambda number: (entities[number], number))
        for start in range(0, len(members), MAX_BLOCK):
            piece = tuple(sorted(members[start : start + MAX_BLOCK]))
            if len(piece) > 1 and piece not in seen:
                seen.add(piece)
                yield np.asarray(piece, dtype=np.int64)


def compared_pairs(blocks: Iterable[Numbers], vectors: Floats2d) -> tuple[Numbers, Floats1d]:
    """Return the distinct pairs in blocks, smaller number first, sorted, int64 [pairs, 2], and their cosines, float32 [pairs].

    :param vectors: one row of length 1 for each tool, float32 [tools, D].
    """
    count = len(vectors)
    codes, cosines = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.float32)]
    for members in blocks:
        first, second = np.triu_indices(len(members), k=1)
        codes.append(members[first] * count + members[second])
        own = vectors[members]
        cosines.append((own @ own.T)[first, second])
    every, places = np.unique(np.concatenate(codes), return_index=True)
    pairs = np.stack(np.divmod(every, max(count, 1)), axis=1)
    return pairs, np.concatenate(cosines)[places]
