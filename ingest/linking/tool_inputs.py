"""The values that a tool consumes, and how well its inputs accept free text."""

from __future__ import annotations

import re

from ingest.linking.collection_paths import collection_path
from ingest.linking.identifiers import GENERIC_NAMES
from ingest.linking.tool_draft import AUTH_NAMES, BARE_IDENTIFIERS, KnownEntities, Slot, ToolDraft, is_resource
from ingest.linking.tool_values import AUTH_KEY, PLAIN_VALUE, TYPED_RESOURCE, ConsumedValue, Key
from ingest.linking.type_families import type_family
from ingest.linking.value_kinds import Kinds, kinds_of
from ingest.word_lists import word_list, word_patterns
from ontology.names import words
from ontology.tool import Parameter

__all__ = [
    "ANY_PERSON",
    "KIND_WORDS",
    "PEOPLE",
    "PERSON_KINDS",
    "QUALIFIERS",
    "consumed_values",
    "free_text_score",
    "naming_field",
]

QUALIFIERS = word_list("linking", "qualifiers")
"""Modifiers that do not change the meaning of a value's name: ``current_location`` is a location."""
_QUERY = word_list("linking", "query_inputs")
_NOT_TEXT = word_list("linking", "not_text")
_NAMING = word_list("linking", "naming_inputs")
_NAMING_FIELDS = word_list("linking", "naming_fields")
_NEW = re.compile("|".join(word_patterns("linking", "new_values")))
PEOPLE = word_list("linking", "people")
PERSON_KINDS = ("email", "phone")
"""Kinds of value by which a person is reached."""
KIND_WORDS = frozenset(("email", "mail", "address", "phone", "telephone", "mobile", "number", "emailaddress"))
ANY_PERSON = "person in a role"
"""The entity in the key of an address of a person in a role (participant), who may be of any entity (user, contact)."""


def consumed_values(draft: ToolDraft, known: KnownEntities) -> tuple[ConsumedValue, ...]:
    """Return the values that a tool consumes, in the order of its inputs; inputs with generic names are left out."""
    found: dict[str, ConsumedValue] = {}
    for slot in draft.inputs:
        value = _consumed(draft, slot, known)
        if value is not None:
            # One name may be in the query and in the body; an edge does not distinguish the two.
            previous = found.get(value.parameter)
            if previous is None or (previous.required, previous.confidence) < (value.required, value.confidence):
                found[value.parameter] = value
    return tuple(found.values())


def free_text_score(draft: ToolDraft) -> float:
    """Return how well the inputs accept free text, in [0, 1]: 1 for a query, 0.8 for a name, 0.6 for other required text."""
    return max((_text_score(slot.parameter) for slot in draft.inputs if slot.identifier is None), default=0.0)


def _consumed(draft: ToolDraft, slot: Slot, known: KnownEntities) -> ConsumedValue | None:
    parameter, found = slot
    tokens = draft.reader.names.canonical(parameter.name.rsplit(".", 1)[-1]).split()
    while len(tokens) > 1 and tokens[0] in QUALIFIERS:
        tokens = tokens[1:]
    name = " ".join(tokens)
    family = type_family(parameter.type)
    kinds = kinds_of(parameter)
    key, confidence, identifier = (PLAIN_VALUE, name), 0.7, False
    said_only = found is not None and found.evidence == ("description",)
    if name in AUTH_NAMES:
        key, confidence = AUTH_KEY, 0.8
    elif said_only and (named := _named_entity(parameter, tokens, known, draft)):
        key, confidence, identifier = named, 0.7, True
    elif found is not None:
        # The tool's entity uses the whole catalogue, so it is more reliable than the identifier's name.
        entity = draft.entity if found.evidence == ("tool",) and name in BARE_IDENTIFIERS else found.entity
        key, confidence, identifier = (entity, found.field), found.confidence, True
    elif is_resource(parameter):
        key, confidence = (TYPED_RESOURCE, parameter.type.lower()), 0.8
    elif parameter.required and family in ("string", "integer") and known.is_key(draft.system, name):
        # "SalesOrder" as an input of an item's tools is the key of another object, with the object's name.
        key, confidence, identifier = (name, "id"), 0.65, True
    elif person_key := _person_key(parameter, tokens, kinds, known, draft):
        key, confidence, identifier = person_key, 0.6, True
    elif named := _named_entity(parameter, tokens, known, draft):
        key, confidence, identifier = named, 0.7, True
    elif _is_entity(parameter, name, kinds, known, draft):
        key, confidence, identifier = (name, "id"), 0.6, True
    elif not name or name in GENERIC_NAMES or parameter.enum or family == "boolean":
        return None
    return ConsumedValue(
        parameter=parameter.name,
        type=parameter.type,
        key=key,
        confidence=confidence,
        required=is_required(parameter),
        identifier=identifier,
        location=parameter.location,
        kinds=kinds,
        context=parameter.name in draft.context,
        is_new=identifier and bool(_NEW.search(parameter.description[:200].lower())),
        collection=_collection(draft, parameter, key[0]) if identifier else "",
    )


def _collection(draft: ToolDraft, parameter: Parameter, entity: str) -> str:
    """Return the path of the collection that an input is an item of; a part of a key may be the key of another collection."""
    path = collection_path(draft.tool, parameter)
    step = next((step for step in draft.reader.steps if step.placeholder and step.text == parameter.name), None)
    other = (
        step is not None and sum(one.collection == step.collection for one in draft.reader.steps if one.placeholder) > 1
    )
    if step is not None and other and step.collection.rsplit(" ", 1)[-1] != entity.rsplit(" ", 1)[-1]:
        return ""
    return path


def is_required(parameter: Parameter) -> bool:
    """Whether an input is required, by the schema or, as in Google's discovery documents, by its description."""
    said = "." not in parameter.name and parameter.description.startswith(("Required.", "Required:"))
    return parameter.required or said


def _named_entity(parameter: Parameter, tokens: list[str], known: KnownEntities, draft: ToolDraft) -> Key | None:
    """Return the entity that a required input names: user, name for ``UserName`` where the catalogue lists users; else None."""
    if not parameter.required or len(tokens) < 2 or tokens[-1] not in _NAMING_FIELDS or parameter.enum:
        return None
    entity = " ".join(tokens[:-1])
    return (entity, naming_field(tokens[-1])) if entity in known.subjects.get(draft.system, ()) else None


def _is_entity(parameter: Parameter, name: str, kinds: Kinds, known: KnownEntities, draft: ToolDraft) -> bool:
    """Whether an input has the name of an entity that the system lists: ``charge`` of a refund, ``tasks``.

    Found on the development half of the true dependencies of examples/real.
    """
    if not name or name in GENERIC_NAMES or parameter.enum or "." in parameter.name:
        return False
    if type_family(parameter.type) not in ("string", "integer", "array") or kinds & {"date", "url", "email", "phone"}:
        return False
    if parameter.name in draft.objects:
        return False
    http = isinstance(draft.tool.metadata.get("path"), str)
    return http and name in known.subjects.get(draft.system, ()) and parameter.location in ("path", "body", "")


def _person_key(
    parameter: Parameter, tokens: list[str], kinds: Kinds, known: KnownEntities, draft: ToolDraft
) -> Key | None:
    """Return the e-mail address or phone number of a person in a role: ``participant_email``, ``recipient``; else None."""
    kind = next((kind for kind in PERSON_KINDS if kind in kinds), "")
    if not kind or not parameter.required or parameter.enum:
        return None
    role = tokens
    while len(role) and role[-1] in KIND_WORDS:
        role = role[:-1]
    if draft.reader.subject.action == "create" and (not role or role[-1] in PEOPLE):
        return None  # the address of the person who is new
    if not role and "address of" not in parameter.description.lower():
        return None
    entity = role[-1] if role and role[-1] in known.subjects.get(draft.system, ()) else ANY_PERSON
    return entity, kind


def naming_field(word: str) -> str:
    """Return the field that a last word of ``naming_fields`` stands for: ``name`` for username and login."""
    return "name" if word in ("username", "login") else word


def _text_score(parameter: Parameter) -> float:
    if parameter.enum or type_family(parameter.type) not in ("string", "", "array"):
        return 0.0
    tokens = words(parameter.name.rsplit(".", 1)[-1])
    if not tokens or tokens[-1] in ("id", "ids"):
        return 0.0
    if tokens[0] in _QUERY and tokens[0] != "filters" and (len(tokens) == 1 or tokens[-1] not in _NOT_TEXT):
        return 1.0
    if tokens[-1] in _NAMING or tokens[-1] in _QUERY:
        return 0.8
    return 0.6 if parameter.required else 0.0
