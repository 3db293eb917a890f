"""Whether "no price" means that no price is known, or that it is 0: what nodes have tells."""

from __future__ import annotations

from dataclasses import replace

from planners.graphseek.results.result import Result
from planners.graphseek.results.result_store import ResultStore
from planners.graphseek.rules.question_reading import NO_VALUE, Condition, Reading
from planners.graphseek.rules.relation_choice import TwoReadingsError
from planners.graphseek.rules.replayed_calls import FailedError, ReplayedCalls
from planners.graphseek.turn import Invocation

__all__ = ["settle_presence"]


async def settle_presence(reading: Reading, calls: ReplayedCalls, results: ResultStore) -> None:
    """Give conditions of no value the operator that fits.

    :raises TwoReadingsError: when some nodes have no value, and others 0.
    """
    for stop in reading.all_stops:
        for at, each in enumerate(stop.conditions):
            if each.operator == NO_VALUE:
                stop.conditions[at] = await _settled(each, calls, results)


async def _settled(condition: Condition, calls: ReplayedCalls, results: ResultStore) -> Condition:
    unknown = replace(condition, operator="is_null")
    zero = replace(condition, operator="=", value=0)
    if condition.of.key.type not in ("integer", "number") or not await _number(zero, calls, results):
        return unknown
    if await _number(unknown, calls, results):
        name = condition.of.key.name
        raise TwoReadingsError(f"Some have a {name} of 0, and of others none is known. Which is meant?")
    return zero


async def _number(condition: Condition, calls: ReplayedCalls, results: ResultStore) -> int:
    """Return how many nodes fulfil a condition; it is asked beside the plan."""
    counting = {"filters": [condition.filter], "aggregations": [{"grouping_type": "COUNT"}]}
    invocation = Invocation(operator="get_nodes", arguments={"node_type": condition.of.owner, **counting})
    (outcome,) = calls.outcomes(invocation)
    if not isinstance(outcome, Result):
        raise FailedError(outcome)
    ((number, *_),) = await results.rows(outcome.handle, limit=1)
    return int(str(number))
