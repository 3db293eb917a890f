"""Minimality and sufficiency of a path: each tool is needed, and no input is left that a request could not state."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from itertools import permutations, takewhile

from datagen.catalogue import FINDING_ACTIONS, ProfiledCatalogue, is_paging, only_reads, word_set
from datagen.requests import PathEdge, ToolPath
from ingest.linking import AUTH_KEY, ConsumedValue, ToolProfile, local_name, type_family
from ontology.names import noun_lemma, words
from ontology.tool import Parameter, Tool

_SIGNED_IN = r"(?:authenticated|authorized|authed|calling|(?:logged|signed)(?:-| )in)"
# The thing of the caller that a tool reads which is told of none: the current team, the user who is signed in
_OF_CALLER = re.compile(
    rf"\b(?:current|(?:currently )?{_SIGNED_IN}|(?:your|my)(?: own)?)\s+(?P<thing>\w+)"
    rf"|\b(?P<said>\w+)\s+(?:who|that|which)\s+is\s+(?:currently )?{_SIGNED_IN}",
    re.IGNORECASE,
)
_LISTING = word_set("listing")
_FORMS = word_set("forms")
_JOINING, _IDENTIFYING = word_set("joining"), word_set("identifying") | word_set("marks")
_CONDITIONAL = "conditional-multi-step"
_MAX_OPENING = 120  # characters of a document that say what a tool reads
_TAKES_WORDS = 0.8  # free-text score of an input for a query or a name
_Inputs = frozenset[str]


def output_kind(output: Parameter, last: str) -> str:
    """``state``, ``flag``, ``time`` or ``number``; empty for what no condition compares. ``last`` is the last word of
    the output's name, a noun in the singular."""
    family = type_family(output.type)
    if last in word_set("states") and family in ("string", ""):
        return "state"
    if family == "boolean":
        return "flag"
    if output.format in ("date", "date-time") or family == "time" or last in word_set("times"):
        return "time"
    return "number" if family in ("number", "integer") else ""


def outputs_beside_names(tool: Tool, noun: str) -> frozenset[str]:
    """The identifiers in the list that a tool documents, each with a name of the same thing beside it; ``noun`` is the
    canonical name of the things. Who says the name of such a thing needs the list for its identifier, also where the
    list takes no name. Beside a display name or a title a ``name`` is an identifier, as in documents of Google."""
    by_thing: dict[str, list[str]] = {}
    for output in tool.returns:
        thing, _, last = output.name.rpartition(".")
        if "[]" in thing:
            by_thing.setdefault(thing, []).append(last)
    found: list[str] = []
    for thing, fields in by_thing.items():
        names = [field for field in fields if _is_name(field, noun)]
        found.extend(f"{thing}.{field}" for field in fields if _is_key(field) and names)
        shown = [name for name in names if words(name) != ["name"]]
        found.extend(f"{thing}.{field}" for field in fields if shown and words(field) == ["name"])
    return frozenset(found)


def _is_name(field: str, noun: str) -> bool:
    """Whether a field is the name of the thing itself: ``name``, ``displayName``, ``networkName``."""
    *front, last = [noun_lemma(word) for word in words(field)] or [""]
    return last in word_set("names") and (not front or front in (["display"], noun.split(), noun.split()[-1:]))


def _is_key(field: str) -> bool:
    return (words(field) or [""])[-1] in word_set("keys")


def gives_own_object(edge: PathEdge, catalogue: ProfiledCatalogue) -> bool:
    """Whether the value of an edge is of the one object that belongs to the connection. The tool only reads, requires
    nothing but a login, and gives one object, not a list. Its document says whose object it is (the current team, the
    authenticated user), or it has no input that could select another one. Who says "my team" needs no such tool: two
    readers of 80 requests over Slack, Box, Zoom, Netlify and Brex found 15 paths with it not minimal."""
    tool, profile = catalogue.tool(edge.source), catalogue.extended_profiles[edge.source]
    logins = {value.parameter for value in profile.consumes if value.key == AUTH_KEY}
    inputs = [one for one in tool.parameters if one.name not in logins and one.name not in profile.context]
    if not only_reads(profile) or any(one.required for one in inputs) or _is_of_list(edge, tool):
        return False
    selects = any(_selects(one) and not is_paging(one.name, catalogue.names) for one in inputs)
    said = (tool.title, tool.description, *(one.description for one in inputs))
    return profile.is_self or not selects or not _callers(said).isdisjoint(profile.entity.split())


def _callers(texts: Iterable[str]) -> frozenset[str]:
    """The things that texts call the caller's: ``team`` of "the current team"."""
    found = (match for text in texts for match in _OF_CALLER.finditer(text))
    return frozenset(noun_lemma((one["thing"] or one["said"]).lower()) for one in found)


def _is_of_list(edge: PathEdge, tool: Tool) -> bool:
    """Whether the output is one of several: in a list, or of a tool whose name says that it lists or names several things."""
    named = words(local_name(tool))
    lists = {one.name for one in tool.returns if type_family(one.type) == "array"}
    above = [edge.output[:at] for at, sign in enumerate(edge.output) if sign == "."]
    several = not _LISTING.isdisjoint(named) or any(noun_lemma(word) != word for word in named[-1:])
    return "[" in edge.output or not lists.isdisjoint((*above, edge.output)) or several


def _selects(parameter: Parameter) -> bool:
    """Whether an input may say which object is wanted, and not in which form."""
    plain = type_family(parameter.type) in ("boolean", "integer", "number")
    return not plain and _FORMS.isdisjoint(map(noun_lemma, words(parameter.name)))


class PathNeeds:
    """Finds non-minimal paths, and paths with open inputs, over one catalogue."""

    def __init__(self, catalogue: ProfiledCatalogue) -> None:
        self._catalogue = catalogue

    def find_fault(self, path: ToolPath, request_class: str = "") -> str:
        """Return why the path is not minimal or an input stays open, one sentence without a full stop; else empty. The
        class of a condition asks for more: that the tool before the action can say whether it holds."""
        edges = [edge for edge in path.edges if edge.kind == "R-P"]
        feeding = {edge.source for edge in edges}
        faults = (
            *map(self.fault_of_edge, edges),
            *_filled_twice(edges),
            *(self._unused_filter(edge) for edge in edges if edge.target in feeding),
            *self._not_minimal(path),
            *self._open(path, edges),
            *(self._done_directly(edge) for edge in edges),
            *self._contained(path),
            *(self._untestable(path, edges) if request_class == _CONDITIONAL else ()),
        )
        return next(filter(None, faults), "")

    def fault_of_edge(self, edge: PathEdge) -> str:
        """Return why an edge makes no step; empty where it may. It fills nothing where the value is a context
        parameter, has a default, or belongs to the caller."""
        parameter = self._parameter(edge)
        if edge.parameter in self._catalogue.profiles[edge.target].context:
            return f"{edge.parameter} of {edge.target} is a context parameter, which no tool fills"
        if parameter is not None and parameter.default and not parameter.required:
            return f"{edge.parameter} of {edge.target} has a default, so nothing needs to fill it"
        if gives_own_object(edge, self._catalogue):
            return f"{edge.source} needs nothing and gives the one {edge.output} that belongs to the caller anyway"
        return ""

    def _unused_filter(self, edge: PathEdge) -> str:
        """A search that takes words needs no tool before it that only fills an optional filter."""
        parameter, profile = self._parameter(edge), self._catalogue.profiles[edge.target]
        if parameter is None or parameter.required or profile.free_text < _TAKES_WORDS or not only_reads(profile):
            return ""
        return f"{edge.target} finds by words, so nothing needs to fill its {edge.parameter}"

    def _not_minimal(self, path: ToolPath) -> Iterator[str]:
        """Of two tools that fill the same inputs of a third, one is not needed."""
        if path.shape == "set":
            return
        fills: dict[str, frozenset[tuple[str, str]]] = {}
        for tool in path.tools:
            if filled := frozenset((edge.target, edge.parameter) for edge in path.edges if edge.source == tool):
                fills[tool] = filled
        for tool, filled in fills.items():
            if filled <= frozenset[tuple[str, str]]().union(*(fills[other] for other in fills if other != tool)):
                yield f"what {tool} gives, other tools of the path give too"

    def _untestable(self, path: ToolPath, edges: list[PathEdge]) -> Iterator[str]:
        """A condition is on a documented output of one thing, or on whether a thing exists that a filter or a search
        names. A list that gives a name beside the identifier tells it too. That another list without a filter has
        anything says nothing."""
        goals = {tool for tool in path.tools if all(edge.source != tool for edge in edges)}
        tested = [edge.source for edge in edges if edge.target in goals and only_reads(self._profile(edge.source))]
        if not tested:
            return
        tool, profile = self._catalogue.tool(tested[-1]), self._profile(tested[-1])
        if profile.action in FINDING_ACTIONS:
            filled = any(edge.target == tool.id for edge in edges)
            named = outputs_beside_names(tool, profile.entity)
            by_name = any(edge.source == tool.id and edge.output in named for edge in edges)
            if not filled and not by_name and not any(map(self._is_filter, profile.consumes)):
                yield f"{tool.id} has no filter, so that it finds something is no condition"
        elif not any(map(_is_testable, tool.returns)):
            yield f"{tool.id} documents no output that a condition could test"

    def _is_filter(self, value: ConsumedValue) -> bool:
        """Whether an input says which things are wanted, not how many or in which form."""
        number = not value.identifier and type_family(value.type) in ("integer", "number", "boolean")
        paging = is_paging(value.parameter, self._catalogue.names) or value.parameter.startswith("$")
        return not (value.context or number or paging)

    def _profile(self, tool: str) -> ToolProfile:
        return self._catalogue.extended_profiles[tool]

    def _open(self, path: ToolPath, edges: list[PathEdge]) -> Iterator[str]:
        """Of nested identifiers the inner one stays open while the outer one is looked up. Who can say which event is
        meant, by its identifier, need not look up the calendar that it is in."""
        for tool_id in path.tools:
            filled = frozenset(edge.parameter for edge in edges if edge.target == tool_id)
            tool, profile = self._catalogue.tool(tool_id), self._catalogue.profiles[tool_id]
            if filled and (inner := _open_inner(tool, profile, filled)):
                yield f"{inner} of {tool_id} is in no output, while what it belongs to is looked up"

    def _done_directly(self, edge: PathEdge) -> str:
        """A tool does the same to the same thing by what the tool before it needs, so that nothing is looked up."""
        source, target = (self._catalogue.extended_profiles[tool] for tool in (edge.source, edge.target))
        known = _keys_of(source)
        if not only_reads(source) or not known:
            return ""
        for other in self._of_thing[target.system, target.entity, target.action]:
            if other not in (edge.source, edge.target) and self._named(other) == self._named(edge.target):
                needed = _keys_of(self._catalogue.extended_profiles[other])
                if needed and needed <= known:
                    return f"{other} does what {edge.target} does without {edge.source}"
        return ""

    def _contained(self, path: ToolPath) -> Iterator[str]:
        """A tool reads a part of the record that another one of the path reads by the same identifiers."""
        if len(path.tools) < 2:
            return
        for whole, part in permutations(path.tools, 2):
            one, two = self._profile(whole), self._profile(part)
            reads = only_reads(one) and only_reads(two) and one.action == "get"
            if not (reads and one.system == two.system and one.entity and two.entity != one.entity):
                continue
            told = frozenset(two.entity.split()) - frozenset(one.entity.split())
            if told and _keys_of(one) and _keys_of(one) == _keys_of(two) and self._has_part(whole, part, told):
                yield f"what {whole} gives has what {part} gives"

    def _has_part(self, tool: str, part: str, told: frozenset[str]) -> bool:
        """Whether an output of a tool has all words of a thing in its name, and no others but those of the part's
        document. The latest reactions to a message are not its reactions."""
        opening = self._catalogue.tool(part).description[:_MAX_OPENING]
        known = frozenset(map(noun_lemma, words(opening))) | frozenset(self._profile(tool).entity.split()) | told
        outputs = (
            words(output.name.replace("[]", "").replace(".", " ")) for output in self._catalogue.tool(tool).returns
        )
        return any(told <= frozenset(map(noun_lemma, named)) <= known for named in outputs)

    @cached_property
    def _of_thing(self) -> Mapping[tuple[str, str, str], list[str]]:
        """(System, thing, action) → the tools."""
        found: dict[tuple[str, str, str], list[str]] = defaultdict(list)
        for tool, profile in self._catalogue.extended_profiles.items():
            found[profile.system, profile.entity, profile.action].append(tool)
        return found

    def _named(self, tool: str) -> frozenset[str]:
        """The words of a tool's name but those by which it finds its thing."""
        named = takewhile(lambda word: word not in _JOINING, words(local_name(self._catalogue.tool(tool))))
        return frozenset(map(noun_lemma, named)) - _IDENTIFYING

    def _parameter(self, edge: PathEdge) -> Parameter | None:
        tool = self._catalogue.tool(edge.target)
        return next((one for one in tool.parameters if one.name == edge.parameter), None)


def _keys_of(profile: ToolProfile) -> frozenset[str]:
    """The things whose identifiers a tool requires."""
    needed = (value for value in profile.consumes if value.required and value.identifier and not value.context)
    return frozenset(value.key[0] for value in needed if value.key != AUTH_KEY)


def _is_testable(output: Parameter) -> bool:
    """Whether a documented output can be compared: a flag, a number, a date, or a state; one value, not one of a list."""
    if "[]" in output.name:
        return False
    last = words(output.name)[-1:]
    return bool(output_kind(output, noun_lemma(last[0]) if last else ""))


def _filled_twice(edges: list[PathEdge]) -> Iterator[str]:
    """One value fills two inputs of a tool: it would go from a thing to the same thing."""
    filled: dict[tuple[str, str, str], str] = {}
    for edge in edges:
        other = filled.setdefault((edge.source, edge.output, edge.target), edge.parameter)
        if other != edge.parameter:
            yield f"one {edge.output} would fill both {other} and {edge.parameter} of {edge.target}"


def _open_inner(tool: Tool, profile: ToolProfile, filled: _Inputs) -> str:
    """Return the identifier of the tool's own object that stays open, where the path has it after a filled one; else empty."""
    path = str(tool.metadata.get("path") or "")
    places: Mapping[str, int] = {
        one.name: path.find("{" + one.name) for one in tool.parameters if one.location == "path" and one.required
    }
    looked_up = [place for name, place in places.items() if name in filled and place >= 0]
    if not looked_up or profile.action == "create":
        return ""
    return next(
        (
            value.parameter
            for value in profile.consumes
            if _is_own(value, profile)
            and value.parameter not in filled
            and places.get(value.parameter, -1) > min(looked_up)
        ),
        "",
    )


def _is_own(value: ConsumedValue, profile: ToolProfile) -> bool:
    """Whether an input identifies the object that the tool is about, by something that people do not say."""
    by_name = value.key[1] in ("name", "email", "slug")
    own = value.key[0] == profile.entity or profile.entity.endswith(f" {value.key[0]}")
    return value.identifier and value.required and not value.context and own and not by_name and value.key != AUTH_KEY
