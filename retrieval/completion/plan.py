"""The way back from a tool to those that must be called before it, over the needs of each.

:func:`plan` finds what may join an answer: all that is near, as each step costs more than the one before it, so that a tool far away
loses against the next tool that the request itself matches. :func:`chosen_calls` makes a sequence of calls of what is nearest.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import TypeAlias

from retrieval.completion.needs import DEPENDS_ON, RESOLVED_BY, Need, Supplier
from retrieval.query.context import SupportingTool

# The needs of a tool that neither the request nor its context meets.
OpenNeeds: TypeAlias = Callable[[int], Sequence[Need]]
_LEAST = 0.01  # a supporting tool is always below the tool that it serves


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """What a step to a supplier costs, in standard deviations of the scores, and the limits of a plan.

    ``dependency``, ``position`` and ``further`` were found on the set toollinkos. The other costs are chosen after how often a supplier of that
    kind is in the gold set of a request with an open input (seventeen sets); half or twice of each moves the mean of the sets by less than .3
    points at 10 tools.
    """

    dependency: float = 0.02  # a tool that a document says must go first
    position: float = 0.03  # each tool that the document names before it
    # a tool that turns words into the identifier that is needed: the ranking weight ``resolver_margin``
    resolver: float = 0.5
    supplier: float = 1.0  # any other tool with an output that fills the input
    optional: float = 0.5  # more, for an input without which the tool can be called
    uncertainty: float = 0.3  # factor of −ln confidence
    alternative: float = 0.3  # more, for each cheaper supplier of the same input
    standing: float = 0.1  # less, for each standard deviation that the supplier's own score is above the mean
    further: float = 0.5  # share of the cost of a step that each step before it adds
    alternatives: int = 2  # suppliers of one input that are followed
    depth: int = 15  # steps from the tool that answers
    tools: int = 15  # supporting tools of one tool; an answer has about ten


def plan(
    tool: int, open_needs: OpenNeeds, costs: Costs, standing: Callable[[int], float] = lambda tool: 0.0
) -> list[SupportingTool]:
    """The tools of the least cost that must go before a tool, by cost, then by steps and number; each with its cheapest
    reason (Dijkstra). ``standing``: how well a tool itself matches the request, in standard deviations of the scores
    above their mean."""
    found: dict[int, SupportingTool | None] = {}
    serial = count()  # of equal reasons the first
    heap: list[tuple[float, int, int, int, tuple[int, Need, Supplier] | None]] = [(0.0, 0, tool, next(serial), None)]
    while heap and len(found) <= costs.tools:
        cost, steps, nearest, _, reason = heapq.heappop(heap)
        if nearest in found:
            continue
        found[nearest] = None
        if reason is not None:
            consumer, need, supplier = reason
            found[nearest] = SupportingTool(
                tool=nearest,
                answers=tool,
                consumer=consumer,
                parameter=need.parameter,
                output=supplier.output,
                predicate=supplier.predicate,
                required=need.required,
                confidence=supplier.confidence,
                cost=cost,
                steps=steps,
            )
        if steps == costs.depth:
            continue
        for need in open_needs(nearest):
            for step, supplier in _cheapest(need, costs, standing)[: costs.alternatives]:
                if supplier.tool not in found:
                    whole = cost + step * (1 + costs.further * steps)
                    heapq.heappush(heap, (whole, steps + 1, supplier.tool, next(serial), (nearest, need, supplier)))
    return [each for each in found.values() if each is not None]


def _cheapest(need: Need, costs: Costs, standing: Callable[[int], float]) -> list[tuple[float, Supplier]]:
    """The suppliers of a need with the cost of the step, the cheapest first; each costs more for those before it."""
    bases = {DEPENDS_ON: costs.dependency, RESOLVED_BY: costs.resolver}
    steps = []
    for each in need.suppliers:
        base = bases.get(each.predicate, costs.supplier)
        step = base + costs.position * each.position - costs.uncertainty * math.log(each.confidence)
        if each.predicate != DEPENDS_ON:  # what a document says needs no support by the request
            step = max(step - costs.standing * standing(each.tool), _LEAST)
        steps.append((step, each))
    extra = 0.0 if need.required else costs.optional
    steps.sort(key=lambda pair: (pair[0], pair[1].tool))
    return [(step + extra + costs.alternative * place, supplier) for place, (step, supplier) in enumerate(steps)]


@dataclass(frozen=True, slots=True)
class Choice:
    """How one need of a tool is met."""

    tool: int
    need: Need
    supplier: Supplier | None  # None: by no tool


@dataclass(frozen=True, slots=True, kw_only=True)
class CallChoices:
    """The choices of a plan of calls."""

    # its tools, each after its suppliers; those of an earlier goal, and of an earlier need, first
    order: tuple[int, ...]
    choices: Mapping[int, tuple[Choice, ...]]  # tool → one for each of its open needs, in their order


# An identifier is looked up by three calls rather than asked of the user, and not by more. Chosen, not tuned.
_CALLS = Costs(alternatives=1, depth=3)


def chosen_calls(
    goals: Sequence[int], open_needs: OpenNeeds, standing: Callable[[int], float] = lambda tool: 0.0
) -> CallChoices:
    """The calls that lead to goals: each required need takes its nearest supplier, a goal before all others, and a need of
    which a supplier is called anyway takes that one. ``standing``: as of :func:`plan`."""
    called = {*goals}

    def stands(tool: int) -> float:
        return math.inf if tool in goals else standing(tool)  # a goal is called anyway

    for goal in goals:
        nearest = plan(goal, lambda tool: [need for need in open_needs(tool) if need.required], _CALLS, stands)
        for each in nearest:
            if len(called) - len(goals) < _CALLS.tools:
                called.add(each.tool)
    order: list[int] = []
    choices: dict[int, tuple[Choice, ...]] = {}

    def call(tool: int, path: frozenset[int]) -> None:
        made = []
        for need in open_needs(tool):
            possible = (supplier for _, supplier in _cheapest(need, _CALLS, stands))
            supplier = next((each for each in possible if each.tool in called and each.tool not in path), None)
            made.append(Choice(tool, need, supplier))
            if supplier is not None and supplier.tool not in order:
                call(supplier.tool, path | {supplier.tool})
        if made:
            choices[tool] = tuple(made)
        order.append(tool)

    for goal in goals:
        if goal not in order:
            call(goal, frozenset((goal,)))
    return CallChoices(order=tuple(order), choices=choices)
