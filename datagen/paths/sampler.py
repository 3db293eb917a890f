"""Sample tool paths for each class; groups, tools and edges are covered evenly."""

from __future__ import annotations

import hashlib
import heapq
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from datagen.catalogue import FINDING_ACTIONS, ProfiledCatalogue, only_reads, word_set
from datagen.paths.alternatives import InterchangeableTools
from datagen.paths.edges import MIN_CONFIDENCE, EdgeFilter
from datagen.paths.needs import PathNeeds
from datagen.paths.sequence import SequenceRules, state_check
from datagen.requests import CLASSES, PathEdge, RejectedRequest, Shape, ToolLinks, ToolPath
from datagen.slots import find_unsayable
from ingest.linking import ToolProfile, type_family
from ontology.errors import InvalidArgumentError
from ontology.names import noun_lemma, words
from ontology.reporting import Progress
from ontology.tool import Parameter, Tool

_MIN_FREE_TEXT = 0.8  # minimum free-text score of a search in documents
_MAX_VALIDATED = 12  # maximum number of candidates that are validated for one position
_SHARE_SAME_GROUP = 0.7  # a random number below: a tool of the same group, else any
_MAX_COMPARED = 400  # maximum number of tools that are tested for independence
# Map from the number of dependent tools in a path to the share of the paths
_LENGTHS = {2: 0.40, 3: 0.35, 4: 0.15, 5: 0.10}
_SET_LENGTHS = {2: 0.55, 3: 0.30, 4: 0.15}  # the same for independent tools
_GENERAL_QUESTION = "ir-multi-intent"
_MAX_NOTICE = 120  # characters of a document that say that a tool is deprecated
_FORKED = 3  # number of tools of a join, and fewest of a fan
_ATTEMPTS = 3  # maximum number of attempts for a path around one tool
_SHARE_ANSWERED = 0.5  # share of the paths with a tool for the answer, where the documents have a question too
_SHARE_ALONE = 0.5  # share of the actions next to a general question without a chain before them
_SHARE_CHECKED = 0.5  # share of conditions on the state of the thing that is changed, where there is such a pair of tools; chosen, not measured
_WHY_NONE = {
    "single-intent": "every tool has a path of its own",
    "multi-intent": "no other tool of its system, its group or its object is independent of it",
    "ir-multi-intent": "no further action or chain goes with a question",
}
_NO_STEP = "no step that leads to it or from it passes, or every such path is there already"
_Lengths = Counter[int]  # map from the number of tools in a path to the number of paths
# Makes a path around a tool, given the lengths of the paths of its class so far
_MakePath = Callable[[str, _Lengths], ToolPath | None]


def answers_general_questions(tool: Tool, profile: ToolProfile) -> bool:
    """Whether a tool reads general knowledge: its name has such a source, or it searches documents for words. A tool
    that requires an identifier does not answer general questions. Where the name of the source is that of objects of a
    system too, such as policies on access or articles on sale, it must take a question."""
    if not only_reads(profile):
        return False
    takes_identifier = any(value.required and value.identifier for value in profile.consumes)
    named = {noun_lemma(word) for word in words(tool.name)}
    if sources := named & word_set("sources"):
        told = bool(sources - word_set("objects"))
        return not takes_identifier and (told or any(map(_takes_question, tool.parameters)))
    searches = profile.action == "search" and profile.free_text >= _MIN_FREE_TEXT and not takes_identifier
    return searches and bool(named & word_set("documents"))


def _takes_question(parameter: Parameter) -> bool:
    """Whether an input is for the words of a question."""
    named = set(map(noun_lemma, words(parameter.name)))
    return type_family(parameter.type) == "string" and bool(named) and named <= word_set("questions")


class Usage:
    """How often tools, groups and pairs of tools stand in paths."""

    def __init__(self, catalogue: ProfiledCatalogue) -> None:
        self.group: Mapping[str, str] = {tool.id: catalogue.group(tool.id) for tool in catalogue.tools}
        self.tools: Counter[str] = Counter()
        self.pairs: Counter[tuple[str, str]] = Counter()
        self._size = Counter(self.group.values())
        self._groups: Counter[str] = Counter()

    def add(self, path: ToolPath) -> None:
        """Count a path."""
        for tool in path.tools:
            self.tools[tool] += 1
            self._groups[self.group[tool]] += 1
        self.pairs.update(path.rp_pairs)

    def share(self, group: str) -> float:
        """How often a tool of the group was used, by the number of its tools."""
        return self._groups[group] / self._size[group]


class Anchors:
    """The tools around which a path may be made, the least used of the least used group first. Counts only grow, so the
    top of a heap is right when it is compared again before it is taken."""

    def __init__(self, tools: Iterable[str], usage: Usage, rank: Mapping[str, int]) -> None:
        self._usage = usage
        self._rank = rank
        self._tools: dict[str, list[tuple[int, int, str]]] = {}
        for tool in tools:
            self._tools.setdefault(usage.group[tool], []).append((usage.tools[tool], rank[tool], tool))
        for heap in self._tools.values():
            heapq.heapify(heap)
        self._groups = [(usage.share(group), heap[0][1], group) for group, heap in self._tools.items()]
        heapq.heapify(self._groups)

    def next(self) -> str | None:
        """The next tool, which is then removed; None when there is none."""
        while self._groups:
            share, rank, group = heapq.heappop(self._groups)
            if not self._tools[group]:
                continue
            if (now := self._usage.share(group)) > share:
                heapq.heappush(self._groups, (now, rank, group))
                continue
            tool = self._least_used(self._tools[group])
            if self._tools[group]:
                heapq.heappush(self._groups, (share, rank, group))
            return tool
        return None

    def put_back(self, tool: str) -> None:
        """Add a tool again."""
        group = self._usage.group[tool]
        was_empty = not self._tools.setdefault(group, [])
        heapq.heappush(self._tools[group], (self._usage.tools[tool], self._rank[tool], tool))
        if was_empty:
            heapq.heappush(self._groups, (self._usage.share(group), self._rank[tool], group))

    def _least_used(self, heap: list[tuple[int, int, str]]) -> str:
        while True:
            count, rank, tool = heapq.heappop(heap)
            if (now := self._usage.tools[tool]) == count:
                return tool
            heapq.heappush(heap, (now, rank, tool))


def shuffled_ranks(tools: Sequence[str], rng: random.Random) -> dict[str, int]:
    """Tool → its position in a random order."""
    shuffled = sorted(tools)
    rng.shuffle(shuffled)
    return {tool: position for position, tool in enumerate(shuffled)}


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRules:
    """The requirements of a class for dependent steps."""

    reads_first: bool = False  # whether every step on which another depends must be read-only
    writes_last: bool = False  # whether the last step must not be read-only
    shapes: tuple[Shape, ...] = ("chain",)  # the shapes to draw from; a repeated shape is more likely


class _Step(NamedTuple):
    """A tool that is added to a path, and its edges to the path."""

    tool: str
    edges: tuple[PathEdge, ...]


class PathBuilder:
    """Builds paths from validated steps, the least used tools first; ``rank``, the position of a tool in a random
    order, breaks ties. ``check`` gives the edge from a tool that reads a thing to one that changes the same thing, or
    None."""

    def __init__(
        self,
        profiles: Mapping[str, ToolProfile],
        steps: EdgeFilter,
        usage: Usage,
        *,
        rank: Mapping[str, int],
        rng: random.Random,
        check: Callable[[str, str], PathEdge | None] = lambda source, target: None,
    ) -> None:
        self._profiles = profiles
        self._steps = steps
        self._usage = usage
        self._rank = rank
        self._rng = rng
        self._check = check
        self._ranked = sorted(rank, key=lambda tool: rank[tool])
        self._of_group: dict[str, list[str]] = {}
        for tool in self._ranked:
            self._of_group.setdefault(usage.group[tool], []).append(tool)
        self._of_thing: dict[tuple[str, str], list[str]] = {}
        for tool in self._ranked:
            for thing in _things(profiles[tool]):
                self._of_thing.setdefault((profiles[tool].system, thing), []).append(tool)

    def reads(self, tool: str) -> bool:
        """Whether a tool only reads."""
        return only_reads(self._profiles[tool])

    def chain(self, anchor: str, length: int, rules: StepRules) -> ToolPath | None:
        """Return a chain of two to ``length`` tools through the anchor; None where there is none."""
        tools, edges = [anchor], list[PathEdge]()
        directions = [True, False]  # forward, backward
        while len(tools) < length and directions:
            forward = directions[0] if len(directions) == 1 else self._rng.random() < 0.5
            step = self._next_step(tools, rules) if forward else self._previous_step(tools, edges, rules)
            if step is None:
                directions.remove(forward)
            elif forward:
                tools, edges = [*tools, step.tool], [*edges, *step.edges]
            else:
                tools, edges = [step.tool, *tools], [*step.edges, *edges]
        if len(tools) < 2 or (rules.writes_last and self.reads(tools[-1])):
            return None
        return ToolPath(tools=tuple(tools), edges=tuple(edges), shape="chain")

    def join(self, anchor: str, rules: StepRules) -> ToolPath | None:
        """Return two tools that fill different inputs of a third; the anchor is the third tool, or else one of the two."""
        targets = [anchor, *self._least_used(self._steps.successors(anchor), anchor, before=False)]
        found = (self._join_at(target, anchor, rules) for target in targets[:_MAX_VALIDATED])
        return next((path for path in found if path is not None), None)

    def fan(self, anchor: str, rules: StepRules, length: int = 3) -> ToolPath | None:
        """Return a tool that feeds two independent tools, or more; the anchor is the first tool, or else one of them.
        Of the ``length`` tools that are wanted at least three are there."""
        sources = [anchor, *self._least_used(self._steps.predecessors(anchor), anchor, before=True)]
        found = (self._fan_at(source, anchor, rules, length) for source in sources[:_MAX_VALIDATED])
        return next((path for path in found if path is not None), None)

    def checked(self, anchor: str) -> ToolPath | None:
        """Return a tool that reads a thing, and one that changes the same thing; the anchor is one of the two. The
        request states which thing it is, so the first is needed only where the change depends on what it reads."""
        profile, first = self._profiles[anchor], self.reads(anchor)
        alike = self._of_thing.get((profile.system, profile.entity), ()) if profile.entity else ()
        for other in self._least_used(alike, anchor, before=not first):
            edge = self._check(anchor, other) if first else self._check(other, anchor)
            if edge is not None:
                return ToolPath(tools=(edge.source, edge.target), edges=(edge,), shape="chain")
        return None

    def independent(
        self,
        start: Sequence[str],
        length: int,
        *,
        near: bool = False,
    ) -> ToolPath | None:
        """Return independent tools that somebody has to do with at once: of one system, one group or one object. Some
        have similar inputs, some are of the same group. With ``near`` all must be of one system and about one thing: on
        two catalogues of vendors the generator had 9 and 6 texts of 30 over other sets."""
        tools = list(start)
        while len(tools) < length:
            others = self._near(tools) if near else self._independent_of(tools)
            found = next(others, None)
            if found is None:
                break
            tools.append(found)
        if len(tools) < 2:
            return None
        return ToolPath(tools=tuple(tools), shape="set")

    def is_independent(self, tool: str, others: Iterable[str]) -> bool:
        """Whether a tool neither does the same as the others nor is connected to one."""
        return self._differs(tool, others) and not any(self._steps.connected(tool, other) for other in others)

    def _join_at(self, target: str, anchor: str, rules: StepRules) -> ToolPath | None:
        if rules.writes_last and self.reads(target):
            return None
        candidates = self._anchor_first(anchor, target, self._steps.predecessors(target), before=True)
        able = [tool for tool in candidates if not rules.reads_first or self.reads(tool)]
        for one, other in self._pairs(able, target):
            first, second = self._steps.edges(one, target), self._steps.edges(other, target)
            filled = {edge.parameter for edge in first}
            kept = tuple(edge for edge in second if edge.parameter not in filled)
            # Each must be needed: neither fills the input that the other fills.
            if first and kept and not self._fills_any(other, first) and not self._fills_any(one, kept):
                return ToolPath(tools=(one, other, target), edges=(*first, *kept), shape="join")
        return None

    def _fan_at(self, source: str, anchor: str, rules: StepRules, length: int) -> ToolPath | None:
        if rules.reads_first and not self.reads(source):
            return None
        candidates = self._anchor_first(anchor, source, self._steps.successors(source), before=False)
        able = [tool for tool in candidates if not rules.writes_last or not self.reads(tool)]
        for one, other in self._pairs(able, source):
            first, second = self._steps.edges(source, one), self._steps.edges(source, other)
            if first and second and not self._removes(one, other):
                tools, edges = [one, other], [*first, *second]
                for further in able[:_MAX_VALIDATED]:
                    if len(tools) + 1 >= length:
                        break
                    apart = self._differs(further, [source]) and self.is_independent(further, tools)
                    if apart and not any(self._removes(further, tool) for tool in tools):
                        if more := self._steps.edges(source, further):
                            tools, edges = [*tools, further], [*edges, *more]
                return ToolPath(tools=(source, *tools), edges=tuple(edges), shape="fan")
        return None

    def _removes(self, one: str, other: str) -> bool:
        """Whether one of two tools deletes: the other would work on the same thing, which the tool before them gives."""
        return "delete" in (self._profiles[one].action, self._profiles[other].action)

    def _anchor_first(self, anchor: str, end: str, tools: Sequence[str], *, before: bool) -> list[str]:
        """Sort by use, least used first; the anchor, if it is one of the tools, comes first."""
        return sorted(self._least_used(tools, end, before=before), key=lambda tool: tool != anchor)

    def _pairs(self, tools: Sequence[str], end: str) -> Iterator[tuple[str, str]]:
        """Yield the first tool that differs from the end, paired with each of the others that is independent of it."""
        able = [tool for tool in tools if self._differs(tool, [end])][:_MAX_VALIDATED]
        for one in able[:1]:
            yield from ((one, other) for other in able[1:] if self.is_independent(other, [one]))

    def _fills_any(self, tool: str, edges: Iterable[PathEdge]) -> bool:
        return any(self._steps.fills(tool, edge.target, edge.parameter) for edge in edges)

    def _independent_of(self, tools: Sequence[str]) -> Iterator[str]:
        draw, last = self._rng.random(), tools[-1]
        pools = [self._of_group[self._usage.group[last]], self._ranked]
        first = 0 if draw < _SHARE_SAME_GROUP else 1
        for pool in (pools[first], *pools[:first], *pools[first + 1 :]):
            start = self._rng.randrange(len(pool)) if len(pool) > _MAX_COMPARED else 0
            compared = (pool[start:] + pool[:start])[:_MAX_COMPARED]
            by_use = sorted(compared, key=lambda tool: (self._usage.tools[tool], self._rank[tool]))
            yield from (tool for tool in by_use if self._belongs(tool, tools) and self.is_independent(tool, tools))

    def _near(self, tools: Sequence[str]) -> Iterator[str]:
        """Yield independent tools of the system that are about one thing with each of these, the least used pairs first."""
        profiles = [self._profiles[one] for one in tools]
        alike = {
            other for thing in _things(profiles[0]) for other in self._of_thing.get((profiles[0].system, thing), ())
        }
        by_use = self._least_used(sorted(alike), tools[-1], before=False)
        for tool in sorted(by_use, key=lambda tool: profiles[0].entity == self._profiles[tool].entity):
            if all(_go_together(self._profiles[tool], one) for one in profiles) and self.is_independent(tool, tools):
                yield tool

    def _belongs(self, tool: str, others: Iterable[str]) -> bool:
        """Whether a tool has the system, the group or the object of one of the others, or takes the same object."""
        own, group = self._profiles[tool], self._usage.group[tool]
        for other in others:
            theirs = self._profiles[other]
            if own.system == theirs.system or group == self._usage.group[other] or own.entity == theirs.entity != "":
                return True
            if not _required_objects(own).isdisjoint(_required_objects(theirs)):
                return True
        return False

    def _next_step(self, tools: Sequence[str], rules: StepRules) -> _Step | None:
        last = tools[-1]
        if rules.reads_first and not self.reads(last):
            return None

        def fits(step: _Step) -> bool:
            # If an earlier step also fills the input, the step between is not needed.
            return not any(
                self._steps.fills(one, step.tool, edge.parameter) for one in tools[:-1] for edge in step.edges
            )

        candidates = self._least_used(self._steps.successors(last), last, before=False)
        return self._validated(candidates, tools, lambda tool: self._steps.edges(last, tool), fits)

    def _previous_step(self, tools: Sequence[str], edges: Sequence[PathEdge], rules: StepRules) -> _Step | None:
        first = tools[0]
        candidates = self._least_used(self._steps.predecessors(first), first, before=True)
        return self._validated(
            (tool for tool in candidates if not rules.reads_first or self.reads(tool)),
            tools,
            lambda tool: self._steps.edges(tool, first),
            lambda step: not self._fills_any(step.tool, edges),
        )

    def _validated(
        self,
        candidates: Iterable[str],
        tools: Sequence[str],
        edges: Callable[[str], tuple[PathEdge, ...]],
        fits: Callable[[_Step], bool],
    ) -> _Step | None:
        """Return the first candidate whose edges pass and which fits; at most 12 are validated."""
        validated = 0
        for tool in candidates:
            if validated == _MAX_VALIDATED:
                return None
            if self._differs(tool, tools):
                validated += 1
                step = _Step(tool, edges(tool))
                if step.edges and fits(step):
                    return step
        return None

    def _least_used(self, tools: Sequence[str], near: str, *, before: bool) -> list[str]:
        def uses(tool: str) -> tuple[int, int, int]:
            pair = (tool, near) if before else (near, tool)
            return self._usage.pairs[pair], self._usage.tools[tool], self._rank[tool]

        return sorted(tools, key=uses)

    def _differs(self, tool: str, others: Iterable[str]) -> bool:
        """Whether a tool is none of these, and has not the same action, entity and system as one of them."""
        own = self._profiles[tool]
        for other in others:
            theirs = self._profiles[other]
            same = (own.action, own.entity, own.system) == (theirs.action, theirs.entity, theirs.system)
            if tool == other or (same and own.entity and own.action != "act"):
                return False
        return True


def _required_objects(profile: ToolProfile) -> frozenset[str]:
    """The entities of which a tool requires an identifier."""
    return frozenset(one.key[0] for one in profile.consumes if one.required and one.identifier and one.key[0])


def _things(profile: ToolProfile) -> frozenset[str]:
    """The entity of a tool, and those of which it requires an identifier."""
    return _required_objects(profile) | {profile.entity} if profile.entity else _required_objects(profile)


def _go_together(one: ToolProfile, other: ToolProfile) -> bool:
    """Whether somebody asks for two tools in one message: they share a thing, and none reads or removes what the other
    works on. Of one entity that is a list and a new one of one owner; nobody shows and deletes a thing at once, nor
    what belongs to what is deleted."""
    if one.system != other.system or _things(one).isdisjoint(_things(other)):
        return False
    if one.entity == other.entity:
        actions = {one.action, other.action}
        owned = not _required_objects(one).isdisjoint(_required_objects(other))
        return owned and "create" in actions and not actions.isdisjoint(FINDING_ACTIONS)
    removed = {profile.entity for profile in (one, other) if profile.action == "delete"}
    return removed.isdisjoint(_required_objects(other) if one.action == "delete" else _required_objects(one))


_RULES: Mapping[str, tuple[StepRules, ...]] = {
    "explicit-multi-step": (StepRules(shapes=("chain", "chain", "chain", "join", "fan")),),
    "implicit-multi-step": (StepRules(reads_first=True, shapes=("chain", "chain", "chain", "chain", "join")),),
    # An action under a condition; in a read-only catalogue, a read under a condition.
    "conditional-multi-step": (
        StepRules(reads_first=True, writes_last=True, shapes=("chain", "chain", "chain", "join", "fan")),
        StepRules(reads_first=True, shapes=("chain",)),
    ),
}


@dataclass(frozen=True, kw_only=True)
class FoundPaths:
    """The paths of each class."""

    by_class: Mapping[str, tuple[ToolPath, ...]]  # in the order found; the paths of a class have distinct sets of tools
    # steps that the validator rejected (stage ``sequence``), paths that are not minimal or have an open input, classes with
    # fewer paths than wanted, and tools without a path (stage ``path``)
    rejected: tuple[RejectedRequest, ...]


def find_paths(
    catalogue: ProfiledCatalogue,
    rp: ToolLinks,
    sequence: SequenceRules,
    *,
    wanted: Mapping[str, int],
    seed: int = 0,
    progress: Progress = lambda stage, done, total: None,
) -> FoundPaths:
    """Find ``wanted`` paths for each class, the least used tools first. Deterministic: an edge is validated only when a
    path needs it, and only an edge that is probably true makes a path. Where fewer are found, a rejection has the
    reason. ``progress`` is called with (``paths``, done, total). Raises InvalidArgumentError for a class that is none
    of the six, ModelError when the validator needs a model and that is unavailable."""
    unknown = sorted(set(wanted) - set(CLASSES))
    if unknown:
        raise InvalidArgumentError(
            "there is no such class of requests", subject=", ".join(unknown), remedy=f"Classes are {', '.join(CLASSES)}"
        )
    finder = _Finder(catalogue, rp, sequence, seed)
    total, done = sum(wanted.values()), 0
    found: dict[str, tuple[ToolPath, ...]] = {}
    too_few: list[RejectedRequest] = []
    for name in CLASSES:
        if not (count := wanted.get(name, 0)):
            continue
        paths = []
        for path in finder.paths(name, count):
            paths.append(path)
            done += 1
            progress("paths", done, total)
        found[name] = tuple(paths)
        if len(paths) < count:
            too_few.append(_too_few(name, len(paths), count, finder.why_none[name]))
    rejected = (*finder.steps.rejected, *finder.rejected, *too_few, *finder.unused_tools(done))
    return FoundPaths(by_class=found, rejected=tuple(dict.fromkeys(rejected)))


class _Finder:
    """Finds the paths of one catalogue, class after class, with common usage counts.

    :ivar why_none: for each class, the reasons why tools have no path, with the number of tools.
    :ivar rejected: the paths that are not minimal or have an open input.
    """

    def __init__(
        self,
        catalogue: ProfiledCatalogue,
        rp: ToolLinks,
        sequence: SequenceRules,
        seed: int,
    ) -> None:
        self._catalogue = catalogue
        self._profiles = catalogue.extended_profiles
        self._seed = seed
        self._usage = Usage(catalogue)
        self.alternatives = InterchangeableTools(catalogue, rp)
        self._all = [tool.id for tool in catalogue.tools]
        self._failed = {tool: why for tool in self._all if (why := self._why_unmeant(tool))}
        self._tools = [tool for tool in self._all if tool not in self._failed]
        self._answering = [
            tool for tool in self._tools if answers_general_questions(catalogue.tool(tool), self._profiles[tool])
        ]
        self._needs = PathNeeds(catalogue)
        self.rejected: list[RejectedRequest] = []
        able = self._between_able(rp)
        self.steps = EdgeFilter(catalogue, able, sequence, MIN_CONFIDENCE, self._needs.fault_of_edge)
        self.why_none: dict[str, Counter[str]] = {name: Counter() for name in CLASSES}

    def paths(self, name: str, count: int) -> Iterator[ToolPath]:
        """Yield up to ``count`` paths of a class."""
        rng = random.Random(int.from_bytes(hashlib.sha256(f"{self._seed}\n{name}".encode()).digest()[:8], "big"))
        rank = shuffled_ranks(self._tools, rng)
        check = partial(state_check, self._catalogue)
        builder = PathBuilder(self._profiles, self.steps, self._usage, rank=rank, rng=rng, check=check)
        seen: set[frozenset[str]] = set()
        for make in self._ways(name, builder, rng):
            for path in self._around_anchors(name, make, count - len(seen), rank, seen):
                self._usage.add(path)
                yield self.alternatives.with_alternatives(path)

    def unused_tools(self, paths: int) -> Iterator[RejectedRequest]:
        """Yield a rejection for each tool that is in no path, with the reason."""
        for tool in self._all:
            if not self._usage.tools[tool]:
                why = f"; {self._failed[tool]}" if tool in self._failed else ""
                reason = f"the {paths:,} paths were found without it{why}"
                yield RejectedRequest(stage="path", subject=(tool,), reason=reason)

    def _why_unmeant(self, tool: str) -> str:
        if "deprecated" in self._catalogue.tool(tool).description[:_MAX_NOTICE].lower():
            return "its document says that it is deprecated"
        if self.alternatives.is_ambiguous(tool):
            return f"{len(self.alternatives.doubles(tool)):,} other tools do the same, so no request could mean it"
        return ""

    def _between_able(self, links: ToolLinks) -> ToolLinks:
        failed = self._failed
        return ToolLinks(tuple(edge for edge in links if edge.source not in failed and edge.target not in failed))

    def _around_anchors(
        self, name: str, make: _MakePath, count: int, rank: Mapping[str, int], seen: set[frozenset[str]]
    ) -> Iterator[ToolPath]:
        """Yield paths around the least used tools, as long as new paths are found."""
        answering = frozenset(self._answering if name == _GENERAL_QUESTION else ())
        own = [tool for tool in self._tools if tool not in answering] or self._tools
        anchors = Anchors(own, self._usage, rank)
        lengths = _Lengths()
        while count > 0 and (anchor := anchors.next()) is not None:
            made = (self._needed(make(anchor, lengths), name) for _ in range(_ATTEMPTS))
            path = next((one for one in made if one is not None and frozenset(one.tools) not in seen), None)
            if path is None:
                why = _WHY_NONE.get(name, _NO_STEP)
                self.why_none[name][why] += 1
                self._failed.setdefault(anchor, f"{name}: {why}")
                continue
            seen.add(frozenset(path.tools))
            lengths[len(path.tools)] += 1
            count -= 1
            yield path
            anchors.put_back(anchor)

    def _needed(self, path: ToolPath | None, name: str) -> ToolPath | None:
        """Return the path if each of its tools is needed and no input stays open; else None."""
        if path is None or any(not set(path.tools).isdisjoint(self.alternatives.doubles(tool)) for tool in path.tools):
            return None
        if fault := self._needs.find_fault(path, name) or self._unsayable(path):
            rejected = RejectedRequest(stage="path", subject=path.tools, reason=fault, request_class=name)
            self.rejected.append(rejected)
            return None
        return path

    def _unsayable(self, path: ToolPath) -> str:
        for tool in path.tools:
            filled = [edge.parameter for edge in path.into(tool)]
            if why := find_unsayable(self._catalogue.tool(tool), self._profiles[tool], filled):
                return f"{tool} cannot be asked for: {why}"
        return ""

    def _ways(self, name: str, builder: PathBuilder, rng: random.Random) -> Iterator[_MakePath]:
        """Yield the functions that make a path of the class around a tool; each is used until it makes no new path."""
        if name == "single-intent":
            yield lambda anchor, lengths: ToolPath(tools=(anchor,))
        elif name == "multi-intent":
            for near in (True, False):
                yield partial(self._independent, near=near, builder=builder)
        elif name == _GENERAL_QUESTION:
            yield lambda anchor, lengths: self._beside_question(anchor, builder, rng)
        else:
            make = _conditional if name == "conditional-multi-step" else _dependent
            for rules in _RULES[name]:
                yield partial(make, rules=rules, builder=builder, rng=rng)

    def _independent(self, anchor: str, lengths: _Lengths, *, near: bool, builder: PathBuilder) -> ToolPath | None:
        """Return tools that are independent of each other, each of them a request of its own."""
        return builder.independent(
            [anchor],
            _due_length(lengths, _SET_LENGTHS),
            near=near,
        )

    def _beside_question(self, anchor: str, builder: PathBuilder, rng: random.Random) -> ToolPath | None:
        """Return a personal action; without a question of its own, and in some cases beside one, with a tool that answers questions."""
        alone = not builder.reads(anchor) and rng.random() < _SHARE_ALONE
        own = (None if alone else builder.chain(anchor, 2, StepRules(reads_first=True))) or ToolPath(tools=(anchor,))
        if rng.random() >= _SHARE_ANSWERED:
            return own
        by_use = sorted(self._answering, key=lambda tool: self._usage.tools[tool])
        systems = {
            self._profiles[tool].system for tool in own.tools
        }  # of another system nobody asks in the same message
        near = (tool for tool in by_use if self._profiles[tool].system in systems)
        answering = next((tool for tool in near if builder.is_independent(tool, own.tools)), None)
        if answering is None:
            return own
        return ToolPath(tools=(answering, *own.tools), edges=own.edges, shape="set")


def _dependent(
    anchor: str, lengths: _Lengths, *, rules: StepRules, builder: PathBuilder, rng: random.Random
) -> ToolPath | None:
    length = _due_length(lengths, _LENGTHS)
    shape = rng.choice(rules.shapes) if length >= _FORKED else "chain"
    if length > _FORKED and not rules.reads_first:
        shape = "fan"  # a chain of so many steps has no text that anybody follows
    forked: ToolPath | None = None
    if shape == "join":
        forked = builder.join(anchor, rules)
    elif shape == "fan":
        forked = builder.fan(anchor, rules, _FORKED if rules.reads_first else length)
    return forked or builder.chain(anchor, length, rules)


def _conditional(
    anchor: str, lengths: _Lengths, *, rules: StepRules, builder: PathBuilder, rng: random.Random
) -> ToolPath | None:
    """Return a check of a thing and a change of it, or a chain; by turns."""
    checked = builder.checked(anchor) if rng.random() < _SHARE_CHECKED else None
    return checked or _dependent(anchor, lengths, rules=rules, builder=builder, rng=rng)


def _due_length(lengths: _Lengths, shares: Mapping[int, float]) -> int:
    """Return the length that is furthest below its share."""
    total = lengths.total() + 1
    return max(shares, key=lambda length: (shares[length] * total - lengths[length], length))


def _too_few(name: str, found: int, wanted: int, why: Mapping[str, int]) -> RejectedRequest:
    reasons = "; ".join(f"{reason} ({count:,} tools)" for reason, count in why.items())
    return RejectedRequest(
        stage="path",
        subject=(),
        request_class=name,
        reason=f"{found:,} paths are there where {wanted:,} were wanted: {reasons or 'its tools make no more'}",
    )
