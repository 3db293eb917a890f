"""Build paths around one tool, with a wanted length, for one class of requests."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from datagen.extended_profiles import FINDING_ACTIONS, only_reads
from datagen.paths.edge_filter import EdgeFilter
from datagen.paths.usage import Usage
from datagen.tool_links import ToolLinks
from datagen.tool_path import PathEdge, Shape, ToolPath
from ingest.linking import ToolProfile

__all__ = ["PathBuilder", "StepRules"]

_MAX_VALIDATED = 12  # maximum number of candidates that are validated for one position
_SHARE_SIMILAR, _SHARE_SAME_GROUP = 0.45, 0.7  # a random number below: a tool with similar inputs; below: of one group
_MAX_COMPARED = 400  # maximum number of tools that are tested for independence


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRules:
    """The requirements of a class for dependent steps.

    :param reads_first: whether every step on which another depends must be read-only.
    :param writes_last: whether the last step must not be read-only.
    :param shapes: the shapes to draw from; a repeated shape is more likely.
    """

    reads_first: bool = False
    writes_last: bool = False
    shapes: tuple[Shape, ...] = ("chain",)


class _Step(NamedTuple):
    """A tool that is added to a path, and its edges to the path."""

    tool: str
    edges: tuple[PathEdge, ...]


class PathBuilder:
    """Builds paths from validated steps, the least used tools first.

    :param rank: map from tool id to its position in a random order, which breaks ties.
    :param check: the edge from a tool that reads a thing to one that changes the same thing, or None.
    """

    def __init__(
        self,
        profiles: Mapping[str, ToolProfile],
        steps: EdgeFilter,
        pp: ToolLinks,
        usage: Usage,
        *,
        rank: Mapping[str, int],
        rng: random.Random,
        check: Callable[[str, str], PathEdge | None] = lambda source, target: None,
    ) -> None:
        self._profiles = profiles
        self._steps = steps
        self._pp = pp
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

        :param length: the number of tools that is wanted; at least three are there.
        """
        sources = [anchor, *self._least_used(self._steps.predecessors(anchor), anchor, before=True)]
        found = (self._fan_at(source, anchor, rules, length) for source in sources[:_MAX_VALIDATED])
        return next((path for path in found if path is not None), None)

    def checked(self, anchor: str) -> ToolPath | None:
        """Return a tool that reads a thing, and one that changes the same thing; the anchor is one of the two.

        The request states which thing it is, so the first is needed only where the change depends on what it reads.
        """
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
        is_able: Callable[[str], bool] = lambda tool: True,
    ) -> ToolPath | None:
        """Return independent tools that somebody has to do with at once: of one system, one group or one object.

        Some have similar inputs, some are of the same group.

        :param near: whether all must be of one system and about one thing. On two catalogues of vendors the generator had
            9 and 6 texts of 30 over other sets.
        :param is_able: whether a tool can be one of them.
        """
        tools = list(start)
        while len(tools) < length:
            others = self._near(tools) if near else self._independent_of(tools)
            found = next(filter(is_able, others), None)
            if found is None:
                break
            tools.append(found)
        if len(tools) < 2:
            return None
        edges = [edge for tool in tools for edge in self._pp.out_of(tool) if edge.target in tools]
        return ToolPath(tools=tuple(tools), edges=tuple(edges), shape="set")

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
        alike = [edge.target for edge in self._pp.out_of(last)] + [edge.source for edge in self._pp.into(last)]
        pools = [alike, self._of_group[self._usage.group[last]], self._ranked]
        first = 0 if draw < _SHARE_SIMILAR else 1 if draw < _SHARE_SAME_GROUP else 2
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
    """Whether somebody asks for two tools in one message: they share a thing, and none reads or removes what the other works on.

    Of one entity that is a list and a new one of one owner; nobody shows and deletes a thing at once, nor what belongs to what is deleted.
    """
    if one.system != other.system or _things(one).isdisjoint(_things(other)):
        return False
    if one.entity == other.entity:
        actions = {one.action, other.action}
        owned = not _required_objects(one).isdisjoint(_required_objects(other))
        return owned and "create" in actions and not actions.isdisjoint(FINDING_ACTIONS)
    removed = {profile.entity for profile in (one, other) if profile.action == "delete"}
    return removed.isdisjoint(_required_objects(other) if one.action == "delete" else _required_objects(one))
