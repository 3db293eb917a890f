"""Building paths: around one tool, of a wished length, for one class of requests."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from datagen.links import Links
from datagen.paths.edge_filter import Follows
from datagen.paths.usage import Usage
from datagen.tool_path import PathEdge, Shape, ToolPath
from ingest.linking import ToolProfile

__all__ = ["READS", "Builder", "Rules"]

READS = frozenset(("search", "list", "get"))
_MAX_VALIDATED = 12  # candidates for one place that are validated before it is left empty
_ALIKE, _SAME_GROUP = 0.45, 0.7  # of independent tools: how many are alike, and how many of those left are of one group
_MOST_LOOKED_AT = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What a class asks of its dependent steps.

    :param reads_first: whether every step that another hangs on must read.
    :param writes_last: whether the last must do more than read.
    :param shapes: those that may be drawn, as often as they stand here.
    """

    reads_first: bool = False
    writes_last: bool = False
    shapes: tuple[Shape, ...] = ("chain",)


class Builder:
    """Makes paths out of validated steps, taking what is least used.

    :param rank: tool id → its place in a random order, which decides between equals.
    """

    def __init__(
        self,
        profiles: Mapping[str, ToolProfile],
        follows: Follows,
        pp: Links,
        usage: Usage,
        *,
        rank: Mapping[str, int],
        rng: random.Random,
    ) -> None:
        self._profiles = profiles
        self._follows = follows
        self._pp = pp
        self._usage = usage
        self._rank = rank
        self._rng = rng
        self._ordered = sorted(rank, key=lambda tool: rank[tool])
        self._of_group: dict[str, list[str]] = {}
        for tool in self._ordered:
            self._of_group.setdefault(usage.group[tool], []).append(tool)

    def reads(self, tool: str) -> bool:
        """Whether a tool only reads."""
        return self._profiles[tool].action in READS

    def chain(self, anchor: str, length: int, rules: Rules) -> ToolPath | None:
        """A chain of at most that many tools through the anchor; None where there is none of two."""
        tools, edges = [anchor], list[PathEdge]()
        open_ends = [True, False]  # forward
        while len(tools) < length and open_ends:
            forward = open_ends[0] if len(open_ends) == 1 else self._rng.random() < 0.5
            found = self._follower(tools, rules) if forward else self._forerunner(tools, edges, rules)
            if found is None:
                open_ends.remove(forward)
                continue
            tool, over = found
            tools, edges = ([*tools, tool], [*edges, *over]) if forward else ([tool, *tools], [*over, *edges])
        if len(tools) < 2 or (rules.writes_last and self.reads(tools[-1])):
            return None
        return ToolPath(tools=tuple(tools), edges=tuple(edges), shape="chain")

    def join(self, anchor: str, rules: Rules) -> ToolPath | None:
        """Two tools that fill different inputs of a third; the anchor is the third, or else one of the two."""
        targets = [anchor, *self._least_used(self._follows.after(anchor), anchor, before=False)]
        found = (self._join_at(target, anchor, rules) for target in targets[:_MAX_VALIDATED])
        return next((path for path in found if path is not None), None)

    def fan(self, anchor: str, rules: Rules) -> ToolPath | None:
        """Two tools that a third feeds and that do not feed each other; the anchor is the third, or else one of the two."""
        sources = [anchor, *self._least_used(self._follows.before(anchor), anchor, before=True)]
        found = (self._fan_at(source, anchor, rules) for source in sources[:_MAX_VALIDATED])
        return next((path for path in found if path is not None), None)

    def _join_at(self, target: str, anchor: str, rules: Rules) -> ToolPath | None:
        if rules.writes_last and self.reads(target):
            return None
        candidates = self._with_first(anchor, target, self._follows.before(target), before=True)
        able = [tool for tool in candidates if not rules.reads_first or self.reads(tool)]
        for one, other in self._couples(able, target):
            first, second = self._follows.edges(one, target), self._follows.edges(other, target)
            filled = {edge.parameter for edge in first}
            kept = tuple(edge for edge in second if edge.parameter not in filled)
            # Each must be needed: neither fills what the other is there for.
            if first and kept and not self._fills_any(other, first) and not self._fills_any(one, kept):
                return ToolPath(tools=(one, other, target), edges=(*first, *kept), shape="join")
        return None

    def _fan_at(self, source: str, anchor: str, rules: Rules) -> ToolPath | None:
        if rules.reads_first and not self.reads(source):
            return None
        candidates = self._with_first(anchor, source, self._follows.after(source), before=False)
        able = [tool for tool in candidates if not rules.writes_last or not self.reads(tool)]
        for one, other in self._couples(able, source):
            first, second = self._follows.edges(source, one), self._follows.edges(source, other)
            if first and second:
                return ToolPath(tools=(source, one, other), edges=(*first, *second), shape="fan")
        return None

    def _with_first(self, anchor: str, end: str, tools: Sequence[str], *, before: bool) -> list[str]:
        """The least used first; where the anchor is one of them, it comes first of all."""
        ordered = list(self._least_used(tools, end, before=before))
        return sorted(ordered, key=lambda tool: tool != anchor)

    def _couples(self, tools: Sequence[str], end: str) -> Iterator[tuple[str, str]]:
        """The first tool that differs from the end, with each of some others that are apart from it."""
        able = [tool for tool in tools if self._differs(tool, [end])][:_MAX_VALIDATED]
        for one in able[:1]:
            yield from ((one, other) for other in able[1:] if self.are_apart(other, [one]))

    def _fills_any(self, tool: str, edges: Sequence[PathEdge]) -> bool:
        return any(self._follows.fills(tool, edge.target, edge.parameter) for edge in edges)

    def independent(self, start: Sequence[str], length: int) -> ToolPath | None:
        """Tools that need nothing of each other: some with alike inputs, some of the same group, some of another."""
        tools = list(start)
        while len(tools) < length:
            found = next(self._apart(tools), None)
            if found is None:
                break
            tools.append(found)
        if len(tools) < 2:
            return None
        edges = [edge for tool in tools for edge in self._pp.out_of(tool) if edge.target in tools]
        return ToolPath(tools=tuple(tools), edges=tuple(edges), shape="set")

    def are_apart(self, tool: str, others: Sequence[str]) -> bool:
        """Whether a tool neither does the same as the others nor is joined to one."""
        return self._differs(tool, others) and not any(self._follows.joined(tool, other) for other in others)

    def _apart(self, tools: Sequence[str]) -> Iterator[str]:
        draw, anchor = self._rng.random(), tools[-1]
        alike = [edge.target for edge in self._pp.out_of(anchor)] + [edge.source for edge in self._pp.into(anchor)]
        own = self._of_group[self._usage.group[anchor]]
        pools = [alike, own, self._ordered]
        first = 0 if draw < _ALIKE else 1 if draw < _SAME_GROUP else 2
        for pool in (pools[first], *pools[:first], *pools[first + 1 :]):
            start = self._rng.randrange(len(pool)) if len(pool) > _MOST_LOOKED_AT else 0
            looked_at = (pool[start:] + pool[:start])[:_MOST_LOOKED_AT]
            ranked = sorted(looked_at, key=lambda tool: (self._usage.tools[tool], self._rank[tool]))
            yield from (tool for tool in ranked if self.are_apart(tool, tools))

    def _follower(self, tools: Sequence[str], rules: Rules) -> tuple[str, tuple[PathEdge, ...]] | None:
        last = tools[-1]
        if rules.reads_first and not self.reads(last):
            return None

        def fits(tool: str, over: tuple[PathEdge, ...]) -> bool:
            # What an earlier step gives as well makes the one between needless.
            return not any(self._follows.fills(one, tool, edge.parameter) for one in tools[:-1] for edge in over)

        candidates = self._least_used(self._follows.after(last), last, before=False)
        return self._validated(candidates, tools, lambda tool: self._follows.edges(last, tool), fits)

    def _forerunner(
        self, tools: Sequence[str], edges: Sequence[PathEdge], rules: Rules
    ) -> tuple[str, tuple[PathEdge, ...]] | None:
        first = tools[0]

        def fits(tool: str, over: tuple[PathEdge, ...]) -> bool:
            return not self._fills_any(tool, edges)

        found = self._least_used(self._follows.before(first), first, before=True)
        candidates = (tool for tool in found if not rules.reads_first or self.reads(tool))
        return self._validated(candidates, tools, lambda tool: self._follows.edges(tool, first), fits)

    def _validated(
        self,
        candidates: Iterator[str],
        tools: Sequence[str],
        edges: Callable[[str], tuple[PathEdge, ...]],
        fits: Callable[[str, tuple[PathEdge, ...]], bool],
    ) -> tuple[str, tuple[PathEdge, ...]] | None:
        validated = 0
        for tool in candidates:
            if validated == _MAX_VALIDATED:
                return None
            if self._differs(tool, tools):
                validated += 1
                over = edges(tool)
                if over and fits(tool, over):
                    return tool, over
        return None

    def _least_used(self, tools: Sequence[str], near: str, *, before: bool) -> Iterator[str]:
        def key(tool: str) -> tuple[int, int, int]:
            pair = (tool, near) if before else (near, tool)
            return self._usage.pairs[pair], self._usage.tools[tool], self._rank[tool]

        yield from sorted(tools, key=key)

    def _differs(self, tool: str, others: Sequence[str]) -> bool:
        """Whether it is another tool than these, and does not do the same to the same thing."""
        own = self._profiles[tool]
        for other in others:
            theirs = self._profiles[other]
            same = (own.action, own.entity, own.system) == (theirs.action, theirs.entity, theirs.system)
            if tool == other or (same and own.entity and own.action != "act"):
                return False
        return True
