"""The values that a tool produces: its documented outputs, and values inferred from its name where outputs are missing."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from ingest.linking.identifiers import CONTAINER_NAMES, GENERIC_NAMES, Identifier, split_identifier
from ingest.linking.object_keys import is_embedded, is_operation, is_outer, other_values, primary_values, relevance_of
from ingest.linking.object_shapes import ObjectShapes, Owner
from ingest.linking.tool_draft import AUTH_NAMES, ID_FIELDS, KnownEntities, ToolDraft, is_resource
from ingest.linking.tool_inputs import QUALIFIERS, free_text_score
from ingest.linking.tool_subjects import local_name
from ingest.linking.tool_values import AUTH_KEY, PLAIN_VALUE, TYPED_RESOURCE, ConsumedValue, Key, ProducedValue
from ingest.linking.type_families import type_family
from ingest.linking.value_kinds import kinds_of
from ingest.word_lists import word_list
from ontology.names import words
from ontology.tool import Parameter

__all__ = ["ConsumedKeys", "learn_shapes", "produced_values"]

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
