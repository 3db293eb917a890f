"""Answer a query graph: dates are read against a day, a run has the limits of its calls, events and answer are JSON values."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Any

from planners.calls.call_limits import CallLimits
from planners.dfs.execution.carried_fields import ResolveDate
from planners.dfs.execution.execution_events import Event
from planners.dfs.execution.execution_json import event_json, execution_json
from planners.dfs.execution.executor_settings import ExecutorSettings
from planners.dfs.executor import execute
from planners.dfs.resolver import Resolver
from planners.query.dates import read_range
from planners.query.domain import Domain
from planners.query.query_graph import FilterConstraint, QueryGraph

__all__ = ["answer_graph", "date_resolver"]


def date_resolver(today: date) -> ResolveDate:
    """Return what reads the date words of a graph's filters against a day."""

    def resolve(each: FilterConstraint) -> tuple[date | None, date | None]:
        op: Any = each.op  # graph_faults lets no other operator of a date pass
        found = read_range(str(each.value), today, op).range
        return found.start, found.end

    return resolve


async def answer_graph(
    graph: QueryGraph,
    domain: Domain,
    resolver: Resolver,
    *,
    today: date,
    limits: CallLimits,
    observe: Callable[[dict[str, Any]], object] = lambda what: None,
) -> dict[str, Any]:
    """Execute a graph and return the execution as JSON values.

    :param limits: bounds of the executor too, where they are set.
    :param observe: is called with each event of the executor as JSON values.
    :raises InvalidArgumentError: when the graph has faults under the domain.
    """

    def observe_event(event: Event) -> None:
        observe(event_json(event))

    bounds = {"max_calls": limits.calls, "max_seconds": limits.seconds}
    execution = await execute(
        graph,
        domain,
        resolver,
        resolve_date=date_resolver(today),
        settings=ExecutorSettings.model_validate({name: most for name, most in bounds.items() if most is not None}),
        observe=observe_event,
    )
    return execution_json(execution)
