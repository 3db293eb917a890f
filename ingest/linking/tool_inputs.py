"""The values that a tool consumes, and how well its inputs accept free text."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import lru_cache

from ingest.linking.derived_edge import NO_LINKS, DeclaredLinks
from ingest.linking.identifiers import GENERIC_NAMES, RESOURCE_NAME, type_family
from ingest.linking.tool_draft import AUTH_NAMES, BARE_IDENTIFIERS, KnownEntities, Slot, ToolDraft, is_resource
from ingest.linking.tool_values import AUTH_KEY, PLAIN_VALUE, TYPED_RESOURCE, ConsumedValue, Key, Kinds, kinds_of
from ingest.word_lists import word_list, word_patterns
from ontology.names import words
from ontology.tool import Parameter, Tool

__all__ = [
    "ANY_PERSON",
    "KIND_WORDS",
    "PEOPLE",
    "PERSON_KINDS",
    "QUALIFIERS",
    "ContextParameters",
    "consumed_values",
    "free_text_score",
    "naming_field",
    "normal_path",
]

_VERSION = re.compile(r"^/?(?:(?:api|apis|rest|odata|v?\d[\w.]*)/)+")
_METHOD = re.compile(r"(?<=[\w}]):[A-Za-z]\w*$")
_KEYED = re.compile(r"\(([^()]*\{[^()]*)\)")
_PLACEHOLDER = re.compile(r"\{[^{}]*\}|\[\^/\]\+|(?<=/):\w+|<[^<>/]+>")


def normal_path(tool: Tool) -> str:
    """Return the path of a tool without version and names of placeholders; empty without one."""
    path = tool.metadata.get("path") if tool.metadata.get("format") != "aws.v1" else None
    return _normal(path) if isinstance(path, str) and path.strip("/") else ""


def collection_path(tool: Tool, parameter: Parameter) -> str:
    """Return the normal path of the collection that a path parameter is an item of; empty where there is none."""
    if "/" in parameter.pattern:
        steps = _normal(parameter.pattern.strip("^$")).rsplit("/", 1)
        return steps[0] if steps[-1] == "{}" else ""
    path = tool.metadata.get("path")
    if parameter.location != "path" or not isinstance(path, str) or tool.metadata.get("format") == "aws.v1":
        return ""
    part = path.find(f"{parameter.name}={{")  # of an OData key
    if part > 0 and (key := path.rfind("(", 0, part)) > 0:
        return _normal(path[:key])
    start = min((at for at in (path.find(form) for form in _forms(parameter.name)) if at >= 0), default=-1)
    return _normal(path[:start].rstrip("(/")) if start > 0 else ""


def _forms(name: str) -> tuple[str, ...]:
    return f"{{{name}}}", f"{{+{name}}}", f":{name}", f"<{name}>"


@lru_cache(maxsize=50_000)
def _normal(path: str) -> str:
    path = _METHOD.sub("", _VERSION.sub("", path.split("?", 1)[0]))
    path = _PLACEHOLDER.sub("{}", _KEYED.sub("/{}", path))
    return path.strip("/").removesuffix(".json").lower()


_WORDS = word_list("linking", "context_words")
_FIELDS = word_list("linking", "naming_fields")
_MIN_TOOLS = 10
"""A namespace with fewer tools has no context parameters: shares of so few say little."""
_MIN_COUNT = 5
_NAMED_SHARE, _NAMED_NO_PATH, _SHARE = 0.1, 0.25, 0.5
"""Share of a namespace's tools that take the input: of a name in the word list, in paths or not; of another name."""
_NAMED_OWN, _OWN = 0.1, 0.02
"""Maximum number of tools about the entity for each tool that takes it."""
_EARLY = 0.9
"""Share of its paths in which the placeholder is the first or the second."""


class ContextParameters:
    """The context parameters of each namespace of a catalogue.

    :param declared: what the owner of the catalogue declares has priority over the frequencies.
    """

    def __init__(self, drafts: Sequence[ToolDraft], declared: DeclaredLinks = NO_LINKS) -> None:
        self._declared = declared
        tools: Counter[str] = Counter()
        taken: dict[str, Counter[str]] = defaultdict(Counter)
        places: dict[tuple[str, str], list[int]] = defaultdict(list)
        own: dict[str, Counter[str]] = defaultdict(Counter)
        for draft in drafts:
            namespace = draft.tool.namespace
            tools[namespace] += 1
            own[namespace][draft.entity] += 1
            inputs = {_name(draft, slot): _place(draft, slot) for slot in draft.inputs if _is_candidate(slot)}
            taken[namespace].update(inputs.keys())
            for name, place in inputs.items():
                if place is not None:
                    places[namespace, name].append(place)
        self._names = {
            namespace: frozenset(
                name
                for name, count in counts.items()
                if _is_context(name, count, tools[namespace], own[namespace][name], places[namespace, name])
            )
            for namespace, counts in taken.items()
        }

    def __contains__(self, item: tuple[ToolDraft, Slot]) -> bool:
        draft, slot = item
        name = _name(draft, slot)
        return name != draft.entity and name in self._names.get(draft.tool.namespace, ())

    def of(self, draft: ToolDraft) -> Iterator[str]:
        """Yield the names of a tool's context parameters, in the order of its inputs."""
        stated = self._declared.context_parameters.get(draft.tool.id, frozenset())
        excluded = self._declared.not_context_parameters.get(draft.tool.id, frozenset())
        for slot in draft.inputs:
            name = slot.parameter.name
            found = name in stated or ("." not in name and (draft, slot) in self)
            if found and name not in excluded:
                yield name


def _is_context(name: str, count: int, tools: int, own: int, places: Sequence[int]) -> bool:
    if tools < _MIN_TOOLS or count < _MIN_COUNT:
        return False
    named = name in _WORDS
    if not named and not places:
        return False
    share = (_NAMED_SHARE if places else _NAMED_NO_PATH) if named else _SHARE
    if count < tools * share or own > count * (_NAMED_OWN if named else _OWN):
        return False
    early = sum(place < 2 for place in places)
    return early >= _EARLY * len(places)


def _is_candidate(slot: Slot) -> bool:
    parameter = slot.parameter
    if "." in parameter.name or is_resource(parameter):
        return False
    return parameter.required or parameter.location == "path"


def _name(draft: ToolDraft, slot: Slot) -> str:
    """Return the entity that an input identifies, or its canonical name: project for ``parent`` that is a project's path."""
    found = slot.identifier
    if found is not None and (found.field == RESOURCE_NAME or {"name", "path"} & set(found.evidence)):
        return found.entity
    tokens = draft.reader.names.canonical(slot.parameter.name).split()
    return " ".join(tokens[:-1] if len(tokens) > 1 and tokens[-1] in _FIELDS else tokens)


def _place(draft: ToolDraft, slot: Slot) -> int | None:
    """Return the number of placeholders before this one in the path, or None where it is not in the path."""
    if slot.parameter.location != "path":
        return None
    if slot.identifier is not None and slot.identifier.field == RESOURCE_NAME:
        return max(0, slot.parameter.pattern.count("/") // 2)
    placeholders = [step.text for step in draft.reader.steps if step.placeholder]
    name = slot.parameter.name
    return placeholders.index(name) if name in placeholders else None


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
