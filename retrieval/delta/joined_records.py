"""Records and texts of a snapshot and of a segment under one numbering."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from retrieval.index.records import Records, Texts

__all__ = ["JoinedRecords", "JoinedTexts"]

_T = TypeVar("_T")


class JoinedTexts(Texts):
    """The texts of a snapshot, and added ones.

    :param origins: for each number the number in the snapshot, or ``-1 - position`` among the added ones, int64 [texts].
    """

    def __init__(self, base: Texts, added: Sequence[str], origins: NDArray[np.int64]) -> None:
        self.path = base.path
        self._base, self._added, self._origins = base, added, origins

    def __len__(self) -> int:
        return len(self._origins)

    def __getitem__(self, number: int) -> str:
        origin = int(self._origins[number]) if 0 <= number < len(self._origins) else len(self._base)
        return self._base[origin] if origin >= 0 else self._added[-1 - origin]


class JoinedRecords(Records[_T]):
    """The records of a snapshot, and added ones.

    :param base: records of a snapshot, all of them in their own order or joined themselves.
    :param added: rows as JSON texts.
    :param origins: as of :class:`JoinedTexts`.
    """

    def __init__(
        self, base: Records[_T], added: Sequence[str], origins: NDArray[np.int64], decode: Callable[[Any], _T]
    ) -> None:
        self._lines = JoinedTexts(base.lines, added, origins)
        self._decode = decode
        self._numbers = np.arange(len(origins))
