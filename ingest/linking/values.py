"""What is known of each tool before the tools are compared: the values in its inputs and outputs, and the entities of the catalogue.

The document of one tool helps to interpret another: the input ``movie_id`` of one makes *movie* an entity, so ``results[].id`` of
``/movie/popular`` is the id of a movie.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeAlias

from ingest.linking.identifiers import GENERIC_NAMES, Identifier, IdentifierReader, Kinds, type_family
from ontology.ontology import Ontology
from ontology.tool import Parameter, Tool
from ontology.tool_graph import Synonym, Synonyms, preferred_name

Key: TypeAlias = tuple[str, str]
"""``(entity, field)``; for a plain value and a typed resource the entity is a constant below."""
AUTH_KEY: Key = ("session", "token")
"""The key of session ids and session tokens, which a login produces."""
PLAIN_VALUE = ""
"""The entity in the key of a plain value."""
TYPED_RESOURCE = "a"
"""The entity in the key of a typed resource (``image``)."""
AUTH_NAMES = frozenset(
    "token|session|session id|access token|auth token|session token|authentication token|user token".split("|")
)
BARE_IDENTIFIERS = frozenset(("id", "uuid", "guid", "identifier"))
"""Canonical names of identifiers without an entity."""
ID_FIELDS = frozenset(("id", "uuid", "_id", "Id", "ID"))
READS = frozenset(("search", "list", "get"))
_GENERIC_SLOT = re.compile(r"^(?:input|output|in|out|result|arg|data|value|file|source|return)?[_ ]?\d*$")


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredLinks:
    """Declarations about tools, by tool id.

    :param synonyms: the names that replace others in what is read of the tool.
    :param context_parameters: inputs that name the surroundings of a call.
    :param not_context_parameters: inputs that do not, whatever their frequency says.
    """

    synonyms: Mapping[str, Synonyms] = field(default_factory=dict)
    context_parameters: Mapping[str, frozenset[str]] = field(default_factory=dict)
    not_context_parameters: Mapping[str, frozenset[str]] = field(default_factory=dict)


NO_LINKS = DeclaredLinks()
"""Nothing is declared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumedValue:
    """The value that an input consumes.

    :param confidence: that the key is correct, in [0, 1].
    :param identifier: whether it identifies the entity.
    :param location: where an HTTP request has it, as :attr:`~ontology.tool.Parameter.location`.
    :param kinds: the kinds of value that the input takes; empty where unknown.
    :param context: whether it is a context parameter, which the request or the caller's configuration fills.
    :param collection: the normal path of the collection that it is an item of; empty where the path does not tell.
    """

    parameter: str
    type: str
    key: Key
    confidence: float
    required: bool
    identifier: bool
    location: str = ""
    kinds: Kinds = frozenset()
    context: bool = False
    collection: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducedValue:
    """The value that an output produces.

    :param output: name of the output; empty for a value inferred from the tool's name.
    :param confidence: that the key is correct, in [0, 1].
    :param relevance: relevance of the entity for the tool, in [0, 1]: 1 for its subject, less for a kind of it (popular
        movies), least where the tool only refers to it.
    :param kinds: the kinds of value that the output holds; empty where unknown.
    :param is_object: whether the output is the key of an object of the entity, and not a reference to one.
    :param is_outer: whether it stands in at most one named object: not in ``value[].parentReference.ids``.
    """

    output: str
    type: str
    key: Key
    confidence: float
    relevance: float = 1.0
    kinds: Kinds = frozenset()
    is_object: bool = False
    is_outer: bool = True


class Slot(NamedTuple):
    """An input or an output, and the entity that it identifies, or None."""

    parameter: Parameter
    identifier: Identifier | None


class Draft:
    """A tool whose inputs and outputs are read, one by one; what the catalogue tells of them is filled in later.

    :param synonyms: entities that stand for others.
    """

    def __init__(self, tool: Tool, system: str, ontology: Ontology, synonyms: Mapping[str, Synonym] = {}) -> None:
        self.tool, self.system = tool, system
        reader = IdentifierReader(tool, ontology)
        self.reader, self.names = reader, reader.names
        self.inputs = [Slot(each, reader.identifier(each)) for each in tool.parameters]
        self.outputs = [Slot(each, reader.identifier(each)) for each in tool.returns]
        if synonyms:
            entities = dict.fromkeys(preferred_name(each, synonyms) for each in reader.subject.entities)
            reader.subject = replace(reader.subject, entities=tuple(entities))
            reader.steps = tuple(
                replace(one, collection=preferred_name(one.collection, synonyms)) for one in reader.steps
            )
            for slots in (self.inputs, self.outputs):
                for at, (parameter, found) in enumerate(slots):
                    if found is not None:
                        slots[at] = Slot(parameter, replace(found, entity=preferred_name(found.entity, synonyms)))
        self.action = reader.subject.action
        self.output_names = frozenset(output.name for output in tool.returns)
        self.entity = ""
        self.context: tuple[str, ...] = ()
        self.consumes: tuple[ConsumedValue, ...] = ()


class KnownEntities:
    """The entities that the inputs of a catalogue identify: of all systems, and of each.

    ``subjects`` maps a system to the entities that its tools find, list or get; ``keys`` to those whose key has the
    entity's name (``PurchaseOrder`` of a purchase order).
    """

    def __init__(self, drafts: Sequence[Draft]) -> None:
        self.of_system: dict[str, set[str]] = defaultdict(set)
        self.subjects: dict[str, set[str]] = defaultdict(set)
        named: Counter[tuple[str, str]] = Counter()
        for draft in drafts:
            sure = [one for _, one in draft.inputs if one is not None and one.confidence >= 0.5]
            by_tool = {one.entity for one in sure if one.evidence == ("tool",)}
            self.of_system[draft.system] |= {one.entity for one in sure if one.evidence != ("tool",)}
            # The bare id that a tool about one entity must be given is that entity's: update-order(id).
            needed = [(each.name.lower(), found) for each, found in draft.inputs if each.required]
            own = any(found and found.evidence == ("tool",) for name, found in needed if name in BARE_IDENTIFIERS)
            if own and draft.action in ("get", "update", "delete"):
                self.of_system[draft.system].add(draft.reader.subject.entity)
            if draft.action in READS:
                self.subjects[draft.system].update(draft.reader.subject.entities)
            named.update((draft.system, entity) for entity in by_tool - GENERIC_NAMES)
        self.keys: dict[str, set[str]] = defaultdict(set)
        for (system, entity), count in named.items():
            if count > 1:
                self.keys[system].add(entity)
                self.of_system[system].add(entity)
        self.entities = frozenset().union(*self.of_system.values())


def is_resource(parameter: Parameter) -> bool:
    """Whether a parameter has a generic name and its type describes the value: ``input_0`` of type ``image``."""
    if not _GENERIC_SLOT.match(parameter.name.lower()):
        return False
    return parameter.type.lower() == "text" or (type_family(parameter.type) == "" and parameter.type.isalpha())
