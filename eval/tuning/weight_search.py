"""Search for weights: coordinate descent over a grid of half octaves around the shipped weights.

The grid is coarse on purpose. Half an octave changes few ranks, and finer steps would fit the noise of a few hundred
requests. Also, searches over different folds reach the same points, which are scored once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from retrieval.ranking.features import TEXT_FEATURES
from retrieval.ranking.weights import SHIPPED, RankingWeights

__all__ = ["ORIGIN", "Point", "distance", "search", "weights_at"]

Point: TypeAlias = tuple[int, ...]
"""Half octaves from each shipped weight, in the order of :class:`RankingWeights`; :data:`_OFF` switches a feature
off.
"""

_NAMES = tuple(SHIPPED)
_MAX_HALF_OCTAVES = 7  # a factor of about 11 in both directions
_OFF = -100
_STEPS = (4, 2, 1)
_FEATURES = len(SHIPPED.features)
_GAIN = 1e-9
ORIGIN: Point = (0,) * len(_NAMES)


def weights_at(point: Point) -> RankingWeights:
    """Return the weights at a point."""
    return RankingWeights(
        **{
            name: 0.0 if at == _OFF else round(SHIPPED[name] * 2 ** (at / 2), 6)
            for name, at in zip(_NAMES, point, strict=True)
        }
    )


def distance(point: Point) -> float:
    """Return the distance of a point from the shipped weights: the sum of squared octaves; off counts as one step below
    the minimum.
    """
    return sum((max(at, -_MAX_HALF_OCTAVES - 1) / 2) ** 2 for at in point)


def search(value: Callable[[Point], float], start: Point = ORIGIN) -> Point:
    """Return the point with the highest value that coordinate descent finds from the start; it does not move for a tie.

    From a start other than the shipped weights the first steps are shorter, because an earlier search ended there.
    """
    current, best = start, value(start)
    for step in _STEPS if start == ORIGIN else _STEPS[1:]:
        moved = True
        while moved:
            moved = False
            for axis in range(len(current)):
                for neighbour in _neighbours(current, axis, step):
                    if (found := value(neighbour)) > best + _GAIN:
                        current, best, moved = neighbour, found, True
    return current


def _neighbours(point: Point, axis: int, step: int) -> Iterator[Point]:
    """Yield the points one step along an axis, and the point with its feature off; the resolver margin cannot be off."""
    at = point[axis]
    ends = [at - step, at + step] if at != _OFF else [-_MAX_HALF_OCTAVES, 0]
    if _NAMES[axis] != "resolver_margin":
        ends.append(_OFF)
    for end in ends:
        neighbour = _centred((*point[:axis], end, *point[axis + 1 :]))
        if neighbour != point and _in_bounds(neighbour):
            yield neighbour


def _in_bounds(point: Point) -> bool:
    """Whether every weight is in its range, and some text feature is on."""
    in_range = all(at == _OFF or -_MAX_HALF_OCTAVES <= at <= _MAX_HALF_OCTAVES for at in point)
    return in_range and any(at != _OFF for at in point[: len(TEXT_FEATURES)])


def _centred(point: Point) -> Point:
    """Return the point with the same proportions of the features whose mean shift from the shipped weights is 0."""
    on = [at for at in point[:_FEATURES] if at != _OFF]
    shift = round(sum(on) / len(on)) if on else 0
    return (*(at if at == _OFF else at - shift for at in point[:_FEATURES]), *point[_FEATURES:])
