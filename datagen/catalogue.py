"""The catalogue for data generation: the tools of a snapshot with their profiles and an index of all inputs."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import pairwise
from pathlib import Path

from ingest.linking import (
    AUTH_KEY,
    GENERIC_NAMES,
    PLAIN_VALUE,
    CanonicalNames,
    ConsumedValue,
    ToolProfile,
    canonical_names,
    local_name,
    profile_tools,
    type_family,
)
from ingest.word_lists import word_list
from ontology.errors import NotFoundError
from ontology.files import read_yaml
from ontology.names import verb_lemma, words
from ontology.ontology import Ontology, load_ontology
from ontology.tool import Parameter, Tool
from retrieval.snapshot.reader import Snapshot

_WORDS: Mapping[str, str] = read_yaml(Path(__file__).parent / "words.yaml")
FINDING_ACTIONS = ("search", "list")  # actions that find things
_SURROUNDINGS = word_list("linking", "context_words")
_GENERIC_CONFIDENCE = 0.5  # confidence that an input with a generic name takes the value of that name
_KEYED = re.compile(r"^(?P<collection>[^(/]+)\([^)]+\)$")
ValueKey = tuple[str, str]  # the value of an input or output: (entity, field)
_MAX_TOOLS = 3
_MAX_DESCRIPTION = 160
_LINE_OF_BUSINESS = "has_line_of_business"


@cache
def word_set(name: str) -> frozenset[str]:
    """A list of words, or of phrases, of ``words.yaml``."""
    listed = _WORDS[name]
    return frozenset(phrase.strip() for phrase in listed.split(",")) if "," in listed else frozenset(listed.split())


def extend_profiles(
    tools: Iterable[Tool], profiles: Mapping[str, ToolProfile], names: CanonicalNames
) -> dict[str, ToolProfile]:
    """Add the inputs that a build does not link because their names are generic (``email``). Page tokens
    (``nextToken``) are left out, because they lead only to the next page. A tool that reads one record of a collection
    by an OData key (``Orders({OrderId})``) has the action ``get``. One that finds a thing or else makes it
    (``find_or_create_tag``) has the action ``create``: it is no look-up."""
    return {tool.id: _extended(tool, profiles[tool.id], names) for tool in tools}


def without_said_context(profile: ToolProfile) -> ToolProfile:
    """Return the profile of which only surroundings are context parameters: project, tenant, region, a login. An input
    that nearly every tool of a namespace takes is a context parameter of a build, also where it says what a request is
    about. Two readers of the document of Android Publisher missed the app (``packageName``) in 9 requests."""
    keys = {value.parameter: value.key for value in profile.consumes}
    said = frozenset(name for name in profile.context if name in keys and not _is_surrounding(keys[name]))
    if not said:
        return profile
    consumes = (replace(one, context=False) if one.parameter in said else one for one in profile.consumes)
    return replace(
        profile,
        context=tuple(name for name in profile.context if name not in said),
        consumes=tuple(consumes),
    )


def _is_surrounding(key: tuple[str, str]) -> bool:
    return key == AUTH_KEY or not _SURROUNDINGS.isdisjoint((*key[0].split()[-1:], *key[1].split()))


def _may_make(tool: Tool) -> bool:
    """Whether a tool makes what it does not find: ``find_or_create``, "Get the cart or create one"."""
    texts = (local_name(tool), re.split(r"[.;]\s", tool.description, maxsplit=1)[0])
    makes = word_set("makers")
    return any(one == "or" and verb_lemma(other) in makes for text in texts for one, other in pairwise(words(text)))


def is_paging(name: str, names: CanonicalNames) -> bool:
    """Whether an input or output is a parameter of pagination."""
    return names.canonical(name.rsplit(".", 1)[-1]) in word_set("paging")


def only_reads(profile: ToolProfile) -> bool:
    """Whether the action of a tool is read-only."""
    return profile.action in ("search", "list", "get")


def _extended(tool: Tool, profile: ToolProfile, names: CanonicalNames) -> ToolProfile:
    consumes = (*profile.consumes, *_generic_values(tool, profile, names))
    extended = replace(
        profile,
        consumes=tuple(value for value in consumes if not is_paging(value.parameter, names)),
        produces=tuple(value for value in profile.produces if not is_paging(value.output, names)),
    )
    if only_reads(extended) and _may_make(tool):
        extended = replace(extended, action="create")
    path = tool.metadata.get("path")
    keyed = _KEYED.match(path.rstrip("/").rsplit("/", 1)[-1]) if isinstance(path, str) else None
    if keyed is None:
        return extended
    action = "get" if profile.action == "list" else profile.action
    return replace(extended, action=action, entity=names.canonical(keyed["collection"]))


def _generic_values(tool: Tool, profile: ToolProfile, names: CanonicalNames) -> Iterator[ConsumedValue]:
    """Yield the inputs with generic names; an output of the same name fills them."""
    known = {value.parameter for value in profile.consumes}
    for parameter in tool.parameters:
        text = names.canonical(parameter.name)
        generic = text in GENERIC_NAMES and "." not in parameter.name and parameter.name not in known
        if generic and not parameter.enum and type_family(parameter.type) != "boolean":
            yield ConsumedValue(
                parameter=parameter.name,
                type=parameter.type,
                key=(PLAIN_VALUE, text),
                confidence=_GENERIC_CONFIDENCE,
                required=parameter.required,
                identifier=False,
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedParameter:
    """An input of tools of the catalogue."""

    name: str  # exactly as in the documents
    type: str  # the type that most of its tools declare
    description: str  # the first description, cut to 160 characters
    tools: tuple[str, ...]  # ids of the first three tools with this input
    count: int  # number of tools with this input


class ParameterIndex:
    """The inputs of a catalogue, given by the extended profiles of its tools, indexed by name, by value key, and by the
    words of their names."""

    def __init__(self, tools: Iterable[Tool], profiles: Iterable[ToolProfile], names: CanonicalNames) -> None:
        takers: dict[str, list[tuple[Tool, Parameter]]] = defaultdict(list)
        for tool in tools:
            for parameter in tool.parameters:
                takers[parameter.name].append((tool, parameter))
        self.parameters: Mapping[str, IndexedParameter] = {
            name: _indexed(name, found) for name, found in sorted(takers.items())
        }
        self._keys: dict[str, Counter[ValueKey]] = defaultdict(Counter)
        self._names: dict[ValueKey, Counter[str]] = defaultdict(Counter)
        self._names_in_system: dict[tuple[ValueKey, str], Counter[str]] = defaultdict(Counter)
        for profile in profiles:
            for value in profile.consumes:
                self._keys[value.parameter][value.key] += 1
                self._names[value.key][value.parameter] += 1
                self._names_in_system[value.key, profile.system][value.parameter] += 1
        self._by_words: dict[str, list[str]] = defaultdict(list)
        for name in self.parameters:
            self._by_words[names.canonical(name.rsplit(".", 1)[-1])].append(name)
        self._of_entity: dict[str, list[ValueKey]] = defaultdict(list)
        for key in sorted(self._names):
            self._of_entity[key[0]].append(key)

    def keys(self, name: str) -> tuple[ValueKey, ...]:
        """Return the value keys of the inputs with this name, most frequent first."""
        return tuple(key for key, _ in sorted(self._keys.get(name, Counter()).items(), key=_most_first))

    def identifiers(self, entity: str) -> Sequence[ValueKey]:
        """Return the value keys that identify an entity."""
        return self._of_entity.get(entity, ()) if entity != PLAIN_VALUE else ()

    def name_of(self, key: ValueKey, system: str) -> str:
        """Return the most frequent input name for a value key, in the system if possible; empty where there is none."""
        found = self._names_in_system.get((key, system)) or self._names.get(key)
        return min(found, key=lambda name: (-found[name], len(name), name)) if found else ""

    def named(self, text: str) -> str:
        """Return the most frequent input name with these words in canonical form; empty where there is none."""
        found = self._by_words.get(text, ()) if text else ()
        return min(found, key=lambda name: (-self.parameters[name].count, len(name), name), default="")

    def demand(self, key: ValueKey) -> int:
        """Return the number of inputs with this value key."""
        return self._names[key].total() if key in self._names else 0


def _indexed(name: str, found: Sequence[tuple[Tool, Parameter]]) -> IndexedParameter:
    types = Counter(parameter.type for _, parameter in found)
    described = next((parameter.description for _, parameter in found if parameter.description), "")
    tools = tuple(dict.fromkeys(tool.id for tool, _ in found))
    return IndexedParameter(
        name=name,
        type=min(types.items(), key=_most_first)[0],
        description=described[:_MAX_DESCRIPTION],
        tools=tools[:_MAX_TOOLS],
        count=len(tools),
    )


def _most_first(item: tuple[object, int]) -> tuple[int, str]:
    return -item[1], str(item[0])


@dataclass(frozen=True, kw_only=True)
class ProfiledCatalogue:
    """The tools of one snapshot with their profiles, each computed once.

    :param tools: in the snapshot's order, sorted by id.
    :param ontology: its metadata keys and abbreviations are used; it may differ from the ontology of the build.
    """

    snapshot_id: str
    tools: tuple[Tool, ...]
    ontology: Ontology

    @classmethod
    def of(cls, snapshot: Snapshot, ontology: Ontology | None = None) -> ProfiledCatalogue:
        """Return the catalogue of a snapshot; with the shipped ontology where none is given."""
        tools = tuple(snapshot.tool(number) for number in range(snapshot.tool_count))
        return cls(snapshot_id=snapshot.id, tools=tools, ontology=ontology or load_ontology())

    def tool(self, tool_id: str) -> Tool:
        """Return the tool with this id.

        :raises NotFoundError: for an unknown id.
        """
        try:
            return self._by_id[tool_id]
        except KeyError:
            raise NotFoundError("the catalogue has no such tool", subject=tool_id) from None

    def __contains__(self, tool_id: str) -> bool:
        return tool_id in self._by_id

    def profile(self, tool_id: str) -> ToolProfile:
        """Return the profile of a tool: its action, its entity, its inputs and its outputs.

        :raises NotFoundError: for an unknown id.
        """
        self.tool(tool_id)
        return self.profiles[tool_id]

    def group(self, tool_id: str) -> str:
        """Return the line of business of a tool, else its namespace, else its system; empty where none is documented."""
        tool = self.tool(tool_id)
        for key in self._business_keys:
            value = tool.metadata.get(key)
            named = value[0] if isinstance(value, list) and value else value
            if isinstance(named, str) and named:
                return named.split("/")[0]
        return tool.namespace or self.profiles[tool_id].system.strip("|")

    @cached_property
    def names(self) -> CanonicalNames:
        """The canonical names under the ontology's abbreviations."""
        return canonical_names(self.ontology)

    @cached_property
    def profiles(self) -> Mapping[str, ToolProfile]:
        """Map from tool id to profile, as in a build but for context parameters that a request must say."""
        return {profile.id: without_said_context(profile) for profile in profile_tools(self.tools, self.ontology)}

    @cached_property
    def extended_profiles(self) -> Mapping[str, ToolProfile]:
        """Map from tool id to extended profile; see :func:`extend_profiles`."""
        return extend_profiles(self.tools, self.profiles, self.names)

    @cached_property
    def parameter_index(self) -> ParameterIndex:
        """The index of all inputs, from which outputs are inferred."""
        return ParameterIndex(self.tools, self.extended_profiles.values(), self.names)

    @cached_property
    def _by_id(self) -> Mapping[str, Tool]:
        return {tool.id: tool for tool in self.tools}

    @cached_property
    def _business_keys(self) -> Sequence[str]:
        return [key for key, name in self.ontology.metadata_predicates.items() if name == _LINE_OF_BUSINESS]
