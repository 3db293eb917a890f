"""The plan of a tool: the tools that must be called before it, by backward chaining over what each of them needs.

A tool that answers the request has open needs. Each is met by the cheapest suppliers, whose own open needs are met in turn: the search
is Dijkstra's. The cost of a step grows with the uncertainty of its edge and with its distance. So this is a budget, not a closure: a
tool far away loses against the next tool that the request itself matches.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import NamedTuple, TypeAlias

from retrieval.completion.needs import DEPENDS_ON, RESOLVED_BY, Need, Supplier
from retrieval.query.supporting_tool import SupportingTool

__all__ = ["Costs", "OpenNeeds", "plan"]

_LEAST = 0.01
"""The cost of a step is at least this, so that a supporting tool is always below the tool that it serves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """What a step to a supplier costs, in standard deviations of the scores, and the limits of a plan.

    ``dependency``, ``position`` and ``further`` were found on the set toollinkos, where half or twice these is within a point of
    CompleteRecall@10; ``resolver`` is the ranking weight ``resolver_margin``. The others are chosen after how often a supplier of that kind
    is in the gold set of a request with an open input (of 17 sets: resolvers 4 of 10, other suppliers 2 of 10, of optional inputs 1 of
    10). Half of ``supplier`` costs .4 points of the mean over 15 sets, twice of it 1 point of Recall@10 of long tasks; half or twice of each
    other moves the means by less than .3.

    :param dependency: a tool that a document says must go first.
    :param position: each tool that the document names before it.
    :param resolver: a tool that turns words into the identifier that is needed.
    :param supplier: any other tool with an output that fills the input.
    :param optional: more, for an input without which the tool can be called.
    :param uncertainty: factor of −ln confidence.
    :param alternative: more, for each cheaper supplier of the same input.
    :param standing: less, for each standard deviation that the supplier's own score is above the mean.
    :param further: share of the cost of a step that each step before it adds.
    :param alternatives: suppliers of one input that are followed.
    :param depth: steps from the tool that answers.
    :param tools: supporting tools of one tool; an answer has about ten.
    """

    dependency: float = 0.02
    position: float = 0.03
    resolver: float = 0.5
    supplier: float = 1.0
    optional: float = 0.5
    uncertainty: float = 0.3
    alternative: float = 0.3
    standing: float = 0.1
    further: float = 0.5
    alternatives: int = 2
    depth: int = 15
    tools: int = 15

    def of(self, supplier: Supplier) -> float:
        """The cost of one step to a supplier of a required input, before its standing and the alternatives."""
        if supplier.predicate == DEPENDS_ON:
            base = self.dependency
        else:
            base = self.resolver if supplier.predicate == RESOLVED_BY else self.supplier
        return base + self.position * supplier.position - self.uncertainty * math.log(supplier.confidence)


OpenNeeds: TypeAlias = Callable[[int], Sequence[Need]]
"""The needs of a tool that neither the request nor its context meets."""


def _no_standing(tool: int) -> float:
    return 0.0


def plan(
    tool: int, open_needs: OpenNeeds, costs: Costs, standing: Callable[[int], float] = _no_standing
) -> list[SupportingTool]:
    """The tools of the least cost that must go before a tool, by cost, then by steps and number; each with its cheapest reason.

    :param standing: how well a tool itself matches the request, in standard deviations of the scores above their mean.
    """
    found: dict[int, _Reason | None] = {}
    serial = count()  # of equal reasons the first
    heap: list[tuple[float, int, int, int, _Reason | None]] = [(0.0, 0, tool, next(serial), None)]
    while heap and len(found) <= costs.tools:
        cost, steps, nearest, _, reason = heapq.heappop(heap)
        if nearest in found:
            continue
        found[nearest] = reason
        if steps == costs.depth:
            continue
        for need in open_needs(nearest):
            for step, supplier in _cheapest(need, costs, standing):
                if supplier.tool in found:
                    continue
                whole = cost + step * (1 + costs.further * steps)
                why = _Reason(nearest, need, supplier, whole, steps + 1)
                heapq.heappush(heap, (whole, steps + 1, supplier.tool, next(serial), why))
    return [reason.of(tool) for reason in found.values() if reason is not None]


class _Reason(NamedTuple):
    """Why a tool may be in a plan. Most reasons are dropped for a cheaper one."""

    consumer: int
    need: Need
    supplier: Supplier
    cost: float
    steps: int

    def of(self, answers: int) -> SupportingTool:
        return SupportingTool(
            tool=self.supplier.tool,
            answers=answers,
            consumer=self.consumer,
            parameter=self.need.parameter,
            output=self.supplier.output,
            predicate=self.supplier.predicate,
            required=self.need.required,
            confidence=self.supplier.confidence,
            cost=self.cost,
            steps=self.steps,
        )


def _cheapest(need: Need, costs: Costs, standing: Callable[[int], float]) -> Iterator[tuple[float, Supplier]]:
    """The cheapest suppliers of a need, with the cost of the step."""
    steps = [
        (costs.of(each), each)
        if each.predicate == DEPENDS_ON  # what a document says needs no support by the request
        else (max(costs.of(each) - costs.standing * standing(each.tool), _LEAST), each)
        for each in need.suppliers
    ]
    extra = 0.0 if need.required else costs.optional
    steps.sort(key=lambda pair: (pair[0], pair[1].tool))
    for place, (step, supplier) in enumerate(steps[: costs.alternatives]):
        yield step + extra + costs.alternative * place, supplier
