"""Blocks: which tools are compared with which. A block holds the tools that have a word in common."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from inference.arrays import Floats1d, Floats2d

__all__ = ["MAX_BLOCK", "blocks_of", "compared_pairs"]

MAX_BLOCK = 64
"""A block of more tools is cut into pieces, tools about the same entity side by side."""

Numbers = NDArray[np.int64]


def blocks_of(words: Sequence[Iterable[str]], entities: Sequence[str]) -> Iterator[Numbers]:
    """The blocks, ascending numbers each, word by word in alphabetical order; words of one tool make none.

    :param words: of each tool.
    :param entities: what each tool is about.
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
    """Each pair of one block once, the lower number first, in order [pairs, 2], and their cosines [pairs].

    :param vectors: of length 1 for each tool.
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
