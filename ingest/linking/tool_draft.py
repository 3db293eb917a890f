"""Drafts of tool profiles, built before the entities of the catalogue are known, and these entities.

The document of one tool helps to interpret another: the input ``movie_id`` of one tool makes *movie* an entity, so
``results[].id`` of ``/movie/popular`` is the id of a movie.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from ingest.linking.identifiers import GENERIC_NAMES, Identifier, IdentifierReader, type_family
from ingest.linking.tool_values import ConsumedValue
from ontology.ontology import Ontology
from ontology.tool import Parameter, Tool
from ontology.tool_graph import Synonym, Synonyms, preferred_name

__all__ = [
    "AUTH_NAMES",
    "BARE_IDENTIFIERS",
    "ID_FIELDS",
    "KnownEntities",
    "Slot",
    "ToolDraft",
    "draft_tool",
    "is_resource",
]

AUTH_NAMES = frozenset(
    [
        "token",
        "session",
        "session id",
        "access token",
        "auth token",
        "session token",
        "authentication token",
        "user token",
    ]
)
BARE_IDENTIFIERS = frozenset(("id", "uuid", "guid", "identifier"))
"""Canonical names of identifiers without an entity."""
ID_FIELDS = frozenset(("id", "uuid", "_id", "Id", "ID"))
_READS = frozenset(("search", "list", "get"))
_GENERIC_SLOT = re.compile(r"^(?:input|output|in|out|result|arg|data|value|file|source|return)?[_ ]?\d*$")


class Slot(NamedTuple):
    """An input or an output, and the entity that it identifies, or None."""

    parameter: Parameter
    identifier: Identifier | None


@dataclass(slots=True, kw_only=True)
class ToolDraft:
    """The draft of a tool's profile.

    :param objects: names of the inputs whose fields are inputs too: objects and lists of objects.
    :param output_names: the names of its outputs, and in lower case ``lower_output_names``.
    :param output_fields: map from prefix to the fields of the object there, in order: ``data[]`` → id, name. These are here because each of
        thousands of outputs is compared with them.
    :param entity: the tool's entity; empty until the entities of the catalogue are known.
    :param context: names of its context parameters; empty until those of the namespace are known.
    """

    reader: IdentifierReader
    system: str
    inputs: list[Slot]
    outputs: list[Slot]
    objects: frozenset[str]
    output_names: frozenset[str]
    lower_output_names: frozenset[str]
    output_fields: Mapping[str, Sequence[str]]
    entity: str = ""
    context: tuple[str, ...] = ()
    consumes: tuple[ConsumedValue, ...] = ()

    @property
    def tool(self) -> Tool:
        """The tool itself."""
        return self.reader.tool


@dataclass(frozen=True, slots=True)
class KnownEntities:
    """The entities that a catalogue has identifiers of.

    :param entities: map from entity to the number of tools with an input that identifies it.
    :param keys: map from system to the entities whose key has the entity's name (``PurchaseOrder`` of a purchase order).
    :param subjects: map from system to the entities that its tools find, list or get.
    :param of_system: map from system to the entities that its own tools identify.
    """

    entities: Counter[str]
    keys: Mapping[str, frozenset[str]]
    subjects: Mapping[str, frozenset[str]]
    of_system: Mapping[str, frozenset[str]]

    @classmethod
    def of(cls, drafts: Sequence[ToolDraft]) -> KnownEntities:
        """Return the entities that the inputs of all tools identify."""
        entities: Counter[str] = Counter()
        named: dict[str, Counter[str]] = defaultdict(Counter)
        subjects: dict[str, set[str]] = defaultdict(set)
        of_system: dict[str, set[str]] = defaultdict(set)
        for draft in drafts:
            found = [slot.identifier for slot in draft.inputs if slot.identifier and slot.identifier.confidence >= 0.5]
            # The bare id that a tool about one entity must be given is that entity's: update-order(id).
            identified = {one.entity for one in found if one.evidence != ("tool",)} | _own_keys(draft)
            entities.update(identified)
            of_system[draft.system].update(identified)
            if draft.reader.subject.action in _READS:
                subjects[draft.system].update(draft.reader.subject.entities)
            named[draft.system].update({one.entity for one in found if one.evidence == ("tool",)} - GENERIC_NAMES)
        keys = {
            system: frozenset(entity for entity, count in counts.items() if count > 1)
            for system, counts in named.items()
        }
        for system, own in keys.items():
            entities.update(own)
            of_system[system].update(own)
        return cls(entities, keys, _frozen(subjects), _frozen(of_system))

    def is_key(self, system: str, name: str) -> bool:
        """Whether a parameter of this name is the key of the entity with the same name."""
        return name in self.keys.get(system, ())


def _frozen(sets: Mapping[str, set[str]]) -> dict[str, frozenset[str]]:
    return {system: frozenset(names) for system, names in sets.items()}


def _own_keys(draft: ToolDraft) -> set[str]:
    subject = draft.reader.subject
    if subject.action not in ("get", "update", "delete") or not subject.entity:
        return set()
    bare = any(
        slot.parameter.required and slot.identifier is not None and slot.identifier.evidence == ("tool",)
        for slot in draft.inputs
        if slot.parameter.name.lower() in BARE_IDENTIFIERS
    )
    return {subject.entity} if bare else set()


def draft_tool(tool: Tool, system: str, ontology: Ontology, synonyms: Mapping[str, Synonym] = {}) -> ToolDraft:
    """Return the draft of a tool: each input and output with the entity that it identifies.

    :param synonyms: entities that stand for others.
    """
    reader = IdentifierReader(tool, ontology)
    inputs = [Slot(parameter, reader.identifier(parameter)) for parameter in tool.parameters]
    outputs = [Slot(output, reader.identifier(output)) for output in tool.returns]
    if synonyms:
        subject = reader.subject
        entities = tuple(dict.fromkeys(preferred_name(one, synonyms) for one in subject.entities))
        reader.subject = replace(subject, entity=preferred_name(subject.entity, synonyms), entities=entities)
        reader.steps = tuple(
            replace(step, collection=preferred_name(step.collection, synonyms)) for step in reader.steps
        )
        inputs, outputs = ([_preferred(slot, synonyms) for slot in slots] for slots in (inputs, outputs))
    owners = {parameter.name.partition(".")[0] for parameter in tool.parameters if "." in parameter.name}
    names = [output.name for output in tool.returns]
    fields: dict[str, list[str]] = defaultdict(list)
    for name in names:
        prefix, _, field = name.rpartition(".")
        fields[prefix].append(field)
    return ToolDraft(
        reader=reader,
        system=system,
        inputs=inputs,
        outputs=outputs,
        objects=frozenset(owners.union(owner.removesuffix("[]") for owner in owners)),
        output_names=frozenset(names),
        lower_output_names=frozenset(name.lower() for name in names),
        output_fields=dict(fields),
    )


def _preferred(slot: Slot, synonyms: Synonyms) -> Slot:
    found = slot.identifier
    return (
        slot
        if found is None
        else slot._replace(identifier=replace(found, entity=preferred_name(found.entity, synonyms)))
    )


def is_resource(parameter: Parameter) -> bool:
    """Whether a parameter has a generic name and its type describes the value: ``input_0`` of type ``image``."""
    if not _GENERIC_SLOT.match(parameter.name.lower()):
        return False
    return parameter.type.lower() == "text" or (type_family(parameter.type) == "" and parameter.type.isalpha())
