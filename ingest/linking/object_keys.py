"""Values by which an object in an output is identified when no field of it is called *id*: its key, slug, name, path or address.

Which field is the key of an object is decided by its place: the object's own fields in the order of :data:`_KEY_ORDER`, and only where
the object has no id. Found on IAM and Lambda (AWS), Compute Engine, Classroom, Kubernetes and the development half of the true
dependencies of examples/real.
"""

from __future__ import annotations

from collections.abc import Iterator

from ingest.linking.identifiers import CONTAINER_NAMES
from ingest.linking.resource_names import RESOURCE_NAME
from ingest.linking.tool_draft import ID_FIELDS, KnownEntities, ToolDraft
from ingest.linking.tool_inputs import ANY_PERSON, KIND_WORDS, PEOPLE, PERSON_KINDS, naming_field
from ingest.linking.tool_values import Key, ProducedValue
from ingest.linking.type_families import type_family
from ingest.linking.value_kinds import kinds_of
from ingest.word_lists import word_list, word_sets
from ontology.tool import Parameter

__all__ = ["is_embedded", "is_operation", "is_outer", "object_entity", "other_values", "primary_values", "relevance_of"]

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
