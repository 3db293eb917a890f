"""What is known of each tool before the tools are compared, and the values that it consumes: what each input identifies, whether the
surroundings of a call give it, and whether it takes text.

The document of one tool helps to interpret another: the input ``movie_id`` of one makes *movie* an entity, so ``results[].id`` of
``/movie/popular`` is the id of a movie.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from ingest.linking.identifiers import (
    GENERIC_NAMES,
    RESOURCE_NAME,
    Identifier,
    IdentifierReader,
    Kinds,
    kinds_of,
    read_description,
    type_family,
)
from ingest.linking.subjects import collection_path
from ingest.word_lists import word_list
from ontology.names import words
from ontology.ontology import Ontology
from ontology.tool import Parameter, Tool

# ``(entity, field)``; for a plain value and a typed resource the entity is a constant below
Key: TypeAlias = tuple[str, str]
AUTH_KEY: Key = ("session", "token")  # the key of session ids and session tokens, which a login produces
PLAIN_VALUE = ""  # the entity in the key of a plain value
TYPED_RESOURCE = "a"  # the entity in the key of a typed resource (``image``)
AUTH_NAMES = frozenset(
    "token|session|session id|access token|auth token|session token|authentication token|user token".split("|")
)
BARE_IDENTIFIERS = frozenset(("id", "uuid", "guid", "identifier"))  # canonical names of identifiers without an entity
ID_FIELDS = frozenset(("id", "uuid", "_id", "Id", "ID"))
READS = frozenset(("search", "list", "get"))
_GENERIC_SLOT = re.compile(r"^(?:input|output|in|out|result|arg|data|value|file|source|return)?[_ ]?\d*$")


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredLinks:
    """What the owner declares, by tool id: inputs that do or never do name surroundings."""

    context_parameters: Mapping[str, frozenset[str]] = field(default_factory=dict)
    not_context_parameters: Mapping[str, frozenset[str]] = field(default_factory=dict)


NO_LINKS = DeclaredLinks()  # nothing is declared


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
    """A tool whose inputs and outputs are read, one by one; what the catalogue tells of them is filled in later."""

    def __init__(self, tool: Tool, system: str, ontology: Ontology) -> None:
        self.tool, self.system = tool, system
        reader = IdentifierReader(tool, ontology)
        self.reader, self.names = reader, reader.names
        self.inputs = [Slot(each, reader.identifier(each)) for each in tool.parameters]
        self.outputs = [Slot(each, reader.identifier(each)) for each in tool.returns]
        self.action = reader.subject.action
        self.output_names = frozenset(output.name for output in tool.returns)
        self.entity = ""
        self.context: tuple[str, ...] = ()
        self.consumes: tuple[ConsumedValue, ...] = ()


class KnownEntities:
    """The entities that the inputs of a catalogue identify: of all systems, and of each. ``subjects``: those that a
    system's tools find, list or get; ``keys``: those whose key has their name."""

    def __init__(self, drafts: Sequence[Draft]) -> None:
        self.of_system: dict[str, set[str]] = defaultdict(set)
        self.subjects: dict[str, set[str]] = defaultdict(set)
        named: Counter[tuple[str, str]] = Counter()
        for draft in drafts:
            sure = [one for _, one in draft.inputs if one is not None and one.confidence >= 0.5]
            by_tool = {one.entity for one in sure if one.evidence == ("tool",)}
            self.of_system[draft.system] |= {one.entity for one in sure if one.evidence != ("tool",)}
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


_CONTEXT = word_list("linking", "context_words")
# Last words of an input that names an entity by another field than an id
NAMING_FIELDS = word_list("linking", "naming_fields")
# Modifiers that do not change the meaning of a value's name: ``current_location`` is a location
QUALIFIERS = word_list("linking", "qualifiers")
PEOPLE = word_list("linking", "people")
PERSON_KINDS = ("email", "phone")  # kinds of value by which a person is reached
KIND_WORDS = frozenset(("email", "mail", "address", "phone", "telephone", "mobile", "number", "emailaddress"))
# The entity in the key of an address of a person in a role (participant), who may be of any entity (user, contact)
ANY_PERSON = "person in a role"
_QUERY = word_list("linking", "query_inputs")
_NOT_TEXT = word_list("linking", "not_text")
_NAMING = word_list("linking", "naming_inputs")
# A namespace with fewer tools has no context parameters, nor is an input of fewer one: shares of so few say little
_MIN_TOOLS, _MIN_COUNT = 10, 5
# Share of a namespace's tools that take the input: of a name in the word list, in paths or not; of another name
_NAMED_SHARE, _NAMED_NO_PATH, _SHARE = 0.1, 0.25, 0.5
_NAMED_OWN, _OWN = 0.1, 0.02  # maximum number of tools about the entity for each tool that takes it
_EARLY = 0.9  # share of its paths in which the placeholder is the first or the second


def context_parameters(drafts: Sequence[Draft], declared: DeclaredLinks) -> Iterator[tuple[str, ...]]:
    """Yield for each tool the inputs that name the surroundings of a call, by how many tools of its namespace take
    them. What the owner of the catalogue declares has priority over the frequencies."""
    tools = Counter(draft.tool.namespace for draft in drafts)
    own = Counter((draft.tool.namespace, draft.entity) for draft in drafts)
    taken: Counter[tuple[str, str]] = Counter()
    places: dict[tuple[str, str], list[int]] = defaultdict(list)
    for draft in drafts:
        inputs = {_name(draft, slot): _place(draft, slot) for slot in draft.inputs if _may_be_context(slot.parameter)}
        taken.update((draft.tool.namespace, name) for name in inputs)
        for name, place in inputs.items():
            if place is not None:
                places[draft.tool.namespace, name].append(place)
    known = set()
    for key, count in taken.items():
        if tools[key[0]] < _MIN_TOOLS or count < _MIN_COUNT or not (key[1] in _CONTEXT or key in places):
            continue
        least, most = _SHARE, _OWN
        if key[1] in _CONTEXT:
            least, most = _NAMED_SHARE if key in places else _NAMED_NO_PATH, _NAMED_OWN
        early = sum(place < 2 for place in places.get(key, ())) >= _EARLY * len(places.get(key, ()))
        if early and count / tools[key[0]] >= least and own[key] / count <= most:
            known.add(key)
    for draft in drafts:
        stated = declared.context_parameters.get(draft.tool.id, frozenset())
        excluded = declared.not_context_parameters.get(draft.tool.id, frozenset())
        keys = ("" if "." in slot.parameter.name else _name(draft, slot) for slot in draft.inputs)
        yield tuple(
            slot.parameter.name
            for slot, key in zip(draft.inputs, keys, strict=True)
            if slot.parameter.name not in excluded
            and (slot.parameter.name in stated or (key != draft.entity and (draft.tool.namespace, key) in known))
        )


def _may_be_context(parameter: Parameter) -> bool:
    required = parameter.required or parameter.location == "path"
    return required and "." not in parameter.name and not is_resource(parameter)


def _name(draft: Draft, slot: Slot) -> str:
    """Return the entity that an input identifies, or its canonical name: project for ``parent`` that is a project's path."""
    found = slot.identifier
    if found is not None and (found.field == RESOURCE_NAME or {"name", "path"} & set(found.evidence)):
        return found.entity
    tokens = draft.names.canonical(slot.parameter.name).split()
    return " ".join(tokens[:-1] if len(tokens) > 1 and tokens[-1] in NAMING_FIELDS else tokens)


def _place(draft: Draft, slot: Slot) -> int | None:
    """Return the number of placeholders before this one in the path, or None where it is not in the path."""
    if slot.parameter.location != "path":
        return None
    if slot.identifier is not None and slot.identifier.field == RESOURCE_NAME:
        return slot.parameter.pattern.count("/") // 2
    placeholders = [step.text for step in draft.reader.steps if step.placeholder]
    return placeholders.index(slot.parameter.name) if slot.parameter.name in placeholders else None


def consumed_values(draft: Draft, known: KnownEntities) -> tuple[ConsumedValue, ...]:
    """Return the values that a tool consumes, in the order of its inputs; inputs with generic names are left out."""
    found: dict[str, ConsumedValue] = {}
    names = (parameter.name for parameter in draft.tool.parameters if "." in parameter.name)
    objects = {name.partition(".")[0].removesuffix("[]") for name in names}
    for slot in draft.inputs:
        parameter = slot.parameter
        key, confidence, identifier = _key(draft, slot, known, objects)
        if not confidence:
            continue
        stated = "." not in parameter.name and read_description(parameter.description).is_required
        value = ConsumedValue(
            parameter=parameter.name,
            type=parameter.type,
            key=key,
            confidence=confidence,
            required=parameter.required or stated,
            identifier=identifier,
            location=parameter.location,
            kinds=kinds_of(parameter),
            context=parameter.name in draft.context,
            collection=collection_path(draft.tool, parameter) if identifier else "",
        )
        # One name may be in the query and in the body; an edge does not distinguish the two.
        previous = found.get(value.parameter)
        if previous is None or (previous.required, previous.confidence) < (value.required, value.confidence):
            found[value.parameter] = value
    return tuple(found.values())


def _key(draft: Draft, slot: Slot, known: KnownEntities, objects: set[str]) -> tuple[Key, float, bool]:
    """Return the key of an input, how sure it is (0: it links nothing), and whether it identifies an entity."""
    parameter, found = slot
    tokens = draft.names.canonical(parameter.name.rsplit(".", 1)[-1]).split()
    while len(tokens) > 1 and tokens[0] in QUALIFIERS:
        tokens = tokens[1:]
    name = " ".join(tokens)
    subjects = known.subjects.get(draft.system, set())
    head = " ".join(tokens[:-1])
    # A name of what the system lists: user, name for ``UserName``.
    named = parameter.required and head in subjects and tokens[-1] in NAMING_FIELDS and not parameter.enum
    if name in AUTH_NAMES:
        return AUTH_KEY, 0.8, False
    if named and (found is None or found.evidence == ("description",)):
        return (head, naming_field(tokens[-1])), 0.7, True
    if found is not None and found.field == "code" and found.entity not in subjects:
        if (
            dict(parameter.bounds).get("maxLength", 4) < 4
        ):  # of a country, a currency, an airport. Found on one vendor: 12 of 9,904 edges
            return (PLAIN_VALUE, name), 0.0, False
    if found is not None:
        # The tool's entity uses the whole catalogue, so it is more reliable than the identifier's name.
        own = found.evidence == ("tool",) and name in BARE_IDENTIFIERS
        return (draft.entity if own else found.entity, found.field), found.confidence, True
    family = type_family(parameter.type)
    if is_resource(parameter):
        return (TYPED_RESOURCE, parameter.type.lower()), 0.8, False
    if parameter.required and family in ("string", "integer") and name in known.keys.get(draft.system, ()):
        # "SalesOrder" as an input of an item's tools is the key of another object, with the object's name.
        return (name, "id"), 0.65, True
    if not parameter.enum and (person := _person_key(draft, parameter, tokens, subjects)):
        return person, 0.6, True
    if not name or name in GENERIC_NAMES or parameter.enum or family == "boolean":
        return (PLAIN_VALUE, name), 0.0, False
    # ``charge`` of a refund. Found on the development half of the true dependencies of examples/real.
    by_path = parameter.location in ("path", "body", "") and isinstance(draft.tool.metadata.get("path"), str)
    plain = "." not in parameter.name and parameter.name not in objects and family in ("string", "integer", "array")
    if name in subjects and by_path and plain and kinds_of(parameter).isdisjoint(("date", "url", *PERSON_KINDS)):
        return (name, "id"), 0.6, True
    return (PLAIN_VALUE, name), 0.7, False


def _person_key(draft: Draft, parameter: Parameter, tokens: list[str], subjects: set[str]) -> Key | None:
    """Return the e-mail address or phone number of a person in a role: ``participant_email``, ``recipient``; else None."""
    kinds = kinds_of(parameter)
    kind = next((kind for kind in PERSON_KINDS if kind in kinds), "")
    if not kind or not parameter.required:
        return None
    while tokens and tokens[-1] in KIND_WORDS:
        tokens = tokens[:-1]
    role = tokens[-1] if tokens else ""
    if draft.action == "create" and (not role or role in PEOPLE):
        return None  # the address of the person who is new
    if not role and not read_description(parameter.description).is_address:
        return None
    return (role if role in subjects else ANY_PERSON), kind


def naming_field(word: str) -> str:
    """Return the field that a last word of ``naming_fields`` stands for: ``name`` for username and login."""
    return "name" if word in ("username", "login") else word


def free_text_score(draft: Draft) -> float:
    """Return how well the inputs accept free text, in [0, 1]: 1 for a query, 0.8 for a name, 0.6 for other required text."""
    best = 0.0
    for parameter, found in draft.inputs:
        tokens = words(parameter.name.rsplit(".", 1)[-1])
        is_text = not parameter.enum and type_family(parameter.type) in ("string", "", "array")
        if found is not None or not is_text or not tokens or tokens[-1] in ("id", "ids"):
            continue
        if tokens[0] in _QUERY and tokens[0] != "filters" and (len(tokens) == 1 or tokens[-1] not in _NOT_TEXT):
            return 1.0
        names = tokens[-1] in _NAMING or tokens[-1] in _QUERY
        best = max(best, 0.8 if names else 0.6 if parameter.required else 0.0)
    return best
