"""Two ways back from a tool to those that must be called before it, over the needs of each.

:func:`plan` finds what may join an *answer*: all that is near, as each step costs more than the one before it, so that a tool far away
loses against the next tool that the request itself matches. :func:`cheapest_choices` finds a *sequence of calls*: one choice for each need.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import NamedTuple, TypeAlias

from retrieval.completion.needs import DEPENDS_ON, RESOLVED_BY, SUPPLIES, Need, Supplier
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
            for step, supplier in _cheapest(need, costs, standing):
                if supplier.tool not in found:
                    whole = cost + step * (1 + costs.further * steps)
                    heapq.heappush(heap, (whole, steps + 1, supplier.tool, next(serial), (nearest, need, supplier)))
    return [each for each in found.values() if each is not None]


def _cheapest(need: Need, costs: Costs, standing: Callable[[int], float]) -> Iterator[tuple[float, Supplier]]:
    """The cheapest suppliers of a need, with the cost of the step."""
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
    for place, (step, supplier) in enumerate(steps[: costs.alternatives]):
        yield step + extra + costs.alternative * place, supplier


_LEAST_CALL = 0.1
_SAME = 1e-9  # costs that differ by less are equal: the plan that was found first stays


@dataclass(frozen=True, slots=True, kw_only=True)
class CallCosts:
    """What a plan costs, and its limits. The cost is the sum over its calls, goals aside, and over its choices. Chosen,
    not tuned: an identifier is looked up by two calls rather than asked of the user, and not by four."""

    call: float = 1.0  # each tool that is no goal
    standing: float = 0.2  # less, for each standard deviation that the score of such a tool is above the mean
    # more, for a tool that looks up by words where the request names nothing, and for one that only lists where it does
    words: float = 0.5
    supplies: float = 0.5  # an input that a tool fills which no document and no resolver edge names for it
    uncertainty: float = 0.3  # factor of −ln confidence of each choice
    ask: float = 4.0  # a required input, or a tool that must go first, without a supplier
    leave: float = 1.0  # an optional input without a supplier
    tools: int = 15  # the tools of a plan that are no goals
    suppliers: int = 6  # of one need that are tried
    tried: int = 5_000  # choices that are tried before the best plan so far is taken

    def of_call(self, standing: float = 0.0, *, fits: bool = True) -> float:
        """The cost of a tool that is no goal."""
        return max(self.call - self.standing * standing, _LEAST_CALL) + self.words * (not fits)

    def of_choice(self, need: Need, supplier: Supplier | None) -> float:
        """The cost of a choice, without that of the supplier's call."""
        if supplier is None:
            return self.ask if need.required else self.leave
        return self.supplies * (supplier.predicate == SUPPLIES) - self.uncertainty * math.log(supplier.confidence)


@dataclass(frozen=True, slots=True)
class Choice:
    """How one need of a tool is met."""

    tool: int
    need: Need
    supplier: Supplier | None  # None: by no tool


@dataclass(frozen=True, slots=True, kw_only=True)
class CallChoices:
    """The choices of a plan."""

    # its tools, each after its suppliers; those of an earlier goal, and of an earlier need, first
    order: tuple[int, ...]
    choices: Mapping[int, tuple[Choice, ...]]  # tool → one for each of its open needs, in their order
    cost: float  # see CallCosts
    is_cheapest: bool  # whether every choice was tried or ruled out


def cheapest_choices(
    goals: Sequence[int], open_needs: OpenNeeds, costs: CallCosts, call_cost: Callable[[int], float] | None = None
) -> CallChoices:
    """The plan of the least cost whose calls have an order; of equal ones the first in the order of goals, needs and
    tool numbers. ``call_cost``: of a tool that is no goal, >= 0; None: the same for each."""
    call_cost = call_cost or (lambda tool: costs.of_call())
    search = _Search(open_needs, costs, call_cost, tools=list(goals), goals=len(goals))
    search.run([pending for goal in goals for pending in search.needs_of(goal)], 0.0)
    choices: dict[int, list[Choice]] = {}
    for choice in search.best:
        choices.setdefault(choice.tool, []).append(choice)
    order: list[int] = []

    def call(tool: int) -> None:
        for choice in choices.get(tool, ()):
            if choice.supplier is not None and choice.supplier.tool not in order:
                call(choice.supplier.tool)
        if tool not in order:
            order.append(tool)

    for tool in (*goals, *(each.supplier.tool for each in search.best if each.supplier is not None)):
        call(tool)
    return CallChoices(
        order=tuple(order),
        choices={tool: tuple(made) for tool, made in choices.items()},
        cost=search.least,
        is_cheapest=search.tried <= costs.tried,
    )


class _Pending(NamedTuple):
    """A need that no choice was made for yet, and what any choice costs at least."""

    tool: int
    need: Need
    least: float


@dataclass(slots=True)
class _Search:
    open_needs: OpenNeeds
    costs: CallCosts
    call_cost: Callable[[int], float]
    tools: list[int]
    goals: int
    made: list[Choice] = field(default_factory=list)
    best: tuple[Choice, ...] = ()
    least: float = math.inf
    tried: int = 0
    known: dict[int, list[_Pending]] = field(default_factory=dict)

    def needs_of(self, tool: int) -> list[_Pending]:
        """The open needs of a tool; found once. A choice costs at least what its supplier does that is called already."""
        if tool not in self.known:
            self.known[tool] = [
                _Pending(tool, need, min(self.costs.of_choice(need, each) for each in (None, *need.suppliers)))
                for need in self.open_needs(tool)
            ]
        return self.known[tool]

    def run(self, pending: list[_Pending], cost: float) -> None:
        """Try every choice for the first of the pending needs, then for those after it."""
        if cost + sum(each.least for each in pending) >= self.least - _SAME:
            return
        if not pending:
            self.best, self.least = tuple(self.made), cost
            return
        (tool, need, _), rest = pending[0], pending[1:]
        for step, _, supplier in self._options(tool, need):
            self.tried += 1
            if self.tried > self.costs.tried and self.least < math.inf:
                return
            new = supplier is not None and supplier.tool not in self.tools
            self.made.append(Choice(tool, need, supplier))
            if supplier is not None and new:
                self.tools.append(supplier.tool)
                self.run([*rest, *self.needs_of(supplier.tool)], cost + step)
                self.tools.pop()
            else:
                self.run(rest, cost + step)
            self.made.pop()

    def _options(self, tool: int, need: Need) -> list[tuple[float, int, Supplier | None]]:
        """The choices for a need, the cheapest first; none that leads back to the tool itself."""
        found: list[tuple[float, int, Supplier | None]] = [(self.costs.of_choice(need, None), -1, None)]
        is_full = len(self.tools) - self.goals >= self.costs.tools
        for each in need.suppliers:
            new = each.tool not in self.tools
            if (new and is_full) or (not new and self._leads_to(each.tool, tool)):
                continue
            call = self.call_cost(each.tool) if new else 0.0
            found.append((call + self.costs.of_choice(need, each), each.tool, each))
        return sorted(found, key=lambda option: option[:2])[: self.costs.suppliers + 1]

    def _leads_to(self, tool: int, target: int) -> bool:
        """Whether a tool is called after another one, by the choices made so far, or is it."""
        waiting, seen = [tool], {tool}
        while waiting:
            one = waiting.pop()
            if one == target:
                return True
            for choice in self.made:
                if choice.tool == one and choice.supplier is not None and choice.supplier.tool not in seen:
                    seen.add(choice.supplier.tool)
                    waiting.append(choice.supplier.tool)
        return False
