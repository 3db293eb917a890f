"""Drafts of tool profiles, built before the entities of the catalogue are known, and these entities.

The document of one tool helps to interpret another: the input ``movie_id`` of one tool makes *movie* an entity, so
``results[].id`` of ``/movie/popular`` is the id of a movie.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ingest.linking.identifiers import GENERIC_NAMES, Identifier, IdentifierReader
from ingest.linking.tool_values import ConsumedValue
from ingest.linking.type_families import type_family
from ontology.ontology import Ontology
from ontology.tool import Parameter, Tool

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
_GENERIC_SLOT = re.compile(r"^(?:input|output|in|out|result|arg|data|value|file|source|return)?[_ ]?\d*$")


class Slot(NamedTuple):
    """An input or an output, and the entity that it identifies, or None."""

    parameter: Parameter
    identifier: Identifier | None


@dataclass(slots=True, kw_only=True)
class ToolDraft:
    """The draft of a tool's profile.

    :param entity: the tool's entity; empty until the entities of the catalogue are known.
    """

    reader: IdentifierReader
    system: str
    inputs: list[Slot]
    outputs: list[Slot]
    entity: str = ""
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
    """

    entities: Counter[str]
    keys: Mapping[str, frozenset[str]]

    @classmethod
    def of(cls, drafts: Sequence[ToolDraft]) -> KnownEntities:
        """Return the entities that the inputs of all tools identify."""
        entities: Counter[str] = Counter()
        named: dict[str, Counter[str]] = defaultdict(Counter)
        for draft in drafts:
            found = [slot.identifier for slot in draft.inputs if slot.identifier and slot.identifier.confidence >= 0.5]
            entities.update({one.entity for one in found if one.evidence != ("tool",)})
            named[draft.system].update({one.entity for one in found if one.evidence == ("tool",)} - GENERIC_NAMES)
        keys = {
            system: frozenset(entity for entity, count in counts.items() if count > 1)
            for system, counts in named.items()
        }
        for own in keys.values():
            entities.update(own)
        return cls(entities, keys)

    def is_key(self, system: str, name: str) -> bool:
        """Whether a parameter of this name is the key of the entity with the same name."""
        return name in self.keys.get(system, ())


def draft_tool(tool: Tool, system: str, ontology: Ontology) -> ToolDraft:
    """Return the draft of a tool: each input and output with the entity that it identifies."""
    reader = IdentifierReader(tool, ontology)
    return ToolDraft(
        reader=reader,
        system=system,
        inputs=[Slot(parameter, reader.identifier(parameter)) for parameter in tool.parameters],
        outputs=[Slot(output, reader.identifier(output)) for output in tool.returns],
    )


def is_resource(parameter: Parameter) -> bool:
    """Whether a parameter has a generic name and its type describes the value: ``input_0`` of type ``image``."""
    if not _GENERIC_SLOT.match(parameter.name.lower()):
        return False
    return parameter.type.lower() == "text" or (type_family(parameter.type) == "" and parameter.type.isalpha())
