"""What is known of a catalogue while it is read: drafts of its tools, its entities, and the slots that are to be joined.

One tool's document explains another's: that ``movie_id`` is asked for somewhere makes *movie* an entity, and so the
``results[].id`` of ``/movie/popular`` the id of a movie.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from ingest.linking.identifiers import GENERIC_NAMES, Identifier, IdentifierReader, type_family
from ontology.ontology import Ontology
from ontology.tool import Parameter, Tool

__all__ = [
    "AUTH_KEY",
    "AUTH_NAMES",
    "BARE_IDENTIFIERS",
    "ID_FIELDS",
    "PLAIN_VALUE",
    "TYPED_RESOURCE",
    "ConsumedValue",
    "KnownEntities",
    "ProducedValue",
    "ToolDraft",
    "draft_tool",
    "is_resource",
]

AUTH_KEY = ("session", "token")
"""The key under which session ids and tokens are needed, and offered by what logs in."""
AUTH_NAMES = frozenset(
    (
        "token",
        "session",
        "session id",
        "access token",
        "auth token",
        "session token",
        "authentication token",
        "user token",
    )
)
PLAIN_VALUE = ""
"""Stands for the entity in the key of a plain value."""
TYPED_RESOURCE = "a"
"""Stands for the entity in the key of a typed resource (``image``)."""
BARE_IDENTIFIERS = frozenset(("id", "uuid", "guid", "identifier"))
"""Canonical names of identifiers that say not of what."""
ID_FIELDS = frozenset(("id", "uuid", "_id", "Id", "ID"))
_GENERIC_SLOT = re.compile(r"^(?:input|output|in|out|result|arg|data|value|file|source|return)?[_ ]?\d*$")


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumedValue:
    """An input, as what it takes.

    :param key: (entity, field); for plain values and typed resources see ``PLAIN_VALUE`` and ``TYPED_RESOURCE``.
    :param confidence: that it takes this, in [0, 1].
    :param identifier: whether it identifies the entity.
    """

    parameter: str
    type: str
    key: tuple[str, str]
    confidence: float
    required: bool
    identifier: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducedValue:
    """An output, as what it gives.

    :param output: empty where it is concluded from the tool's name.
    :param relevance: how much the tool is about the entity: 1 wholly, less for a kind of it (popular movies), least where it
        merely speaks of it.
    """

    output: str
    type: str
    key: tuple[str, str]
    confidence: float
    relevance: float = 1.0


@dataclass(slots=True, kw_only=True)
class ToolDraft:
    """A tool while the catalogue is read.

    :param entity: its own entity, once the catalogue's entities are known.
    """

    reader: IdentifierReader
    system: str
    inputs: list[tuple[Parameter, Identifier | None]]
    outputs: list[tuple[Parameter, Identifier | None]]
    entity: str = ""
    consumes: tuple[ConsumedValue, ...] = ()

    @property
    def tool(self) -> Tool:
        """The tool itself."""
        return self.reader.tool


@dataclass(slots=True)
class KnownEntities:
    """The entities that a catalogue has identifiers of.

    :param entities: entity → in how many tools an identifier of it is asked for.
    :param keys: system → entities whose key is called as they are (``PurchaseOrder`` of a purchase order).
    """

    entities: Counter[str] = field(default_factory=Counter)
    keys: dict[str, frozenset[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, drafts: Sequence[ToolDraft]) -> KnownEntities:
        """What the inputs of all tools say."""
        entities: Counter[str] = Counter()
        named: dict[str, Counter[str]] = defaultdict(Counter)
        for draft in drafts:
            found = [one for _, one in draft.inputs if one is not None and one.confidence >= 0.5]
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
        """Whether a parameter of this name holds the key of the entity that it is called as."""
        return name in self.keys.get(system, ())


def draft_tool(tool: Tool, system: str, ontology: Ontology) -> ToolDraft:
    """The draft of a tool: each of its parameters with what it identifies."""
    reader = IdentifierReader(tool, ontology)
    return ToolDraft(
        reader=reader,
        system=system,
        inputs=[(parameter, reader.identifier(parameter)) for parameter in tool.parameters],
        outputs=[(output, reader.identifier(output)) for output in tool.returns],
    )


def is_resource(parameter: Parameter) -> bool:
    """Whether a slot has no name of its own and its type says what goes in: ``input_0`` of type ``image``."""
    if not _GENERIC_SLOT.match(parameter.name.lower()):
        return False
    return parameter.type.lower() == "text" or (type_family(parameter.type) == "" and parameter.type.isalpha())
