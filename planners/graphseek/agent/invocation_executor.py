"""Execution: invocations are checked against the schema that the graph has now, and run at once; what fails says what to do instead."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import TypeAdapter

from ontology.errors import EgotoolsError, ModelError, NotFoundError, StatementError, StorageError
from planners.calls.tool_finder import Finder
from planners.graphseek.adapt import OperatorAdapter
from planners.graphseek.agent_events import Faulted, Invoked, QueryRun, ResultKept
from planners.graphseek.catalog.catalog import SemanticCatalog
from planners.graphseek.operators.operator import (
    Operator,
    OperatorContext,
    OperatorFault,
    check_arguments,
    nearest_hint,
)
from planners.graphseek.results.result import Result
from planners.graphseek.results.result_store import ResultStore
from planners.graphseek.turn import Fault, Invocation, Outcome, StepRecord, TurnMaker
from planners.journal.recorded import Steps, not_recorded
from planners.journal.step_log import emit, in_order
from planners.stores.graph_schema import GraphSchema, ReadableGraph

_OUTCOME: TypeAdapter[Outcome] = TypeAdapter(Outcome)
_CHARS = 500  # of an error of foreign code


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionParts:
    """What a question's run works with.

    :param catalog: the accepted one of the graph; an empty one where there is none.
    :param operators: all there are.
    :param results: of this run; those of the turns before it may stand in it.
    :param finder: finds operators for a question, by their names; all are offered where None.
    :param adapter: knows other versions of operators, and may ask for new ones; there are none where None.
    """

    graph: ReadableGraph
    catalog: SemanticCatalog
    operators: Sequence[Operator]
    results: ResultStore
    turns: TurnMaker
    finder: Finder | None = None
    adapter: OperatorAdapter | None = None


def needed(parts: QuestionParts | None) -> QuestionParts:
    """Return the parts of a run; a replay has none, and its journal knows what each step gave.

    :raises InvalidArgumentError: when a replay needs them.
    """
    if parts is None:
        raise not_recorded("the journal lacks a step of the run", subject="replay")
    return parts


@dataclass(frozen=True, slots=True, kw_only=True)
class InvocationExecutor:
    """Runs the invocations of a run.

    :param parts: None in a replay.
    :param first: number of results before the run's own.
    :param seconds: that one invocation may take, and each of its queries.
    :param renewed: operator → the step after which it has a new version: what failed before may be asked again.
    """

    parts: QuestionParts | None
    schema: GraphSchema
    steps: Steps
    first: int
    seconds: float
    renewed: Mapping[str, int] = field(default_factory=dict)

    async def run(
        self, step: int, invocations: Sequence[Invocation], offered: Sequence[str], records: Sequence[StepRecord]
    ) -> tuple[Outcome, ...]:
        """Return what each invocation gave, in their order.

        :param offered: names of the operators of this step.
        :param records: the steps before it.
        :raises StorageError: when the graph or the disk is gone; the other invocations are ended first.
        """
        made = sum(len(record.invocations) for record in records)
        before: dict[str, Outcome] = {}
        for record in records:
            for each, outcome in record.pairs:
                if record.number > self.renewed.get(each.operator, -1):
                    before.setdefault(each.key, outcome)

        async def recorded(nth: int, each: Invocation, earlier: Outcome | None) -> Outcome:
            async def take() -> Outcome:
                emit(Invoked(step=step, nth=nth, operator=each.operator, arguments=each.arguments))
                try:
                    result = await self._result(each, self.first + made + nth, offered, earlier)
                except OperatorFault as fault:
                    said = {"kind": fault.kind, "problem": fault.problem, "hint": fault.hint}
                    emit(Faulted(step=step, nth=nth, **said))
                    return Fault(**said)
                names = ("handle", "kind", "size", "cut", "summary", "notes")
                shown: dict[str, Any] = {name: getattr(result, name) for name in names}
                emit(ResultKept(step=step, nth=nth, **shown))
                return result

            return await self.steps.step(f"invocation/{step}/{nth}", take, _OUTCOME)

        calls = []
        for nth, each in enumerate(invocations, 1):
            calls.append(recorded(nth, each, before.get(each.key)))
            before.setdefault(each.key, Fault(kind="repeated", problem="it is in this step twice", hint=""))
        return tuple(await in_order(calls))

    async def _result(self, call: Invocation, number: int, offered: Sequence[str], earlier: Outcome | None) -> Result:
        """Run one invocation.

        :param number: of its result in the run.
        :param earlier: what the same one gave before.
        :raises OperatorFault: when it cannot be run, fails, or takes too long.
        """
        if isinstance(earlier, Fault):
            hint = f"Change it: {earlier.hint}" if earlier.hint else "Leave it out"
            raise OperatorFault("repeated", f"this call failed before: {earlier.problem}", hint)
        if earlier is not None:
            hint = f"Read {earlier.handle}, go on from it, or answer"
            raise OperatorFault("repeated", f"this call was made before and gave {earlier.handle}", hint)
        parts, name = needed(self.parts), call.operator
        operator = next((each for each in parts.operators if each.name == name), None)
        if operator is None or name not in offered:
            raise OperatorFault("unknown name", f"there is no operator {name!r} now", nearest_hint(name, offered))
        context = OperatorContext(
            graph=parts.graph,
            schema=self.schema,
            catalog=parts.catalog,
            results=parts.results.for_invocation(number),
            seconds=self.seconds,
            ran=lambda compiled: emit(QueryRun(text=compiled.text, parameters=dict(compiled.parameters))),
        )
        try:
            check_arguments(call.arguments, operator.parameters(self.schema, parts.results.handles))
            async with asyncio.timeout(self.seconds):
                return await operator.run(call.arguments, context)
        except (OperatorFault, StorageError, ModelError):
            raise
        except Exception as error:  # an operator may be of somebody else; its bug ends no run
            raise self._fault(error, name) from error

    def _fault(self, error: Exception, operator: str) -> OperatorFault:
        match error:
            case TimeoutError():
                problem = f"{operator} took more than {self.seconds:g} s"
                return OperatorFault("timeout", problem, "Ask for less: filters, fewer hops, a limit")
            case NotFoundError():
                return OperatorFault("no such handle", str(error.problem), error.remedy or "Use another")
            case StatementError():
                return OperatorFault("engine", error.problem, error.remedy or "Use another operator")
            case EgotoolsError():
                return OperatorFault("arguments", f"{error.subject}: {error.problem}", error.remedy or "Change it")
        return OperatorFault("engine", f"{type(error).__name__}: {error}"[:_CHARS], "Use another operator")
