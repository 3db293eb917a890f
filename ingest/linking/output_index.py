"""Who offers what: the offers of a whole catalogue, found by key without comparing all tools with all."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ingest.linking.catalogue_draft import PLAIN_VALUE, ConsumedValue, ProducedValue
from ingest.linking.identifiers import type_family
from ingest.linking.profiles import ToolProfile

__all__ = ["OutputIndex", "ProducerMatch"]

MAX_OF_SYSTEM = 64
"""So many of the best offers of a key are looked at within the asking tool's own system."""
MAX_OF_WORD = 8
"""And so many more for each word that their tool's name shares with the asking tool's."""
MAX_ELSEWHERE = 16
MAX_SYSTEMS = 6
"""A key that more systems than this speak of (``user``) is another thing in each: it links nothing across them."""

MANY_SYSTEMS = 50
"""One company has so many systems; in a market of thousands of strangers, equal names are chance."""

_ACTION_WEIGHT = {"search": 1.0, "list": 0.95, "get": 0.9, "act": 0.7, "create": 0.55, "update": 0.3, "delete": 0.1}
_HEAD_ONLY = 0.6
_ELSEWHERE = 0.75
_NO_COMMON_GROUP = 0.85

Key = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerMatch:
    """An offer that meets a need.

    :param fit: how well key, type and system meet, in [0, 1].
    :param apart: whether their source files the two under groups that have none in common.
    :param near: the share of the asking tool's name that the offering tool's name has, weighed by rarity, in [0, 1].
    """

    profile: ToolProfile
    offer: ProducedValue
    fit: float
    near: float
    same_system: bool
    apart: bool = False


class OutputIndex:
    """The offers of a catalogue by key."""

    def __init__(self, profiles: Sequence[ToolProfile]) -> None:
        self._profiles = profiles
        self.tools = len(profiles)
        self._total = max(len(profiles), 2)
        self._all_systems = {profile.system for profile in profiles}
        frequency = Counter(word for profile in profiles for word in set(profile.words))
        self._rarity = {word: math.log(self._total / count) for word, count in frequency.items()}
        everything: dict[Key, list[tuple[float, int, int]]] = defaultdict(list)
        for profile in profiles:
            for place, offer in enumerate(profile.produces):
                quality = offer.confidence * _ACTION_WEIGHT[profile.action] * offer.relevance
                everything[offer.key].append((-quality, profile.position, place))
        self.count: dict[Key, int] = {}
        self._best: dict[Key, list[tuple[int, int]]] = {}
        self._of_system: dict[tuple[Key, str], list[tuple[int, int]]] = defaultdict(list)
        self._of_word: dict[tuple[Key, str, str], list[tuple[int, int]]] = defaultdict(list)
        self._systems: dict[Key, int] = {}
        self._heads: dict[tuple[str, str, str], set[Key]] = defaultdict(set)
        speaking: dict[Key, set[str]] = defaultdict(set)
        for profile in profiles:
            for need in profile.consumes:
                speaking[need.key].add(profile.system)
        for key, found in everything.items():
            self._index(key, sorted(found), speaking[key])

    def _index(self, key: Key, found: list[tuple[float, int, int]], systems: set[str]) -> None:
        self.count[key] = len({position for _, position, _ in found})
        self._best[key] = [(position, place) for _, position, place in found[: 2 * MAX_ELSEWHERE]]
        for _, position, place in found:
            profile = self._profiles[position]
            systems.add(profile.system)
            _push(self._of_system[key, profile.system], (position, place), MAX_OF_SYSTEM)
            for word in profile.words:
                _push(self._of_word[key, profile.system, word], (position, place), MAX_OF_WORD)
            if " " in key[0]:
                self._heads[key[0].rsplit(" ", 1)[1], key[1], profile.system].add(key)
        self._systems[key] = len(systems)

    def find(self, need: ConsumedValue, asking: ToolProfile) -> Iterator[ProducerMatch]:
        """The offers that may meet a need, none of the asking tool itself, in no particular order."""
        exact = list(self._of_key(need.key, asking))
        yield from self._fitting(exact, need, asking, 1.0)
        if exact or not need.identifier:
            return
        # Nothing by the whole name: the head of it may do ("customer order" is an order, "order" perhaps a sales order).
        entity, field = need.key
        head = entity.rsplit(" ", 1)[-1]
        near = sorted(self._heads.get((head, field, asking.system), ())) if head == entity else [(head, field)]
        for key in near[:4]:
            yield from self._fitting(self._of_key(key, asking), need, asking, _HEAD_ONLY)

    def _of_key(self, key: Key, asking: ToolProfile) -> Iterable[tuple[int, int]]:
        places = dict.fromkeys(self._of_system.get((key, asking.system), ()))
        for word in asking.words:
            places.update(dict.fromkeys(self._of_word.get((key, asking.system, word), ())))
        if self._systems.get(key, 0) <= MAX_SYSTEMS:
            elsewhere = [place for place in self._best.get(key, ()) if self._profiles[place[0]].system != asking.system]
            places.update(dict.fromkeys(elsewhere[:MAX_ELSEWHERE]))
        return places

    def _fitting(
        self, places: Iterable[tuple[int, int]], need: ConsumedValue, asking: ToolProfile, factor: float
    ) -> Iterator[ProducerMatch]:
        for position, place in places:
            profile = self._profiles[position]
            offer = profile.produces[place]
            types = type_fit(offer.type, need.type, identifier=need.identifier)
            if position == asking.position or types == 0.0:
                continue
            same = profile.system == asking.system
            fit = factor * types * _ACTION_WEIGHT[profile.action] * offer.relevance
            if not same:
                fit *= self._elsewhere(offer.key)
            apart = bool(asking.groups and profile.groups and not asking.groups & profile.groups)
            if apart:
                fit *= _NO_COMMON_GROUP
            near = self.nearness(asking, profile)
            yield ProducerMatch(profile=profile, offer=offer, fit=fit, near=near, same_system=same, apart=apart)

    def _elsewhere(self, key: Key) -> float:
        """What a key keeps of its worth between systems; a plain word means another thing in each."""
        if key[0] == PLAIN_VALUE and " " not in key[1]:
            return 0.0
        crowd = min(1.0, MANY_SYSTEMS / max(len(self._all_systems), 1))
        return crowd * _ELSEWHERE / math.sqrt(max(self._systems.get(key, 1) - 1, 1))

    def nearness(self, asking: ToolProfile, other: ToolProfile) -> float:
        """The share of the asking tool's name that the other's has, by rarity of the words."""
        weights = {word: self._rarity[word] for word in asking.words}
        whole = sum(weights.values())
        return sum(weights.get(word, 0.0) for word in set(other.words)) / whole if whole else 0.0

    def specificity(self, key: Key) -> float:
        """How rare a key is among the offers of the catalogue: near 1 for a few tools, 0 for all."""
        return max(0.0, 1 - math.log(max(self.count.get(key, 1), 1)) / math.log(self._total))


def type_fit(given: str, asked: str, *, identifier: bool) -> float:
    """How well a value of one type goes into a slot of another: 1 for the same family, 0 for never."""
    one, other = type_family(given), type_family(asked)
    if not given or one == other:
        return 1.0 if one or not given or given.lower() == asked.lower() else 0.6
    pair = {one, other}
    if "boolean" in pair:
        return 0.0
    if pair <= {"string", "integer", "number"}:
        return 1.0 if identifier or pair == {"integer", "number"} else 0.7
    if "array" in pair or pair == {"string", "time"}:
        return 0.9
    return 0.5 if "object" in pair or "" in pair else 0.4


def _push(places: list[tuple[int, int]], place: tuple[int, int], most: int) -> None:
    if len(places) < most:
        places.append(place)
