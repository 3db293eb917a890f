"""The values that a tool produces: its documented outputs, and values inferred from its name where outputs are missing."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from ingest.linking.identifiers import (
    CONTAINER_NAMES,
    GENERIC_NAMES,
    RESOURCE_NAME,
    Identifier,
    split_identifier,
    type_family,
)
from ingest.linking.tool_draft import AUTH_NAMES, ID_FIELDS, KnownEntities, ToolDraft, is_resource
from ingest.linking.tool_inputs import (
    ANY_PERSON,
    KIND_WORDS,
    PEOPLE,
    PERSON_KINDS,
    QUALIFIERS,
    free_text_score,
    naming_field,
)
from ingest.linking.tool_subjects import local_name
from ingest.linking.tool_values import (
    AUTH_KEY,
    PLAIN_VALUE,
    TYPED_RESOURCE,
    ConsumedValue,
    Key,
    ProducedValue,
    kinds_of,
)
from ingest.word_lists import word_list, word_sets
from ontology.names import words
from ontology.tool import Parameter

__all__ = ["ConsumedKeys", "ObjectShapes", "learn_shapes", "produced_values"]

_A_KIND_OF = 0.92
_REFERS_TO = 0.75
_KEY_ORDER = (
    "uid",
    "uuid",
    "sid",
    "key",
    "slug",
    "sku",
    "handle",
    "number",
    "code",
    "login",
    "username",
    "name",
    "title",
)
_PRIMARY = {"name": 0.5, "title": 0.35}
_PRIMARY_CONFIDENCE = 0.65
_NAMING_FIELDS = word_list("linking", "naming_fields")
_PATH_NAMES = frozenset(("name", "resource name"))
_OPERATION = tuple(word_sets("linking", "operation_fields"))
_MANY = frozenset(("value", "result", "*"))
_READS = frozenset(("search", "list", "get"))


def relevance_of(draft: ToolDraft, entity: str) -> float:
    """Return the relevance of an entity for a tool, in [0, 1]; 1 for every result of a search without an own entity."""
    subject = draft.reader.subject
    if subject.entity == entity or (subject.action == "search" and not draft.entity):
        return 1.0
    return _A_KIND_OF if draft.entity == entity else _REFERS_TO


def object_entity(draft: ToolDraft, prefix: str) -> str:
    """Return the entity of the object at a prefix of an output: by its innermost name that is no container, else the tool's."""
    for segment in reversed(prefix.replace("[]", "").split(".") if prefix else []):
        name = draft.reader.names.canonical(segment)
        if name and name not in CONTAINER_NAMES:
            return name
    return "" if is_operation(draft) else draft.entity


def is_outer(draft: ToolDraft, prefix: str) -> bool:
    """Whether the object at a prefix stands in no other object but containers: not the user in ``value[].createdBy.user``."""
    names = [draft.reader.names.canonical(segment) for segment in prefix.replace("[]", "").split(".") if segment]
    return sum(name not in CONTAINER_NAMES and name not in _MANY for name in names) <= 1


def is_embedded(draft: ToolDraft, prefix: str) -> bool:
    """Whether the object at a prefix is a part of an object with an id of its own: the customer in ``data[].customer``.

    A list in the one object that a tool returns is not: the tracks of a playlist are listed by it. Found on the development half of
    the true dependencies of examples/real.
    """
    parent, _, last = prefix.rpartition(".")
    while parent and draft.reader.names.canonical(parent.rpartition(".")[2]) in CONTAINER_NAMES and "[]" not in parent:
        parent = parent.rpartition(".")[0]
    if not last or (last.endswith("[]") and "[]" not in parent):
        return False
    start = f"{parent}." if parent else ""
    own = any(f"{start}{field}" in draft.output_names for field in ID_FIELDS)
    return own and draft.reader.names.canonical(last) not in CONTAINER_NAMES


def is_operation(draft: ToolDraft) -> bool:
    """Whether a tool returns not its entity but an operation that is still running; found on Compute Engine and IAM (Google)."""
    return any(fields <= draft.lower_output_names for fields in _OPERATION)


def other_values(draft: ToolDraft, output: Parameter, known: KnownEntities) -> Iterator[ProducedValue]:
    """Yield the values of an output beside its identifier: a name, a resource name, an address of a person."""
    if type_family(output.type) not in ("string", "integer", "array", ""):
        return
    prefix, _, last = output.name.rpartition(".")
    name = draft.reader.names.canonical(last)
    entity = object_entity(draft, prefix)
    if entity and name in _PATH_NAMES:
        yield _value(draft, output, (entity, RESOURCE_NAME), 0.8, entity)
        if (
            entity.endswith(f" {draft.entity}") and prefix.count(".") == 0
        ):  # workforcePoolProviderKeys[].name of keys.list
            yield _value(draft, output, (draft.entity, RESOURCE_NAME), 0.8, draft.entity)
    tokens = name.split()
    if tokens and tokens[-1] in _NAMING_FIELDS:
        owner = " ".join(tokens[:-1]) or entity
        confidence = 0.8 if len(tokens) > 1 else 0.65
        yield _value(draft, output, (owner, naming_field(tokens[-1])), confidence, owner)
    kinds = kinds_of(output)
    if draft.reader.subject.action in _READS and (kind := next((one for one in PERSON_KINDS if one in kinds), "")):
        yield from _addresses(draft, output, kind, tokens, entity)


def _addresses(
    draft: ToolDraft, output: Parameter, kind: str, tokens: list[str], entity: str
) -> Iterator[ProducedValue]:
    """Yield the addresses of a person; one below the object's own fields is that of somebody else."""
    while tokens and tokens[-1] in KIND_WORDS:
        tokens = tokens[:-1]
    owner = " ".join(tokens) or entity
    if owner and owner.split()[-1] in PEOPLE:
        own = draft.entity.split()[-1:] == owner.split()[-1:]
        yield _value(draft, output, (owner, kind), 0.7, owner)
        if own:
            yield _value(draft, output, (ANY_PERSON, kind), 0.6, draft.entity)
    elif draft.entity.split()[-1:] and draft.entity.split()[-1] in KIND_WORDS:  # "find email address" finds a value
        yield _value(draft, output, (ANY_PERSON, kind), 0.7, draft.entity)


def primary_values(draft: ToolDraft, known: KnownEntities) -> Iterator[ProducedValue]:
    """Yield, for each object without an id, its key as the identifier of the object's entity: ``[].slug`` of a team."""
    objects: dict[str, dict[str, Parameter]] = {}
    for output, _ in draft.outputs:
        prefix, _, last = output.name.rpartition(".")
        if type_family(output.type) in ("string", "integer", ""):
            objects.setdefault(prefix, {})[draft.reader.names.canonical(last)] = output
    for prefix, fields in objects.items():
        entity = object_entity(draft, prefix)
        if not entity or entity not in known.entities or prefix.count(".") > 2:
            continue
        named = {_without(name, entity): output for name, output in fields.items()}
        if not ID_FIELDS.isdisjoint(named):
            continue
        word = next((word for word in _KEY_ORDER if word in named), "")
        if word and not (word in ("name", "title") and not _is_own(draft, entity)):
            confidence = _PRIMARY.get(word, _PRIMARY_CONFIDENCE)
            yield _value(draft, named[word], (entity, "id"), confidence, entity)


def _without(name: str, entity: str) -> str:
    """Return the name of a field without its object's: key for ``registrant key`` of a registrant."""
    return name.removeprefix(f"{entity} ") if name != entity else "id"


def _is_own(draft: ToolDraft, entity: str) -> bool:
    return entity == draft.entity or draft.entity.endswith(f" {entity}")


def _value(draft: ToolDraft, output: Parameter, key: Key, confidence: float, entity: str) -> ProducedValue:
    return ProducedValue(
        output=output.name,
        type=output.type,
        key=key,
        confidence=confidence,
        relevance=relevance_of(draft, entity),
        kinds=kinds_of(output),
    )


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


_LOGIN = word_list("linking", "login_words")
_TYPE_NOISE = word_list("linking", "type_noise")
_TYPE_WORDS = re.compile(r"[A-Z][A-Za-z0-9]+|[a-z_]+")
_FIELD_OR_ITEM = re.compile(r"[.\[]")
_INFERRED_CONFIDENCE = {"search": 0.6, "list": 0.55, "get": 0.45, "create": 0.4}
_CREATED = 0.55  # of an HTTP request: its answer nearly always has the id of what is new


class ConsumedKeys:
    """The keys that some tool consumes; produced values with other keys give no edges and are left out."""

    def __init__(self, values: Iterable[ConsumedValue]) -> None:
        consumed = sorted({(value.key, value.identifier) for value in values})
        self._keys = {key for key, _ in consumed}
        self._fields: dict[str, list[str]] = {}
        self._heads: set[Key] = set()
        for (entity, field), identifier in consumed:
            if identifier:
                self._fields.setdefault(entity, []).append(field)
                self._heads.add((_head(entity), field))

    def __contains__(self, key: Key) -> bool:
        return (
            key in self._keys or key in self._heads or (_head(key[0]), key[1]) in self._keys or key[0] in self._fields
        )

    def fields(self, entity: str) -> Sequence[str]:
        """Return the identifier fields of the entity that tools consume; ``id`` where there are none."""
        return self._fields.get(entity, ("id",))


def learn_shapes(shapes: ObjectShapes, draft: ToolDraft, known: KnownEntities) -> None:
    """Record the fields of the objects in the outputs whose entity is certain."""
    for output, found in draft.outputs:
        prefix, _, last = output.name.rpartition(".")
        if found is None or last not in ID_FIELDS or "echo" in found.evidence:
            continue
        owner = draft.entity if "tool" in found.evidence else found.entity
        if owner in known.entities:
            shapes.learn(draft.system, owner, draft.output_fields.get(prefix, ()))


def produced_values(
    draft: ToolDraft, known: KnownEntities, shapes: ObjectShapes, consumed: ConsumedKeys
) -> tuple[ProducedValue, ...]:
    """Return the produced values that some tool consumes, for each output and key the one with the highest confidence."""
    own = {value.key for value in draft.consumes if value.identifier and (value.required or value.location == "path")}
    documented = [value for value in _documented(draft, known, shapes, own) if value.key in consumed]
    has_own_entity = any(value.key[0] == draft.entity for value in documented)
    best: dict[tuple[Key, str], ProducedValue] = {}
    primary = primary_values(draft, known)
    for value in (*documented, *primary, *_inferred(draft, known, consumed, own, entity_missing=not has_own_entity)):
        previous = best.get((value.key, value.output))
        if value.key in consumed and (previous is None or previous.confidence < value.confidence):
            best[value.key, value.output] = value
    # The outermost first: the id of an object before the same id in a nested object.
    placed = (replace(value, is_outer=_is_outer(draft, value.output)) for value in best.values())
    return tuple(sorted(placed, key=lambda value: value.output.count(".")))


def _is_outer(draft: ToolDraft, output: str) -> bool:
    prefix = output.rpartition(".")[0]
    return is_outer(draft, prefix) and not is_embedded(draft, prefix)


def _head(entity: str) -> str:
    return entity.rsplit(" ", 1)[-1]


def _documented(
    draft: ToolDraft, known: KnownEntities, shapes: ObjectShapes, own: Collection[Key]
) -> Iterator[ProducedValue]:
    owners: dict[str, Owner] = {}
    action = draft.reader.subject.action
    lists = action in ("list", "search") and any(
        output.name.endswith("]") or "[]" in output.name for output, _ in draft.outputs
    )
    for output, found in draft.outputs:
        if is_resource(output):
            yield _produced(output, (TYPED_RESOURCE, output.type.lower()), 0.8)
        prefix, _, last = output.name.rpartition(".")
        yield from other_values(draft, output, known)
        if found is None:
            yield from _plain(draft, output, known, own)
            continue
        if found.evidence == ("description",):
            yield from _plain(draft, output, known, own)
        owner = Owner(found.entity, found.confidence)
        if not prefix and is_operation(draft) and "name" not in found.evidence:
            continue
        if not prefix and lists and found.evidence == ("tool",):
            continue  # the id of a list is not that of an item
        if last in ID_FIELDS and "name" not in found.evidence:
            if prefix not in owners:
                owners[prefix] = _owner(draft, prefix, found, known, shapes)
            owner = owners[prefix]
        # A value that the request contains is an echo, unless it is in a list.
        key = (owner.entity, found.field)
        if owner.entity and ("[]" in prefix or key not in own):
            bare = last in ID_FIELDS and "name" not in found.evidence and is_outer(draft, prefix)
            bare = bare and not is_embedded(draft, prefix)
            value = _produced(output, key, owner.confidence, relevance=relevance_of(draft, owner.entity))
            yield replace(value, is_object=True) if bare else value


def _plain(draft: ToolDraft, output: Parameter, known: KnownEntities, own: Collection[Key]) -> Iterator[ProducedValue]:
    """Yield the values of an output that is no identifier."""
    family = type_family(output.type)
    if family == "boolean":
        return
    for entity in _type_entities(draft, output, known):
        if (entity, "id") not in own:
            yield _produced(output, (entity, "id"), 0.65, relevance=relevance_of(draft, entity))
    name = draft.reader.names.canonical(output.name.rsplit(".", 1)[-1])
    listed = "[]" in output.name
    if name in AUTH_NAMES:
        yield _produced(output, AUTH_KEY, 0.9)
    elif known.is_key(draft.system, name) and family in ("string", "integer"):
        if listed or (name, "id") not in own:
            yield _produced(output, (name, "id"), 0.65, relevance=relevance_of(draft, name))
    elif name and name not in GENERIC_NAMES and name not in CONTAINER_NAMES:
        yield _produced(output, (PLAIN_VALUE, name), 0.8)
        if name in known.entities and family in ("string", "integer") and (listed or (name, "id") not in own):
            yield _produced(output, (name, "id"), 0.6, relevance=relevance_of(draft, name))
    elif name and draft.entity:
        yield _produced(output, (PLAIN_VALUE, f"{draft.entity} {name}"), 0.7)


def _owner(draft: ToolDraft, prefix: str, found: Identifier, known: KnownEntities, shapes: ObjectShapes) -> Owner:
    """Return the entity of the ``id`` of the object at ``prefix``: by its parent or tool, else by the other fields of the object."""
    named = draft.entity if "tool" in found.evidence else found.entity
    said = "description" in found.evidence
    similar = (
        None if said or named in known.entities else shapes.match(draft.system, draft.output_fields.get(prefix, ()))
    )
    return similar or Owner(named, found.confidence)


def _type_entities(draft: ToolDraft, output: Parameter, known: KnownEntities) -> Iterator[str]:
    """Yield the known entities in the type of an output: order for ``list[Order]``."""
    if type_family(output.type) not in ("", "array", "object") or not any(char.isupper() for char in output.type):
        return
    for word in _TYPE_WORDS.findall(output.type):
        name = draft.reader.names.canonical(word)
        if word.lower() not in _TYPE_NOISE and name in known.entities:
            yield name


def _inferred(
    draft: ToolDraft, known: KnownEntities, consumed: ConsumedKeys, own: Collection[Key], *, entity_missing: bool
) -> Iterator[ProducedValue]:
    """Yield the values inferred from the name of a tool.

    :param entity_missing: whether its documented outputs do not contain its own entity.
    """
    subject, tool = draft.reader.subject, draft.tool
    tokens = set(words(local_name(tool)))
    if tokens & _LOGIN or {"log", "in"} <= tokens or {"sign", "in"} <= tokens:
        yield ProducedValue(output="", type="string", key=AUTH_KEY, confidence=0.7)
    if subject.action not in _INFERRED_CONFIDENCE:
        return
    name = next(iter(subject.entities), "")
    identified, field = split_identifier(name, draft.reader.names)
    if identified and (identified, field) not in own and subject.action != "create":
        yield ProducedValue(output="", type="string", key=(identified, field), confidence=0.85)
        return
    about = (name == draft.entity or name.endswith(f" {draft.entity}")) if name else True
    if (
        about
        and entity_missing
        and not is_operation(draft)
        and _is_incomplete(draft)
        and draft.entity in known.entities
    ):
        confidence = _INFERRED_CONFIDENCE[subject.action]
        if subject.action == "create" and draft.reader.steps:
            confidence = _CREATED
        if subject.action == "get" and free_text_score(draft):
            confidence = 0.6  # "get customer by phone": the input is text, the output is the customer
        for field in consumed.fields(draft.entity):
            if (draft.entity, field) not in own:
                key = (draft.entity, field)
                yield ProducedValue(
                    output="", type="", key=key, confidence=confidence, relevance=relevance_of(draft, draft.entity)
                )
    gets = subject.action == "get" or (subject.action == "list" and words(local_name(tool))[:1] == ["get"])
    if gets and not tool.returns and name:
        value = [token for token in name.split() if token not in QUALIFIERS]
        yield ProducedValue(output="", type="", key=(PLAIN_VALUE, " ".join(value)), confidence=0.7)


def _is_incomplete(draft: ToolDraft) -> bool:
    """Whether the documented outputs may be incomplete: none, cut, or an object or list without its fields."""
    if not draft.outputs or "cut" in draft.tool.metadata:
        return True
    opaque = {output.name for output, _ in draft.outputs if type_family(output.type) in ("array", "object")}
    owners = {name[: mark.start()] for name in draft.output_names for mark in _FIELD_OR_ITEM.finditer(name)}
    return not opaque <= owners


def _produced(output: Parameter, key: Key, confidence: float, *, relevance: float = 1.0) -> ProducedValue:
    return ProducedValue(
        output=output.name,
        type=output.type,
        key=key,
        confidence=confidence,
        relevance=relevance,
        kinds=kinds_of(output),
    )
