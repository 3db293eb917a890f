"""Find the entity of an object by its fields, when its name is no known entity.

``cast[]`` of a film's credits has a gender and a profile picture, like the response of ``/person/{person_id}``. So its ``id`` is the
id of a person. Fields are weighted by IDF over entities. (The example is from TMDB, the catalogue of the set restbench.)
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["ObjectShapes", "Owner"]

_MIN_SHARE = 0.55
_MIN_RARE = 2
_MAX_FIELDS = 200


class Owner(NamedTuple):
    """The entity of an object, with a confidence in [0, 1]."""

    entity: str
    confidence: float


class ObjectShapes:
    """The known fields of each entity, for each system."""

    def __init__(self) -> None:
        self._entities: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
        self._count: dict[str, set[str]] = defaultdict(set)

    def learn(self, system: str, entity: str, fields: Sequence[str]) -> None:
        """Record that an object of ``entity`` in ``system`` has these fields."""
        self._count[system].add(entity)
        for field in fields[:_MAX_FIELDS]:
            self._entities[system][field].add(entity)

    def match(self, system: str, fields: Sequence[str]) -> Owner | None:
        """Return the most likely entity of an object with these fields, or None; ties in alphabetical order."""
        known, total = self._entities.get(system, {}), len(self._count.get(system, ()))
        scores: dict[str, float] = defaultdict(float)
        rare: dict[str, int] = defaultdict(int)
        weight = 0.0
        for field in fields[:_MAX_FIELDS]:
            entities = known.get(field, ())
            idf = math.log((1 + total) / (1 + len(entities))) + 0.05 if entities else 0.0
            weight += idf
            for entity in entities:
                scores[entity] += idf
                rare[entity] += len(entities) <= max(1, total // 3)
        if not scores or not weight:
            return None
        best = min(scores, key=lambda entity: (-scores[entity], entity))
        share = scores[best] / weight
        if share < _MIN_SHARE or rare[best] < _MIN_RARE:
            return None
        return Owner(best, round(0.75 * share, 4))
