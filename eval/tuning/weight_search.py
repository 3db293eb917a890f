"""Searching weights: coordinate descent over a lattice of half octaves around the shipped ones.

The lattice is coarse on purpose. Half an octave of a weight changes few ranks, finer steps would fit the noise of some
hundred requests, and searches over different folds meet at the same points, which are scored once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from retrieval.ranking.features import TEXT_FEATURES
from retrieval.ranking.weights import SHIPPED, RankingWeights

__all__ = ["ORIGIN", "Point", "distance", "search", "weights_at"]

Point: TypeAlias = tuple[int, ...]
"""Half octaves from each shipped weight, in the order of :class:`RankingWeights`; :data:`_OFF` is a feature switched
off.
"""

_NAMES = tuple(SHIPPED)
_MOST = 7  # times or parts of eleven
_OFF = -100
_STEPS = (4, 2, 1)
_FEATURES = len(SHIPPED.features)
_GAIN = 1e-9
ORIGIN: Point = (0,) * len(_NAMES)


def weights_at(point: Point) -> RankingWeights:
    """The weights at a point."""
    return RankingWeights(
        **{
            name: 0.0 if at == _OFF else round(SHIPPED[name] * 2 ** (at / 2), 6)
            for name, at in zip(_NAMES, point, strict=True)
        }
    )


def distance(point: Point) -> float:
    """How far a point is from the shipped weights: the sum of squared octaves; off counts as one step below the
    least.
    """
    return sum((max(at, -_MOST - 1) / 2) ** 2 for at in point)


def search(value: Callable[[Point], float], start: Point = ORIGIN) -> Point:
    """The point of the highest value that coordinate descent finds from the start; a tie is no step.

    From another start than the shipped weights the first steps are shorter, because a search has ended there before.
    """
    here, best = start, value(start)
    for step in _STEPS if start == ORIGIN else _STEPS[1:]:
        moved = True
        while moved:
            moved = False
            for axis in range(len(here)):
                for there in _neighbours(here, axis, step):
                    if (found := value(there)) > best + _GAIN:
                        here, best, moved = there, found, True
    return here


def _neighbours(point: Point, axis: int, step: int) -> Iterator[Point]:
    """The points one step along an axis, and the one where its feature is off; the margin of resolvers has no off."""
    at = point[axis]
    ends = [at - step, at + step] if at != _OFF else [-_MOST, 0]
    if _NAMES[axis] != "resolver_margin":
        ends.append(_OFF)
    for end in ends:
        there = _centred((*point[:axis], end, *point[axis + 1 :]))
        if there != point and _in_bounds(there):
            yield there


def _in_bounds(point: Point) -> bool:
    """Whether no weight is out of reach, and some text feature is on."""
    reached = all(at == _OFF or -_MOST <= at <= _MOST for at in point)
    return reached and any(at != _OFF for at in point[: len(TEXT_FEATURES)])


def _centred(point: Point) -> Point:
    """The same proportions of the features in one spelling: those that are on lie around the shipped weights."""
    on = [at for at in point[:_FEATURES] if at != _OFF]
    shift = round(sum(on) / len(on)) if on else 0
    return (*(at if at == _OFF else at - shift for at in point[:_FEATURES]), *point[_FEATURES:])
