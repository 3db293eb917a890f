"""Random numbers that depend on a row's number alone: tables may be made in any batches, by any process, and come out equal."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]

_ALPHABET = "23456789ACDEFGHJKLMNPQRSTUVWXYZ0"
"""32 signs of codes: no ``B``, so that models that start with B are only those meant to; no ``1``, ``I`` and ``O`` beside 0."""
_ODD = 2_654_435_761
"""Odd, so that multiplying by it permutes numbers modulo a power of two: Knuth's multiplicative hash."""
_PRIME = 2_147_483_647
"""Greater than any table has rows, so that multiplying by it permutes the numbers below a table's size."""


@dataclass(frozen=True, slots=True)
class Draws:
    """Numbers of a seed, by SplitMix64 over the seed, what they are for, and the row's number.

    :param seed: another seed, another graph.
    """

    seed: int

    def uniform(self, what: str, at: Ints) -> Floats:
        """Return numbers of [0, 1), one for each row's number."""
        start = (zlib.crc32(what.encode()) << 32) ^ (self.seed * 0x9E3779B9)
        mixed = at.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(start & (1 << 64) - 1)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
        mixed ^= mixed >> np.uint64(31)
        return (mixed >> np.uint64(11)).astype(np.float64) / float(1 << 53)

    def below(self, what: str, at: Ints, limit: int) -> Ints:
        """Return whole numbers of [0, limit), all equally likely."""
        return skewed(self.uniform(what, at), limit, 1.0)


def skewed(uniform: Floats, limit: int, power: float) -> Ints:
    """Return whole numbers of [0, limit): the greater the power, the more often small ones; below 1, the more often large ones."""
    return np.minimum((limit * uniform**power).astype(np.int64), limit - 1)


def amounts(uniform: Floats, least: float, most: float) -> Floats:
    """Return amounts with many small and few large ones, equally likely on a logarithmic scale.

    They have six decimals: the last bits of powers differ between processors.
    """
    return np.round(least * (most / least) ** uniform, 6)


def picked(uniform: Floats, shares: Sequence[float]) -> Ints:
    """Return places in ``shares``, each as often as its share says; shares sum to 1."""
    return np.minimum(np.searchsorted(np.cumsum(shares), uniform, side="right"), len(shares) - 1).astype(np.int64)


def spread(at: Ints, size: int) -> Ints:
    """Permute the numbers below ``size``: different rows get different numbers."""
    return at * _PRIME % size


def codes(prefix: str, at: Ints, signs: int) -> list[str]:
    """Return a code of so many letters and digits for each number; different below ``32 ** signs``."""
    mixed = (at * _ODD) % 32**signs
    places = [(mixed // 32**place % 32).tolist() for place in range(signs)]
    return [prefix + "".join(_ALPHABET[sign] for sign in row) for row in zip(*places, strict=True)]


def with_nulls(values: Sequence[object], uniform: Floats, share: float) -> list[object]:
    """Return the values with so large a share of them missing."""
    return [None if missing else value for value, missing in zip(values, (uniform < share).tolist(), strict=True)]
