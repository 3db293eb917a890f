"""The edges between the tools of a catalogue: what fills an input, what finds an identifier by words, which login is needed.

Candidates are found by their key, never by comparing all pairs of tools. Whether a candidate becomes an edge depends on the profiles of the
two tools, on which other tools produce the value (only the nearest are linked), and on a few frequencies of the catalogue.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from ingest.linking.identifiers import RESOURCE_NAME, agreement, head_noun, type_family, type_fit
from ingest.linking.profiles import ToolProfile, profile_tools
from ingest.linking.values import (
    ANY_PERSON,
    AUTH_KEY,
    NAMING_FIELDS,
    NO_LINKS,
    PEOPLE,
    PLAIN_VALUE,
    TYPED_RESOURCE,
    ConsumedValue,
    DeclaredLinks,
    Key,
    ProducedValue,
)
from ingest.word_lists import word_list
from ontology.names import noun_lemma, words
from ontology.ontology import Ontology
from ontology.tool import Tool

_MANY = frozenset(("list", "search"))
_CREATING = word_list("linking", "creating_verbs")
_PICKS = NAMING_FIELDS | {"identifier", "ids", "key", "code", "number", "reference"}

MAX_SAME_SYSTEM = 64  # maximum number of values of a key from the consumer's own system
MAX_OTHER_SYSTEM = 16
# A key in more systems than this (``user``) is a different entity in each system: it gives no edges between systems
MAX_SYSTEMS = 6
# Above this number of systems, edges between them lose confidence: with thousands of providers, equal names are chance
MANY_SYSTEMS = 50
# At most so many may list an entity that many systems speak of: a company has a system of record. Chosen, not tuned.
_MAX_HOMES = 2
_MAX_HEADS = 4
# This and the strengths below are chosen, not tuned; what their product is worth as a confidence is calibrated (benchmarks/training/edges.py).
_ACTION_WEIGHT = {"search": 1.0, "list": 0.95, "get": 0.9, "act": 0.7, "create": 0.65, "update": 0.3, "delete": 0.1}
# Fields that may identify the entity too, where the kinds of the two values agree and nothing has the very field
_OTHER_FIELDS = {"id": ("arn", RESOURCE_NAME, "name"), "name": ("id", "arn")}
_HEAD_ONLY, _OTHER_FIELD, _OTHER_SYSTEM, _NO_COMMON_GROUP = 0.6, 0.8, 0.75, 0.85
MOST_SUPPLIERS, _MOST_SUPPLIERS_OF_PATHS = 8, 32  # of one input
_LEAST, _LEAST_OF_PATHS = 0.25, 0.2  # score of a supplier
_MAX_RESOLVERS = 3
_MIN_RESOLVER = 0.12
# Least strength of a resolver. A bare list, and a search without text, have less: they supply the identifier, but take
# no words. Found on the set gtc, which loses 2 points of CompleteRecall@5 to them.
_MIN_STRENGTH = 0.5
_WITHOUT_TEXT, _OF_CALLER = 0.45, 0.55
_OPTIONAL_FROM = 0.8
# A plain value with more producers is not linked; one of several words may have up to this share of the tools
_MAX_PRODUCERS, _MAX_SHARE = 5, 0.01
_REFERENCE_OVERLAP, _MOST_REFERENCES = 0.5, 2
# Score of an edge, and the share that is true: of the 90 judged edges over 12 documents in
# ``benchmarks/training/edge_verdicts/calibration.jsonl``; made by ``python -m benchmarks.training.edges calibrate``
_CALIBRATION = {
    "resolved_by": [(0.172, 0.75), (0.197, 0.957)],
    "supplies": [(0.2601, 0.783), (0.3905, 0.818), (0.4522, 0.914)],
}
# Rise after the last point, so that of two edges the one with the better score still has the higher confidence
_LAST_RISE = 0.03
_SIGN_IN = 0.9  # confidence that a login is needed


@dataclass(frozen=True, slots=True, kw_only=True)
class DerivedEdge:
    """One derived edge between two tools.

    ``supplies``: from the supplier to the tool whose input it fills. ``resolved_by``: from the tool that needs an
    identifier to the tool that finds it from words. ``depends_on``: from a tool to one that must be called before it.

    :param source: id of the tool where the edge starts.
    :param predicate: ``supplies``, ``resolved_by`` or ``depends_on``.
    :param target: id of the tool where the edge ends.
    :param parameter: the input that is filled, with its name in the document.
    :param output: the output that fills it, or empty where the supplier's outputs are not documented.
    :param entity: canonical name of the entity of input and output.
    :param field: the field of that entity (``id``, ``email``).
    :param confidence: in [0, 1]; of the edges of one confidence about that share is true.
    :param score: the evidence before calibration, in [0, 1].
    """

    source: str
    predicate: str
    target: str
    confidence: float
    parameter: str = ""
    output: str = ""
    entity: str = ""
    field: str = ""
    score: float = 0.0

    @property
    def key(self) -> str:
        """The key of the edge, unique between two tools: ``supplies:supplier_id``."""
        return f"{self.predicate}:{self.parameter}"


class _Match(NamedTuple):
    """A produced value that can fill a consumed value. ``fit`` says how well key, type and system match, ``overlap``
    the share of the consumer's name words in the producer's name, weighted by IDF, and ``score``, once it is judged,
    that it is correct; each in [0, 1]."""

    producer: ToolProfile
    produced: ProducedValue
    fit: float
    overlap: float
    same_system: bool
    kinds_agree: bool
    other_group: bool
    score: float = 0.0


class OutputIndex:
    """Index from key to the values that the tools of a catalogue produce."""

    def __init__(self, profiles: Sequence[ToolProfile]) -> None:
        self.tools = len(profiles)
        self._profiles = profiles
        self._all_systems = len({profile.system for profile in profiles})
        frequency = Counter(word for profile in profiles for word in profile.words)
        self._idf = {word: math.log(max(self.tools, 2) / count) for word, count in frequency.items()}
        systems: dict[Key, set[str]] = defaultdict(set)
        by_key: dict[Key, list[tuple[float, int, int]]] = defaultdict(list)
        for profile in profiles:
            for value in profile.consumes:
                systems[value.key].add(profile.system)
            for number, given in enumerate(profile.produces):
                systems[given.key].add(profile.system)
                quality = given.confidence * _ACTION_WEIGHT[profile.action] * given.relevance
                by_key[given.key].append((-quality, profile.position, number))
        self._systems = {key: len(systems[key]) for key in by_key}
        # Map from key to the number of tools that produce it
        self.count = {key: len({position for _, position, _ in found}) for key, found in by_key.items()}
        self._best: dict[Key, list[tuple[int, int]]] = {}
        self._of_system: dict[tuple[Key, str], list[tuple[int, int]]] = defaultdict(list)
        self._heads: dict[tuple[str, str, str], set[Key]] = defaultdict(set)
        for key, found in by_key.items():
            places = [(position, number) for _, position, number in sorted(found)]
            self._best[key] = places[: 2 * MAX_OTHER_SYSTEM]
            for place in places:
                profile = profiles[place[0]]
                if len(self._of_system[key, profile.system]) < MAX_SAME_SYSTEM:
                    self._of_system[key, profile.system].append(place)
                if " " in key[0]:
                    self._heads[head_noun(key[0]), key[1], profile.system].add(key)

    def specificity(self, key: Key) -> float:
        """Return the specificity of a key, in [0, 1]: 1 - log(number of producers) / log(number of tools)."""
        return max(0.0, 1 - math.log(max(self.count.get(key, 1), 1)) / math.log(max(self.tools, 2)))

    def matches(self, consumed: ConsumedValue, consumer: ToolProfile) -> Iterator[_Match]:
        """Yield the values of other tools that can fill a consumed value, in no particular order."""
        exact = self._values(consumed.key, consumer)
        about = [self._profiles[position] for position, _ in exact if position != consumer.position]
        if consumed.location:  # only a tool about the entity itself lists it
            about = [one for one in about if one.entity == consumed.key[0] and one.action in _MANY]
        if not consumed.identifier:
            yield from self._matches(exact, consumed, consumer, 1.0)
            return
        entity, field = consumed.key
        for other in _OTHER_FIELDS.get(field, ()):
            if not about or other.removeprefix("resource ") in consumed.kinds:
                values = self._values((entity, other), consumer)
                yield from self._matches(values, consumed, consumer, _OTHER_FIELD)
        yield from self._matches(exact, consumed, consumer, 1.0)
        if about:
            return
        # No match of the whole name: try its head noun ("customer order" is an order; "order" may be a sales order).
        head = head_noun(entity)
        near = sorted(self._heads.get((head, field, consumer.system), ())) if head == entity else [(head, field)]
        modifiers = set(entity.split()[:-1]) if consumed.location else set()
        for key in near[:_MAX_HEADS]:
            values = self._values(key, consumer)
            if modifiers:  # "workbook functions" are not the functions of something else
                values = [one for one in values if not modifiers.isdisjoint(self._profiles[one[0]].words)]
            found = self._matches(values, consumed, consumer, _HEAD_ONLY)
            yield from (match for match in found if match.produced.output or not consumed.location)

    def _values(self, key: Key, consumer: ToolProfile) -> Iterable[tuple[int, int]]:
        values = dict.fromkeys(self._of_system.get((key, consumer.system), ()))
        elsewhere = [one for one in self._best.get(key, ()) if self._profiles[one[0]].system != consumer.system]
        if self._systems.get(key, 0) > MAX_SYSTEMS:
            elsewhere = [one for one in elsewhere if _is_home(self._profiles[one[0]], key)]
            if len({self._profiles[position].system for position, _ in elsewhere}) > _MAX_HOMES:
                elsewhere = []
        values.update(dict.fromkeys(elsewhere[:MAX_OTHER_SYSTEM]))
        return values

    def _matches(
        self, values: Iterable[tuple[int, int]], consumed: ConsumedValue, consumer: ToolProfile, factor: float
    ) -> Iterator[_Match]:
        weights = {word: self._idf[word] for word in consumer.words}
        whole = sum(weights.values())
        of_any_kind = consumed.key[0] == TYPED_RESOURCE or consumed.key == AUTH_KEY
        for position, number in values:
            producer = self._profiles[position]
            produced = producer.produces[number]
            if producer is consumer or producer.vendor != consumer.vendor:
                continue
            kinds = 1.0 if of_any_kind else agreement(produced.kinds, consumed.kinds)
            fit = factor * (type_fit(produced.type, consumed.type, identifier=consumed.identifier) * kinds)
            if fit == 0.0 or (not of_any_kind and _needs_value(producer, consumed, produced)):
                continue
            fit *= _ACTION_WEIGHT[producer.action] * produced.relevance
            same = producer.system == consumer.system
            if not same:
                fit *= self._other_system_factor(produced.key, producer, exact=produced.key == consumed.key)
            other_group = bool(consumer.groups and producer.groups and not consumer.groups & producer.groups)
            if other_group:
                fit *= _NO_COMMON_GROUP
            overlap = sum(weights.get(word, 0.0) for word in producer.words) / whole if whole else 0.0
            yield _Match(producer, produced, fit, overlap, same, kinds == 1.0, other_group)

    def _other_system_factor(self, key: Key, producer: ToolProfile, *, exact: bool) -> float:
        """Return the factor for a value of another system; 0 for a plain value of one word, whose meaning differs by
        system. Within one company the list or search of the entity itself is the place to look. Several vendors have
        separate services: an entity of one word (policy, member) is another one in each, unless the producer's service
        has its name. Found by reading 31 such edges between services of Google and of AWS, all of them false."""
        if key[0] == PLAIN_VALUE and " " not in key[1]:
            return 0.0
        if producer.vendor:
            if " " not in key[0] and key[0] not in map(noun_lemma, words(producer.system)):
                return 0.0
        elif exact and _is_home(producer, key):
            return _OTHER_SYSTEM
        size_factor = min(1.0, MANY_SYSTEMS / max(self._all_systems, 1))
        return size_factor * _OTHER_SYSTEM / math.sqrt(max(self._systems.get(key, 1) - 1, 1))


def _needs_value(producer: ToolProfile, consumed: ConsumedValue, produced: ProducedValue) -> bool:
    """Whether a producer must be given the very value that it would supply: no ``RoleName`` from ``GetRolePolicy(RoleName)``."""
    if not producer.needed_keys.isdisjoint((produced.key, consumed.key)):
        return True
    names = {name.rpartition(".")[2].lower() for name in (produced.output.replace("[]", ""), consumed.parameter)}
    return produced.key[0] != PLAIN_VALUE and not names.isdisjoint(producer.needed_names)


def _is_home(producer: ToolProfile, key: Key) -> bool:
    """Whether a tool of the one company of the catalogue lists or searches the entity itself."""
    return not producer.vendor and producer.action in _MANY and _is_owner(producer, key[0])


def _is_owner(profile: ToolProfile, entity: str) -> bool:
    """Whether a tool is about an entity or about a kind of it, as its name or path says."""
    return bool(entity) and any(_same_head(name, entity) for name in _own_entities(profile))


def _own_entities(profile: ToolProfile) -> list[str]:
    """The longest name of what a tool is about (parameters, not clusters), and a shorter one with its head noun."""
    longest = profile.entities[0] if profile.entities else ""
    names = [longest, profile.entity] if _same_head(longest, profile.entity) else [longest or profile.entity]
    return [name.removesuffix(" id").removesuffix(" name") for name in names if name]


def _same_head(name: str, entity: str) -> bool:
    return name == entity or name.endswith(f" {entity}") or entity.endswith(f" {name}")


def _is_own_new_value(consumed: ConsumedValue, consumer: ToolProfile) -> bool:
    """Whether an input is the consumer's own: the key of what it creates, or a filter of a list by the key of its items."""
    if not consumed.identifier or consumed.location == "path":
        return False
    if not consumed.required and consumed.key in consumer.needed_keys:
        return True
    filters = consumer.action in ("update", *_MANY) and not consumed.required
    own = any(_same_head(name, consumed.key[0]) for name in _own_entities(consumer))
    return own and (_makes(consumed, consumer) or filters)


def _makes(consumed: ConsumedValue, consumer: ToolProfile) -> bool:
    """Whether the consumer makes something new; of a function only some verbs say so."""
    return consumer.action == "create" and (bool(consumed.location) or consumer.verb in _CREATING)


def _is_sibling_reference(producer: ToolProfile, consumed: ConsumedValue, consumer: ToolProfile) -> bool:
    """Whether a value would be copied from a sibling: the network of a new gateway is not that of the others."""
    own = consumer.entities[0] if consumer.entities else consumer.entity
    if not own or consumed.location == "path" or consumed.key[0] == own:
        return False
    changes = _makes(consumed, consumer) or (consumer.action == "update" and bool(consumed.location))
    return changes and own in (producer.entity, *producer.entities[:1])


def _is_nested(consumed: ConsumedValue, consumer: ToolProfile) -> bool:
    """Whether an input is a field of another object (``lastModifiedBy.user.id``), of which requests rarely speak."""
    if consumed.key[1] == RESOURCE_NAME:
        return consumed.parameter.count(".") > 1
    parents = [words(part) for part in consumed.parameter.replace("[]", "").split(".")[:-1]]
    own = {*consumer.entities, consumer.entity}
    return any(" ".join((*parent[:-1], *map(noun_lemma, parent[-1:]))) not in own for parent in parents)


def _best_producers(
    consumed: ConsumedValue, consumer: ToolProfile, index: OutputIndex, factor: Callable[[_Match], float], least: float
) -> list[_Match]:
    """Return the nearest tools that produce a value, each with the best of its outputs, in the order of the index.
    ``factor``, in [0, 1], is what is known of a match beside keys, kinds and names."""
    if _is_own_new_value(consumed, consumer):
        return []
    name = consumed.parameter.rpartition(".")[2].lower()

    def rank(match: _Match) -> tuple[bool, bool, bool, float]:
        # The key of an object comes first, then one that stands in no other object, then one of the input's name.
        produced = match.produced
        own = produced.is_object or (produced.is_outer and produced.output.rpartition(".")[2].lower() == name)
        return match.kinds_agree, own, produced.is_outer, match.score

    found: dict[str, list[_Match]] = defaultdict(list)
    # A login is valid for its own application only.
    weight = 0.6 if consumed.key == AUTH_KEY and index.count.get(AUTH_KEY, 0) > 1 else 0.15
    for match in index.matches(consumed, consumer):
        score = consumed.confidence * match.produced.confidence * match.fit * factor(match)
        judged = match._replace(score=round(score * ((1 - weight) + weight * match.overlap), 4))
        # A weak tool of the collection is kept for now: it shows that tools of other collections are not the nearest.
        if judged.score >= least or (consumed.collection and match.producer.path == consumed.collection):
            found[match.producer.id].append(judged)
    best = [max(matches, key=rank) for matches in found.values()]
    return [match for match in _nearest(best, consumed, consumer) if match.score >= least]


def _nearest(matches: list[_Match], consumed: ConsumedValue, consumer: ToolProfile) -> list[_Match]:
    """Return the matches that are nearest to the consumer; values that are no identifiers are all kept. Tools about the
    entity come before tools that only refer to it. Of an item of a path, the tool of its collection comes first, then
    tools that need the same identifiers as the consumer: a group's events come from the list of a group's events."""
    entity, by_path = consumed.key[0], bool(consumed.location)
    original = [one for one in matches if not _is_sibling_reference(one.producer, consumed, consumer)]
    if not consumed.identifier or consumed.key == AUTH_KEY:
        return original if consumer.action == "create" else matches
    usable = [one for one in original if one.producer.action not in ("update", "delete")]
    outer = [one for one in usable if one.produced.is_object or one.produced.is_outer]
    pool = [one for one in outer if one.produced.is_object or _is_owner(one.producer, entity)]
    if not by_path and not any(one.producer.action in _MANY for one in pool):
        pool = usable  # a function says nothing of collections: what only refers to the entity may be all there is
    if not pool:
        return _references(usable, consumed, consumer) if by_path else []
    if by_path:
        pool = _of_same_kind(pool, consumed, consumer)
    home = [one for one in pool if consumed.collection and one.producer.path == consumed.collection]
    if "/" in consumed.collection and any(one.producer.action in _MANY for one in home):
        return home
    scopes = [one.producer.scope - {entity} for one in pool]
    most = max(len(scope & consumer.scope) for scope in scopes)
    if most:
        return [one for one, scope in zip(pool, scopes, strict=True) if len(scope & consumer.scope) == most]
    missing = [len(scope - consumer.scope) for scope in scopes]
    return [
        one
        for one, lacks in zip(pool, missing, strict=True)
        if lacks == min(missing) or one in home or (lacks <= 1 and (one.producer.action in _MANY or not by_path))
    ]


def _of_same_kind(pool: list[_Match], consumed: ConsumedValue, consumer: ToolProfile) -> list[_Match]:
    """Keep the tools about the consumer's own entity: a VPC attachment is none of ``DescribePeeringAttachments``."""
    exact = [one for one in pool if consumed.key[0] in _own_entities(one.producer)]
    if any(one.producer.action in _MANY for one in exact):
        pool = [one for one in pool if one in exact or one.produced.is_object]
    own = _own_entities(consumer)[:1]
    if not own or consumer.path or head_noun(own[0]) != head_noun(consumed.key[0]):
        return pool
    return [one for one in pool if _own_entities(one.producer)[:1] == own] or pool


def _references(matches: list[_Match], consumed: ConsumedValue, consumer: ToolProfile) -> list[_Match]:
    """The best tools that only refer to the entity, with a word of consumer or input: ``TaskHandle`` of ``ListTasks``."""
    if not consumed.required:
        return []
    named, own = words(consumed.parameter.rpartition(".")[2])[:-1], _own_entities(consumer)[:1]
    near = [
        one
        for one in matches
        if not set(one.producer.words).isdisjoint(named)
        or (consumed.location != "path" and one.overlap >= _REFERENCE_OVERLAP)
        or (consumed.location != "path" and _own_entities(one.producer)[:1] == own)
    ]
    return sorted(near, key=lambda one: (-one.score, one.producer.id))[:_MOST_REFERENCES]


def _edge(predicate: str, match: _Match, consumed: ConsumedValue, consumer: ToolProfile) -> DerivedEdge:
    """Return an edge with its confidence between the points of its calibration."""
    points, score = _CALIBRATION[predicate], match.score
    at = bisect_right(points, (score, 2.0))
    low, start = points[at - 1] if at else (0.0, 0.0)
    high, end = points[at] if at < len(points) else (1.0, min(start + _LAST_RISE, 1.0))
    entity, field = match.produced.key
    ends = match.producer.id, consumer.id
    source, target = ends if predicate == "supplies" else ends[::-1]
    return DerivedEdge(
        source=source,
        predicate=predicate,
        target=target,
        parameter=consumed.parameter,
        output=match.produced.output,
        entity="" if entity == TYPED_RESOURCE else entity,
        field=field,
        confidence=round(start + (end - start) * (score - low) / (high - low), 4) if high > low else end,
        score=score,
    )


def derive_rp_edges(
    profiles: Sequence[ToolProfile], index: OutputIndex, *, for_paths: bool = False
) -> Iterator[DerivedEdge]:
    """Yield the ``supplies`` edges of a catalogue in the order of tools and inputs, the best suppliers first.

    Required inputs and optional identifiers are linked; optional nested fields are not.

    :param for_paths: for paths through the graph, which need any supplier of an input and not the best few: of several logins only those
        with the names most similar to the consumer's are linked, and a bare type (``image``) joins no tools of different groups.
    """
    for consumer in profiles:
        for consumed in consumer.consumes:
            wanted = consumed.required or (consumed.identifier and not _is_nested(consumed, consumer))
            if wanted and not consumed.context:
                for match in _suppliers(consumed, consumer, index, for_paths=for_paths):
                    yield _edge("supplies", match, consumed, consumer)


def _suppliers(
    consumed: ConsumedValue, consumer: ToolProfile, index: OutputIndex, *, for_paths: bool
) -> Sequence[_Match]:
    specificity = _specificity(consumed, index)
    if not specificity:
        return ()
    grouped = for_paths and consumed.key[0] == TYPED_RESOURCE
    most, least = (_MOST_SUPPLIERS_OF_PATHS, _LEAST_OF_PATHS) if for_paths else (MOST_SUPPLIERS, _LEAST)

    def factor(match: _Match) -> float:
        return 0.0 if grouped and match.other_group else specificity

    found = _best_producers(consumed, consumer, index, factor, least)
    if for_paths and consumed.key == AUTH_KEY:
        found = [one for one in found if one.same_system] or found
        nearest = max((one.overlap for one in found), default=0.0)
        found = [one for one in found if len(found) == 1 or one.overlap >= nearest > 0]
    found.sort(key=lambda one: (not one.same_system, -one.score, one.producer.id))
    return found[:most]


def _specificity(consumed: ConsumedValue, index: OutputIndex) -> float:
    """Return a factor in [0, 1], higher for a key with fewer producers; 0 for too many producers, where an edge would be arbitrary."""
    entity, field = consumed.key
    if consumed.identifier or consumed.key == AUTH_KEY:
        return 1.0
    if entity == TYPED_RESOURCE:
        return 0.5 + 0.5 * index.specificity(consumed.key)
    # A plain value of an HTTP request must pick something out (a handle), and be no measure, time or part of a record. Found on
    # Microsoft Graph and EC2, where records of one kind share most of their fields.
    picks = consumed.required and type_family(consumed.type) in ("string", "array") and head_noun(field) in _PICKS
    most = max(_MAX_PRODUCERS, _MAX_SHARE * index.tools if " " in field else 0)
    if (consumed.location and not picks) or index.count.get(consumed.key, 0) > most:
        return 0.0
    return 0.4 + 0.6 * index.specificity(consumed.key)


def derive_resolver_edges(profiles: Sequence[ToolProfile], index: OutputIndex) -> Iterator[DerivedEdge]:
    """Yield the ``resolved_by`` edges of a catalogue in the order of tools and inputs, the best resolvers first."""
    for consumer in profiles:
        for consumed in consumer.consumes:
            # A request rarely refers to an optional nested field (lastModifiedBy.user.id).
            optional = consumed.confidence >= _OPTIONAL_FROM and not _is_nested(consumed, consumer)
            if consumed.identifier and not consumed.context and (consumed.required or optional):
                for match in _resolvers(consumed, consumer, index):
                    yield _edge("resolved_by", match, consumed, consumer)


def _resolvers(consumed: ConsumedValue, consumer: ToolProfile, index: OutputIndex) -> Sequence[_Match]:
    def factor(match: _Match) -> float:
        strength = _strength(match.producer, consumed.key, consumer, listed="[]" in match.produced.output)
        return strength * match.produced.relevance if strength >= _MIN_STRENGTH else 0.0

    found = _best_producers(consumed, consumer, index, factor, _MIN_RESOLVER)
    return sorted(found, key=lambda one: (-one.score, one.producer.id))[:_MAX_RESOLVERS]


def _strength(profile: ToolProfile, key: Key, consumer: ToolProfile, *, listed: bool) -> float:
    """How well a tool resolves words to an entity, in [0, 1]; a "get" that returns it in a list counts as a list."""
    if key in profile.needed_keys:
        return 0.0
    required = [value for value in profile.consumes if value.identifier and value.required and not value.context]
    identifiers = [value for value in required if value.key[0] not in consumer.scope]
    # A resolver that needs other identifiers first cannot be called with words alone; a name is words.
    reach = 0.5 ** min(sum(value.key[1] != "name" for value in identifiers), 2)
    if profile.action == "search":
        return reach * (0.7 + 0.3 * profile.free_text if profile.free_text else _WITHOUT_TEXT)
    if profile.is_self:  # "get my profile" knows who the caller is
        return _OF_CALLER if head_noun(key[0]) in PEOPLE or key[0] == ANY_PERSON else 0.0
    if profile.action in ("list", "get"):
        if profile.free_text:
            return reach * (0.55 + 0.3 * profile.free_text)
        return _WITHOUT_TEXT * reach if (listed or profile.action == "list") and not identifiers else 0.0
    return 0.0


class Links(NamedTuple):
    """The derived edges of a catalogue, and the context parameters: a map from tool id to their names."""

    edges: list[DerivedEdge]
    context: Mapping[str, tuple[str, ...]]


def derive_links(tools: Sequence[Tool], ontology: Ontology, declared: DeclaredLinks = NO_LINKS) -> Links:
    """Return the edges of a catalogue and its context parameters: the ``supplies`` edges, then ``resolved_by``, then ``depends_on``.

    A ``depends_on`` edge goes from each tool that requires a session to the only tool that opens it. Time and memory grow linearly with
    the number of parameters, not with the number of tool pairs.

    :param declared: what the owner of the catalogue declares beside its documents.
    """
    profiles = profile_tools(tools, ontology, declared)
    index = OutputIndex(profiles)
    edges = list(derive_rp_edges(profiles, index))
    by_input: dict[tuple[str, str], list[DerivedEdge]] = defaultdict(list)
    for edge in edges:
        if (edge.entity, edge.field) == AUTH_KEY:
            by_input[edge.target, edge.parameter].append(edge)
    edges += derive_resolver_edges(profiles, index)
    for tool in tools:
        for parameter in tool.parameters:
            logins = by_input.get((tool.id, parameter.name), [])
            if parameter.required and len({edge.source for edge in logins}) == 1:
                edge = min(logins, key=lambda login: login.output)
                edge = replace(edge, source=edge.target, target=edge.source)
                edges.append(replace(edge, predicate="depends_on", confidence=_SIGN_IN))
    return Links(edges, {profile.id: profile.context for profile in profiles if profile.context})
