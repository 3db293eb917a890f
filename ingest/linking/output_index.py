"""The index of the values that a catalogue produces: producers are found by key, without comparing all tools with all."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ingest.linking.profiles import ToolProfile
from ingest.linking.type_families import type_fit
from ingest.linking.values import PLAIN_VALUE, ConsumedValue, Key, ProducedValue

__all__ = ["OutputIndex", "ProducerMatch"]

MAX_OF_SYSTEM = 64
"""The best values of a key that are looked at within the consumer's own system."""
MAX_OF_WORD = 8
"""Further values for each word that the names of producer and consumer share."""
MAX_ELSEWHERE = 16
MAX_SYSTEMS = 6
"""A key in more systems than this (``user``) is another entity in each: it links nothing across them."""
MANY_SYSTEMS = 50
"""One company has at most so many systems; in a market of thousands of providers, equal names are chance."""

_ACTION_WEIGHT = {"search": 1.0, "list": 0.95, "get": 0.9, "act": 0.7, "create": 0.55, "update": 0.3, "delete": 0.1}
_MAX_HEADS = 4
_HEAD_ONLY = 0.6
_ELSEWHERE = 0.75
_NO_COMMON_GROUP = 0.85


class _Place(NamedTuple):
    """A produced value: the position of its profile, and its own position in it."""

    profile: int
    value: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerMatch:
    """A produced value that can fill a consumed one.

    :param fit: how well key, type and system match, in [0, 1].
    :param other_group: whether the two tools have groups, but none in common.
    :param name_overlap: the share of the consumer's name that the producer's name has, weighted by IDF, in [0, 1].
    """

    profile: ToolProfile
    produced: ProducedValue
    fit: float
    name_overlap: float
    same_system: bool
    other_group: bool = False


class OutputIndex:
    """The produced values of a catalogue by key."""

    def __init__(self, profiles: Sequence[ToolProfile]) -> None:
        self._profiles = profiles
        self.tools = len(profiles)
        self._total = max(len(profiles), 2)
        self._all_systems = {profile.system for profile in profiles}
        frequency = Counter(word for profile in profiles for word in set(profile.words))
        self._idf = {word: math.log(self._total / count) for word, count in frequency.items()}
        by_key: dict[Key, list[tuple[float, _Place]]] = defaultdict(list)
        for profile in profiles:
            for number, value in enumerate(profile.produces):
                quality = value.confidence * _ACTION_WEIGHT[profile.action] * value.relevance
                by_key[value.key].append((-quality, _Place(profile.position, number)))
        systems: dict[Key, set[str]] = defaultdict(set)
        for profile in profiles:
            for consumed in profile.consumes:
                systems[consumed.key].add(profile.system)
        self.count: dict[Key, int] = {}
        self._best: dict[Key, list[_Place]] = {}
        self._of_system: dict[tuple[Key, str], list[_Place]] = defaultdict(list)
        self._of_word: dict[tuple[Key, str, str], list[_Place]] = defaultdict(list)
        self._systems: dict[Key, int] = {}
        self._heads: dict[tuple[str, str, str], set[Key]] = defaultdict(set)
        for key, found in by_key.items():
            self._add(key, [place for _, place in sorted(found)], systems[key])

    def _add(self, key: Key, places: Sequence[_Place], systems: set[str]) -> None:
        """Index the values of one key, the best first."""
        self.count[key] = len({place.profile for place in places})
        self._best[key] = list(places[: 2 * MAX_ELSEWHERE])
        for place in places:
            profile = self._profiles[place.profile]
            systems.add(profile.system)
            _append(self._of_system[key, profile.system], place, MAX_OF_SYSTEM)
            for word in profile.words:
                _append(self._of_word[key, profile.system, word], place, MAX_OF_WORD)
            if " " in key[0]:
                self._heads[key[0].rsplit(" ", 1)[1], key[1], profile.system].add(key)
        self._systems[key] = len(systems)

    def producers(self, consumed: ConsumedValue, consumer: ToolProfile) -> Iterator[ProducerMatch]:
        """The values that can fill a consumed one, none of the consumer itself, in no particular order."""
        exact = list(self._of_key(consumed.key, consumer))
        yield from self._matches(exact, consumed, consumer, 1.0)
        if exact or not consumed.identifier:
            return
        # Nothing by the whole name: its head may match ("customer order" is an order, "order" perhaps a sales order).
        entity, field = consumed.key
        head = entity.rsplit(" ", 1)[-1]
        near = sorted(self._heads.get((head, field, consumer.system), ())) if head == entity else [(head, field)]
        for key in near[:_MAX_HEADS]:
            yield from self._matches(self._of_key(key, consumer), consumed, consumer, _HEAD_ONLY)

    def _of_key(self, key: Key, consumer: ToolProfile) -> Iterable[_Place]:
        system = consumer.system
        places = dict.fromkeys(self._of_system.get((key, system), ()))
        for word in consumer.words:
            places.update(dict.fromkeys(self._of_word.get((key, system, word), ())))
        if self._systems.get(key, 0) <= MAX_SYSTEMS:
            elsewhere = [place for place in self._best.get(key, ()) if self._profiles[place.profile].system != system]
            places.update(dict.fromkeys(elsewhere[:MAX_ELSEWHERE]))
        return places

    def _matches(
        self, places: Iterable[_Place], consumed: ConsumedValue, consumer: ToolProfile, factor: float
    ) -> Iterator[ProducerMatch]:
        for position, number in places:
            profile = self._profiles[position]
            produced = profile.produces[number]
            types = type_fit(produced.type, consumed.type, identifier=consumed.identifier)
            if position == consumer.position or types == 0.0:
                continue
            same = profile.system == consumer.system
            fit = factor * types * _ACTION_WEIGHT[profile.action] * produced.relevance
            if not same:
                fit *= self._elsewhere(produced.key)
            other_group = bool(consumer.groups and profile.groups and not consumer.groups & profile.groups)
            if other_group:
                fit *= _NO_COMMON_GROUP
            yield ProducerMatch(
                profile=profile,
                produced=produced,
                fit=fit,
                name_overlap=self._name_overlap(consumer, profile),
                same_system=same,
                other_group=other_group,
            )

    def _elsewhere(self, key: Key) -> float:
        """The factor for a value of another system; a plain word means another thing in each system."""
        if key[0] == PLAIN_VALUE and " " not in key[1]:
            return 0.0
        crowd = min(1.0, MANY_SYSTEMS / max(len(self._all_systems), 1))
        return crowd * _ELSEWHERE / math.sqrt(max(self._systems.get(key, 1) - 1, 1))

    def _name_overlap(self, consumer: ToolProfile, producer: ToolProfile) -> float:
        weights = {word: self._idf[word] for word in consumer.words}
        whole = sum(weights.values())
        return sum(weights.get(word, 0.0) for word in set(producer.words)) / whole if whole else 0.0

    def specificity(self, key: Key) -> float:
        """How few tools produce a key: near 1 for a few, 0 for all."""
        return max(0.0, 1 - math.log(max(self.count.get(key, 1), 1)) / math.log(self._total))


def _append(places: list[_Place], place: _Place, most: int) -> None:
    if len(places) < most:
        places.append(place)
