"""Plans of the service with a journal: a run that goes on, or is replayed, has the plans that it was given first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from pydantic import TypeAdapter

from egotools.client_errors import ClientError
from egotools.tool_plan import ToolPlan
from planners.runs.journal_index import JournalIndex, request_key
from planners.runs.recorded_faults import client_fault, client_fault_json, not_recorded
from planners.runs.run_journal import RunJournal

__all__ = ["RecordedPlanner"]

_PLAN: TypeAdapter[ToolPlan] = TypeAdapter(ToolPlan)
_KIND = "plan"


class _Planner(Protocol):
    async def plan(self, goals: Sequence[str] = (), *, have: Mapping[str, str] | None = None) -> ToolPlan: ...


class RecordedPlanner:
    """Asks for each plan once in the life of a run; one that failed fails again.

    :param inner: None in a replay, which asks nobody.
    """

    def __init__(self, inner: _Planner | None, journal: RunJournal) -> None:
        self._inner = inner
        self._journal = journal
        self._index = JournalIndex(journal)

    async def plan(self, goals: Sequence[str] = (), *, have: Mapping[str, str] | None = None) -> ToolPlan:
        """Return the calls that lead to goal tools.

        :raises InvalidArgumentError: in a replay, when the run did not ask this.
        :raises ClientError: when the server does not answer, or refuses.
        """
        key = request_key([list(goals), dict(have or {})])
        nth = self._index.next(_KIND, key)
        earlier = self._index.last(_KIND, key, nth)
        if earlier is not None and earlier.kind == "plan_failed":
            raise client_fault(earlier.data)
        if earlier is not None:
            return _PLAN.validate_python(self._journal.payload(earlier.data["result"]))
        if self._inner is None:
            problem = "the journal has no plan of the tool service for these tools"
            raise not_recorded(problem, subject=", ".join(goals))
        try:
            plan = await self._inner.plan(goals, have=have)
        except ClientError as error:
            self._journal.append("plan_failed", key=key, nth=nth, **client_fault_json(error))
            raise
        kept = self._journal.keep(_PLAN.dump_python(plan, mode="json"))
        self._journal.append("plan_ended", key=key, nth=nth, goals=list(goals), result=kept)
        return plan
