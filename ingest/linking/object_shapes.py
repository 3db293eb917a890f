"""ObjectShapes: an object without a telling name is of the entity whose fields it has.

``cast[]`` of a film's credits has a gender and a profile picture like what ``/person/{person_id}`` returns: its ``id`` is a
person's. Fields that many entities have count for little.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

__all__ = ["ObjectShapes"]

_MIN_SHARE = 0.55
_MIN_TELLING = 2
_MAX_FIELDS = 200


class ObjectShapes:
    """What the objects of each entity look like, system by system."""

    def __init__(self) -> None:
        self._entities: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
        self._count: dict[str, set[str]] = defaultdict(set)

    def learn(self, system: str, entity: str, fields: Sequence[str]) -> None:
        """An object of ``entity`` in ``system`` has these fields."""
        self._count[system].add(entity)
        for field in fields[:_MAX_FIELDS]:
            self._entities[system][field].add(entity)

    def match(self, system: str, fields: Sequence[str]) -> tuple[str, float] | None:
        """The entity that an object with these fields most likely is, with a confidence, or None.

        Of equals the first in the alphabet.
        """
        known, total = self._entities.get(system, {}), len(self._count.get(system, ()))
        scores: dict[str, float] = defaultdict(float)
        telling: dict[str, int] = defaultdict(int)
        weight = 0.0
        for field in fields[:_MAX_FIELDS]:
            entities = known.get(field, ())
            idf = math.log((1 + total) / (1 + len(entities))) + 0.05 if entities else 0.0
            weight += idf
            for entity in entities:
                scores[entity] += idf
                telling[entity] += len(entities) <= max(1, total // 3)
        if not scores or not weight:
            return None
        best = min(scores, key=lambda entity: (-scores[entity], entity))
        share = scores[best] / weight
        if share < _MIN_SHARE or telling[best] < _MIN_TELLING:
            return None
        return best, round(0.75 * share, 4)
