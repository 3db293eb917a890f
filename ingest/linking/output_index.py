"""Index of the values that the tools of a catalogue produce: it finds producers by key, without a comparison of all tool pairs."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ingest.linking.profiles import ToolProfile
from ingest.linking.resource_names import RESOURCE_NAME
from ingest.linking.supplier_rules import is_owner, kind_fit, needs_value
from ingest.linking.tool_values import PLAIN_VALUE, ConsumedValue, Key, ProducedValue
from ingest.linking.type_families import type_fit
from ontology.names import noun_lemma, words

__all__ = ["OutputIndex", "ProducerMatch"]

MAX_SAME_SYSTEM = 64
"""Maximum number of values of a key from the consumer's own system."""
MAX_PER_SHARED_WORD = 8
"""Maximum number of further values for each word that the names of producer and consumer share."""
MAX_OTHER_SYSTEM = 16
MAX_SYSTEMS = 6
"""A key in more systems than this (``user``) is a different entity in each system: it gives no edges between systems."""
MANY_SYSTEMS = 50
"""Above this number of systems, edges between systems lose confidence: with thousands of providers, equal names are chance."""

_ACTION_WEIGHT = {"search": 1.0, "list": 0.95, "get": 0.9, "act": 0.7, "create": 0.65, "update": 0.3, "delete": 0.1}
_MAX_HEADS = 4
_HEAD_ONLY = 0.6
_OTHER_FIELDS = {"id": ("arn", RESOURCE_NAME, "name"), "name": ("id", "arn")}
"""Fields that may identify the entity too, where the kinds of the two values agree and nothing has the very field."""
_KIND_OF = {"id": "id", "arn": "arn", RESOURCE_NAME: "name", "name": "name"}
_OTHER_FIELD = 0.8
_OTHER_SYSTEM = 0.75
_NO_COMMON_GROUP = 0.85
_MAX_HOMES = 2
"""Of an entity that many systems speak of, at most so many may list it: a company has a system of record. Chosen, not tuned."""


class _ValueIndex(NamedTuple):
    """A produced value: the index of its profile, and its index in the profile."""

    profile: int
    value: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerMatch:
    """A produced value that can fill a consumed value.

    :param fit: how well key, type and system match, in [0, 1].
    :param other_group: whether both tools have groups, but none in common.
    :param name_overlap: the share of the consumer's name words in the producer's name, weighted by IDF, in [0, 1].
    """

    profile: ToolProfile
    produced: ProducedValue
    fit: float
    name_overlap: float
    same_system: bool
    kinds_agree: bool = True
    other_group: bool = False


class OutputIndex:
    """Index from key to the produced values of a catalogue."""

    def __init__(self, profiles: Sequence[ToolProfile]) -> None:
        self._profiles = profiles
        self.tools = len(profiles)
        self._total = max(len(profiles), 2)
        self._all_systems = {profile.system for profile in profiles}
        frequency = Counter(word for profile in profiles for word in set(profile.words))
        self._idf = {word: math.log(self._total / count) for word, count in frequency.items()}
        by_key: dict[Key, list[tuple[float, _ValueIndex]]] = defaultdict(list)
        for profile in profiles:
            for number, value in enumerate(profile.produces):
                quality = value.confidence * _ACTION_WEIGHT[profile.action] * value.relevance
                by_key[value.key].append((-quality, _ValueIndex(profile.position, number)))
        systems: dict[Key, set[str]] = defaultdict(set)
        for profile in profiles:
            for consumed in profile.consumes:
                systems[consumed.key].add(profile.system)
        self.count: dict[Key, int] = {}
        self._best: dict[Key, list[_ValueIndex]] = {}
        self._of_system: dict[tuple[Key, str], list[_ValueIndex]] = defaultdict(list)
        self._of_word: dict[tuple[Key, str, str], list[_ValueIndex]] = defaultdict(list)
        self._systems: dict[Key, int] = {}
        self._heads: dict[tuple[str, str, str], set[Key]] = defaultdict(set)
        for key, found in by_key.items():
            self._add(key, [value for _, value in sorted(found)], systems[key])

    def _add(self, key: Key, values: Sequence[_ValueIndex], systems: set[str]) -> None:
        """Index the values of one key; ``values`` is sorted, the best first."""
        self.count[key] = len({value.profile for value in values})
        self._best[key] = list(values[: 2 * MAX_OTHER_SYSTEM])
        for value in values:
            profile = self._profiles[value.profile]
            systems.add(profile.system)
            _append(self._of_system[key, profile.system], value, MAX_SAME_SYSTEM)
            for word in profile.words:
                _append(self._of_word[key, profile.system, word], value, MAX_PER_SHARED_WORD)
            if " " in key[0]:
                self._heads[key[0].rsplit(" ", 1)[1], key[1], profile.system].add(key)
        self._systems[key] = len(systems)

    def producers(self, consumed: ConsumedValue, consumer: ToolProfile) -> Iterator[ProducerMatch]:
        """Yield the values of other tools that can fill a consumed value, in no particular order."""
        exact = list(self._values_of_key(consumed.key, consumer))
        listed = self._is_listed(exact, consumed, consumer)
        if consumed.identifier and consumed.key[1] in _OTHER_FIELDS:
            fields = _OTHER_FIELDS[consumed.key[1]]
            for field in fields if not listed else [one for one in fields if _KIND_OF[one] in consumed.kinds]:
                other = self._values_of_key((consumed.key[0], field), consumer)
                yield from self._matches(other, consumed, consumer, _OTHER_FIELD)
        yield from self._matches(exact, consumed, consumer, 1.0)
        if not consumed.identifier or listed:
            return
        # No match of the whole name: try its head noun ("customer order" is an order; "order" may be a sales order).
        entity, field = consumed.key
        head = entity.rsplit(" ", 1)[-1]
        near = sorted(self._heads.get((head, field, consumer.system), ())) if head == entity else [(head, field)]
        modifiers = set(entity.split()[:-1]) if consumed.location else set()
        for key in near[:_MAX_HEADS]:
            values = self._values_of_key(key, consumer)
            if modifiers:  # "workbook functions" are not the functions of something else
                values = [one for one in values if not modifiers.isdisjoint(self._profiles[one.profile].words)]
            for match in self._matches(values, consumed, consumer, _HEAD_ONLY):
                if match.produced.output or not consumed.location:
                    yield match

    def _is_listed(self, values: Iterable[_ValueIndex], consumed: ConsumedValue, consumer: ToolProfile) -> bool:
        """Whether a tool about the entity itself produces it."""
        found = [self._profiles[value.profile] for value in values if value.profile != consumer.position]
        if not consumed.location:
            return bool(found)
        return any(one.entity == consumed.key[0] and one.action in ("list", "search") for one in found)

    def _values_of_key(self, key: Key, consumer: ToolProfile) -> Iterable[_ValueIndex]:
        system = consumer.system
        values = dict.fromkeys(self._of_system.get((key, system), ()))
        for word in consumer.words:
            values.update(dict.fromkeys(self._of_word.get((key, system, word), ())))
        elsewhere = [value for value in self._best.get(key, ()) if self._profiles[value.profile].system != system]
        if self._systems.get(key, 0) > MAX_SYSTEMS:
            elsewhere = [value for value in elsewhere if _is_home(self._profiles[value.profile], key)]
            if len({self._profiles[value.profile].system for value in elsewhere}) > _MAX_HOMES:
                elsewhere = []
        values.update(dict.fromkeys(elsewhere[:MAX_OTHER_SYSTEM]))
        return values

    def _matches(
        self, values: Iterable[_ValueIndex], consumed: ConsumedValue, consumer: ToolProfile, factor: float
    ) -> Iterator[ProducerMatch]:
        for position, number in values:
            profile = self._profiles[position]
            produced = profile.produces[number]
            if position == consumer.position or profile.vendor != consumer.vendor:
                continue
            types = type_fit(produced.type, consumed.type, identifier=consumed.identifier)
            kinds = kind_fit(produced, consumed)
            types *= kinds
            if types == 0.0 or needs_value(profile, consumed, produced):
                continue
            same = profile.system == consumer.system
            fit = factor * types * _ACTION_WEIGHT[profile.action] * produced.relevance
            if not same:
                fit *= self._other_system_factor(produced.key, profile, exact=produced.key == consumed.key)
            other_group = bool(consumer.groups and profile.groups and not consumer.groups & profile.groups)
            if other_group:
                fit *= _NO_COMMON_GROUP
            yield ProducerMatch(
                profile=profile,
                produced=produced,
                fit=fit,
                name_overlap=self._name_overlap(consumer, profile),
                same_system=same,
                kinds_agree=kinds == 1.0,
                other_group=other_group,
            )

    def _other_system_factor(self, key: Key, producer: ToolProfile, *, exact: bool) -> float:
        """Return the factor for a value of another system; 0 for a plain value of one word, whose meaning differs by system.

        Within one company the list or search of the entity itself is the place to look: nothing is taken off for its system. Where
        a catalogue has several vendors, the documents of one describe separate services: an entity of one word (policy, member,
        connection) is another one in each, unless the producer's service has its name. Found by reading 31 such edges between
        services of Google and of AWS, all of them false.
        """
        if key[0] == PLAIN_VALUE and " " not in key[1]:
            return 0.0
        if producer.vendor:
            if " " not in key[0] and key[0] not in map(noun_lemma, words(producer.system)):
                return 0.0
        elif exact and _is_home(producer, key):
            return _OTHER_SYSTEM
        size_factor = min(1.0, MANY_SYSTEMS / max(len(self._all_systems), 1))
        return size_factor * _OTHER_SYSTEM / math.sqrt(max(self._systems.get(key, 1) - 1, 1))

    def _name_overlap(self, consumer: ToolProfile, producer: ToolProfile) -> float:
        weights = {word: self._idf[word] for word in consumer.words}
        whole = sum(weights.values())
        return sum(weights.get(word, 0.0) for word in set(producer.words)) / whole if whole else 0.0

    def specificity(self, key: Key) -> float:
        """Return the specificity of a key, in [0, 1]: 1 - log(number of producers) / log(number of tools)."""
        return max(0.0, 1 - math.log(max(self.count.get(key, 1), 1)) / math.log(self._total))


def _is_home(producer: ToolProfile, key: Key) -> bool:
    """Whether a tool of the one company of the catalogue lists or searches the entity itself."""
    return not producer.vendor and producer.action in ("list", "search") and is_owner(producer, key[0])


def _append(values: list[_ValueIndex], value: _ValueIndex, limit: int) -> None:
    if len(values) < limit:
        values.append(value)
