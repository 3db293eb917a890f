"""Index of the values that the tools of a catalogue produce: it finds producers by key, without a comparison of all tool pairs."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ingest.linking.identifiers import RESOURCE_NAME, type_fit
from ingest.linking.profiles import ToolProfile
from ingest.linking.tool_values import (
    AUTH_KEY,
    PLAIN_VALUE,
    TYPED_RESOURCE,
    ConsumedValue,
    Key,
    ProducedValue,
    agreement,
)
from ingest.word_lists import word_list
from ontology.names import noun_lemma, words

__all__ = ["Choice", "OutputIndex", "ProducerMatch", "best_producers", "is_nested"]

_READS = frozenset(("get", "list", "search"))
_BODY = frozenset(("body", "form"))
_LISTS = frozenset(("update", "list", "search"))
_CREATING = word_list("linking", "creating_verbs")


def needs_value(producer: ToolProfile, consumed: ConsumedValue, produced: ProducedValue) -> bool:
    """Whether a producer must be given the very value that it would supply: no ``RoleName`` from ``GetRolePolicy(RoleName)``."""
    if consumed.key[0] == TYPED_RESOURCE or consumed.key == AUTH_KEY:
        return False
    output = produced.output.rsplit(".", 1)[-1].replace("[]", "").lower()
    needed = producer.needs
    if produced.key in needed.keys or consumed.key in needed.keys:
        return True
    return (
        bool({output, consumed.parameter.rsplit(".", 1)[-1].lower()} & needed.names) and produced.key[0] != PLAIN_VALUE
    )


def is_own_new_value(consumed: ConsumedValue, consumer: ToolProfile) -> bool:
    """Whether an input is the consumer's own: the key of what it creates, or a filter of a list by the key of its items."""
    if not consumed.identifier or consumed.location == "path":
        return False
    if consumed.is_new or (not consumed.required and consumed.key in consumer.needs.keys):
        return True
    if not any(_same_head(name, consumed.key[0]) for name in own_entities(consumer)):
        return False
    return _makes(consumed, consumer) or (consumer.action in _LISTS and not consumed.required)


def is_sibling_reference(producer: ToolProfile, consumed: ConsumedValue, consumer: ToolProfile) -> bool:
    """Whether a value would be copied from an object of the very kind that the consumer makes, changes or sends.

    The network of a new gateway is not that of the gateways there are, nor is the supplier of an invoice that is recorded.
    """
    own = consumer.entities[0] if consumer.entities else consumer.entity
    return (
        (_changes(consumed, consumer) or (_sends(consumed, consumer) and producer.action in _READS))
        and consumed.location != "path"
        and consumed.key[0] != own
        and bool(own)
        and own in (producer.entity, *producer.entities[:1])
    )


def _makes(consumed: ConsumedValue, consumer: ToolProfile) -> bool:
    """Whether the consumer makes something new; of a function only some verbs say so."""
    return consumer.action == "create" and (bool(consumed.location) or consumer.verb in _CREATING)


def _changes(consumed: ConsumedValue, consumer: ToolProfile) -> bool:
    return _makes(consumed, consumer) or (consumer.action == "update" and bool(consumed.location))


def _sends(consumed: ConsumedValue, consumer: ToolProfile) -> bool:
    """Whether the value is part of what an operation on a path sends: recorded, submitted or booked, as the verb may be."""
    return bool(consumer.path) and consumer.action == "act" and consumed.location in _BODY


def is_owner(producer: ToolProfile, entity: str) -> bool:
    """Whether a tool is about an entity: about it or about a kind of it, as its name or path says."""
    if not entity:
        return False
    return any(_same_head(name, entity) for name in own_entities(producer))


def own_entities(profile: ToolProfile) -> list[str]:
    """Return what a tool is about: the longest name, and a shorter one with the same head noun.

    ``DescribeDBClusterParameters`` is about parameters, not about clusters.
    """
    longest = profile.entities[0] if profile.entities else ""
    names = [longest, profile.entity] if _same_head(longest, profile.entity) else [longest or profile.entity]
    return [name.removesuffix(" id").removesuffix(" name") for name in names if name]


def _same_head(name: str, entity: str) -> bool:
    return name == entity or name.endswith(f" {entity}") or entity.endswith(f" {name}")


def kind_fit(produced: ProducedValue, consumed: ConsumedValue) -> float:
    """Return how well the kinds of two values agree, in [0, 1]."""
    if consumed.key[0] == TYPED_RESOURCE or consumed.key == AUTH_KEY:
        return 1.0
    return agreement(produced.kinds, consumed.kinds)


def is_nested(consumed: ConsumedValue, consumer: ToolProfile) -> bool:
    """Whether an input is a field of an object that the request rarely speaks of: ``lastModifiedBy.user.id``.

    The fields of an object that has the name of the consumer's own entity are not nested, nor are names of resources.
    """
    if consumed.key[1] == RESOURCE_NAME:
        return consumed.parameter.count(".") > 1
    own = {*consumer.entities, consumer.entity}
    parents = [words(part) for part in consumed.parameter.replace("[]", "").split(".")[:-1]]
    return any(" ".join((*parent[:-1], *map(noun_lemma, parent[-1:]))) not in own for parent in parents)


def shared_scope(producer: ToolProfile, consumer: ToolProfile, consumed: ConsumedValue) -> int:
    """Return the number of other identifiers that both tools need: the events of a group's list for an event of a group."""
    return len((producer.scope & consumer.scope) - {consumed.key[0]})


def missing_scope(producer: ToolProfile, consumer: ToolProfile, consumed: ConsumedValue) -> int:
    """Return the number of identifiers that the producer needs and the consumer does not."""
    return len(producer.scope - consumer.scope - {consumed.key[0]})


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


_CHANGES = frozenset(("update", "delete"))
_READS_MANY = frozenset(("list", "search"))
_REFERENCE_OVERLAP = 0.5
_MOST_REFERENCES = 2


class Choice(NamedTuple):
    """A match, and the confidence that it is correct, in [0, 1]."""

    confidence: float
    match: ProducerMatch


def best_producers(
    consumed: ConsumedValue,
    consumer: ToolProfile,
    index: OutputIndex,
    confidence: Callable[[ProducerMatch], float],
    min_confidence: float,
    *,
    nearest_only: bool = True,
) -> list[Choice]:
    """Return the best match of each tool that produces the value, in the order in which the index returns the tools.

    :param confidence: returns the confidence of a match; it is rounded to four digits.
    :param min_confidence: matches with a lower confidence are left out.
    :param nearest_only: whether only the nearest producers of an identifier are returned.
    """
    best: dict[str, Choice] = {}
    if is_own_new_value(consumed, consumer):
        return []
    name = consumed.parameter.rsplit(".", 1)[-1].lower()
    for match in index.producers(consumed, consumer):
        choice = Choice(round(confidence(match), 4), match)
        known = best.get(match.profile.id)
        # A weak tool of the collection is kept for now: it shows that tools of other collections are not the nearest.
        likely = choice.confidence >= min_confidence or (
            consumed.collection and match.profile.path == consumed.collection
        )
        if likely and (known is None or _rank(choice, name) > _rank(known, name)):
            best[match.profile.id] = choice
    found = nearest(list(best.values()), consumed, consumer) if nearest_only else list(best.values())
    return [choice for choice in found if choice.confidence >= min_confidence]


def _rank(choice: Choice, name: str) -> tuple[bool, bool, bool, float]:
    """Of a tool's outputs the key of an object comes first, then one that stands in no other object, then one of the input's name."""
    produced = choice.match.produced
    same_name = produced.output.rsplit(".", 1)[-1].lower() == name
    return (
        choice.match.kinds_agree,
        produced.is_object or (same_name and produced.is_outer),
        produced.is_outer,
        choice.confidence,
    )


def nearest(choices: Sequence[Choice], consumed: ConsumedValue, consumer: ToolProfile) -> list[Choice]:
    """Return the choices that are nearest to the consumer; values that are no identifiers are all kept.

    Tools about the entity come before tools that only refer to it. Of an item of a path, the tool of its collection comes first, then
    tools that need the same identifiers as the consumer: a group's events come from the list of a group's events.
    """
    if not consumed.identifier or consumed.key == AUTH_KEY:
        makes = consumer.action == "create"
        return [one for one in choices if not makes or not is_sibling_reference(one.match.profile, consumed, consumer)]
    usable = [one for one in choices if _may_supply(one, consumed, consumer)]
    pool = [one for one in usable if _gives(one, consumed.key[0])]
    if not consumed.location and pool:
        pool = _with_references(pool, usable)
    if not pool:
        # A function says nothing of collections: what only refers to the entity is all there is.
        return _references(usable, consumed, consumer) if consumed.location else usable
    pool = _of_same_kind(pool, consumed, consumer)
    home = [one for one in pool if consumed.collection and one.match.profile.path == consumed.collection]
    if "/" in consumed.collection and any(one.match.profile.action in _READS_MANY for one in home):
        return home
    shared = max((shared_scope(one.match.profile, consumer, consumed) for one in pool), default=0)
    if shared:
        return [one for one in pool if shared_scope(one.match.profile, consumer, consumed) == shared]
    missing = {one.match.profile.id: missing_scope(one.match.profile, consumer, consumed) for one in pool}
    least = min(missing.values(), default=0)
    return [
        one
        for one in pool
        if missing[one.match.profile.id] == least
        or one in home
        or (missing[one.match.profile.id] <= 1 and (one.match.profile.action in _READS_MANY or not consumed.location))
    ]


def _may_supply(choice: Choice, consumed: ConsumedValue, consumer: ToolProfile) -> bool:
    producer = choice.match.profile
    return producer.action not in _CHANGES and not is_sibling_reference(producer, consumed, consumer)


def _gives(choice: Choice, entity: str) -> bool:
    """Whether the tool is about the entity, or its output has objects of it."""
    produced = choice.match.produced
    return produced.is_object or (produced.is_outer and is_owner(choice.match.profile, entity))


def _is_near(choice: Choice, consumer: ToolProfile) -> bool:
    producer = choice.match.profile
    return choice.match.name_overlap >= _REFERENCE_OVERLAP or own_entities(producer)[:1] == own_entities(consumer)[:1]


def _of_same_kind(pool: list[Choice], consumed: ConsumedValue, consumer: ToolProfile) -> list[Choice]:
    """Keep the tools about exactly the consumer's own entity, where the input identifies it and is not in a path.

    ``DeleteTransitGatewayVpcAttachment`` takes an attachment from ``DescribeTransitGatewayVpcAttachments``, not of a peering.
    """
    exact = [one for one in pool if consumed.key[0] in own_entities(one.match.profile)]
    if consumed.location and any(one.match.profile.action in _READS_MANY for one in exact):
        pool = [one for one in pool if one in exact or one.match.produced.is_object]
    own = own_entities(consumer)[:1]
    if (
        not own
        or consumed.location == ""
        or consumer.path
        or own[0].rsplit(" ", 1)[-1] != consumed.key[0].rsplit(" ", 1)[-1]
    ):
        return pool
    return [one for one in pool if own_entities(one.match.profile)[:1] == own] or pool


def _with_references(pool: list[Choice], usable: Sequence[Choice]) -> list[Choice]:
    """Add the tools that refer to the entity, where functions are all that is known; the tools about it come first."""
    return pool if any(one.match.profile.action in _READS_MANY for one in pool) else list(usable)


def _references(choices: Sequence[Choice], consumed: ConsumedValue, consumer: ToolProfile) -> list[Choice]:
    """Return the best of the tools that only refer to an entity that no tool is about.

    They must share words of their names with the consumer or the input: ``TaskHandle`` from ``ListMessageMoveTasks``.
    """
    if not consumed.required:
        return []
    own = set(words(consumed.parameter.rsplit(".", 1)[-1])[:-1])
    near = [
        one
        for one in choices
        if not own.isdisjoint(one.match.profile.words) or (consumed.location != "path" and _is_near(one, consumer))
    ]
    return sorted(near, key=lambda one: (-one.confidence, one.match.profile.id))[:_MOST_REFERENCES]
