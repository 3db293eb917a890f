"""Search for weights: each weight is moved alone, and the moves that all parts of the requests support are made together.

Generated requests are more regular than those that people type, so they may only say little: a weight moves by at most a factor of four,
and by one or two octaves at a time. The ranks of a request with one weight moved do not depend on the fold that the request is in. So
they are found once, for all folds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from inference.arrays import Floats2d
from retrieval.ranking.weights import SHIPPED, RankingWeights

__all__ = ["ORIGIN", "Point", "choose", "distance", "moves", "weights_at"]

Point: TypeAlias = tuple[int, ...]
"""Half octaves from each shipped weight, in the order of :class:`RankingWeights`."""

_NAMES = tuple(SHIPPED)
_LEVELS = (-2, 2, -4, 4)
_SHARES = (1, 2)  # of the moves together: all of them, or each by half
_GAIN = 1e-6
ORIGIN: Point = (0,) * len(_NAMES)


def weights_at(point: Point) -> RankingWeights:
    """Return the weights at a point."""
    return RankingWeights(
        **{name: round(SHIPPED[name] * 2 ** (at / 2), 6) for name, at in zip(_NAMES, point, strict=True)}
    )


def distance(point: Point) -> float:
    """Return the distance of a point from the shipped weights: the sum of squared octaves."""
    return sum((at / 2) ** 2 for at in point)


def moves(held: Sequence[str] = ()) -> list[Point]:
    """Return the points at which one weight is moved, the smaller moves of each first.

    :param held: weights that are not moved.
    """
    return [
        (*ORIGIN[:axis], level, *ORIGIN[axis + 1 :])
        for axis, name in enumerate(_NAMES)
        if name not in held
        for level in _LEVELS
    ]


def choose(
    points: Sequence[Point],
    gains_PQ: Floats2d,
    parts: Sequence[NDArray[np.int64]],
    strength: float,
    value: Callable[[Point], float],
) -> Point:
    """Return the shipped weights with the moves that pay made together, or each by half, whichever is worth more; or without any.

    A move pays where it gains more on average than its distance costs, and gains something in every part.

    :param points: of :func:`moves`.
    :param gains_PQ: what each point gains on each request, float32 [points, requests].
    :param parts: the requests of each part, at least one.
    :param strength: what a squared octave costs, in units of the gains.
    :param value: the mean gain of the same requests at any point.
    """
    # In float64, so that the order of the requests does not matter.
    parts_PF = np.stack([gains_PQ[:, rows].mean(axis=1, dtype=np.float64) for rows in parts], axis=1)
    costs_P = strength * np.array([distance(each) for each in points])
    worth_P = gains_PQ[:, np.concatenate(parts)].mean(axis=1, dtype=np.float64) - costs_P
    best: dict[int, tuple[float, int]] = {}
    for point, worth, of_parts in zip(points, worth_P.tolist(), parts_PF, strict=True):
        axis = next(axis for axis, at in enumerate(point) if at)
        if of_parts.min() > _GAIN and worth > max(best.get(axis, (0.0, 0))[0], 0.0) + _GAIN:
            best[axis] = (worth, point[axis])
    found, most = ORIGIN, 0.0
    for share in _SHARES if best else ():
        together = tuple(best[axis][1] // share if axis in best else 0 for axis in range(len(ORIGIN)))
        worth = value(together) - strength * distance(together)
        if worth > most + _GAIN:
            found, most = together, worth
    return found
