"""Execution: invocations are checked against the schema that the graph has now, and run at once; what fails says what to do instead."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from pydantic import TypeAdapter

from ontology.errors import EgotoolsError, ModelError, NotFoundError, StatementError, StorageError
from planners.calls.tool_finder import Finder
from planners.graphseek.adapt.operator_adapter import OperatorAdapter
from planners.graphseek.agent_events import Faulted, HandleRecomputed, Invoked, QueryRun, ResultKept
from planners.graphseek.catalog.catalog import SemanticCatalog
from planners.graphseek.operators.operator import (
    Operator,
    OperatorContext,
    OperatorFault,
    check_arguments,
    nearest_hint,
)
from planners.graphseek.results.result import EvictedError, Result, order_of
from planners.graphseek.results.result_store import ResultStore
from planners.graphseek.turn import Fault, Invocation, Outcome, StepRecord, TurnMaker, known_handles
from planners.journal.recorded import Steps, not_recorded
from planners.journal.step_log import emit, in_order
from planners.stores.graph_schema import GraphSchema, ReadableGraph

__all__ = ["InvocationExecutor", "QuestionParts", "RunSubtask", "needed"]

RunSubtask: TypeAlias = Callable[[ResultStore, str, str, Sequence[str]], Awaitable[Result]]
"""Runs a subtask: its results, the prefix of its steps in the journal, its request, and handles."""
_OUTCOME: TypeAdapter[Outcome] = TypeAdapter(Outcome)
_MOST_AGAIN = 8  # evicted results that one invocation has computed again: more do not fit the budget together
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

    def operator(self, name: str) -> Operator | None:
        """Return an operator by its name."""
        return next((each for each in self.operators if each.name == name), None)


def needed(parts: QuestionParts | None) -> QuestionParts:
    """Return the parts of a run; a replay has none, and its journal knows what each step gave.

    :raises InvalidArgumentError: when a replay needs them.
    """
    if parts is None:
        raise not_recorded("the journal lacks a step of the run", subject="replay")
    return parts


@dataclass(frozen=True, slots=True)
class _Call:
    """An invocation of a step, and the number of its result in the run; ``earlier`` is what the same one gave before."""

    step: int
    nth: int
    number: int
    invocation: Invocation
    offered: Sequence[str]
    earlier: Outcome | None
    records: Sequence[StepRecord]


@dataclass(frozen=True, slots=True, kw_only=True)
class InvocationExecutor:
    """Runs the invocations of a run.

    :param parts: None in a replay.
    :param first: number of results before the run's own.
    :param seconds: that one invocation may take, and each of its queries.
    :param prefix: of its steps in the journal.
    :param subtask: runs a subtask; None where the run is one.
    :param renewed: operator → the step after which it has a new version: what failed before may be asked again.
    :param again: held while a result is computed again: invocations of one step may need the same one.
    """

    parts: QuestionParts | None
    schema: GraphSchema
    steps: Steps
    first: int
    seconds: float
    prefix: str = ""
    subtask: RunSubtask | None = None
    renewed: Mapping[str, int] = field(default_factory=dict)
    again: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def run(
        self, step: int, invocations: Sequence[Invocation], offered: Sequence[str], records: Sequence[StepRecord]
    ) -> tuple[Outcome, ...]:
        """Return what each invocation gave, in their order.

        :param offered: names of the operators of this step.
        :param records: the steps before it.
        :raises StorageError: when the graph or the disk is gone; the other invocations are ended first.
        :raises ModelError: when a subtask's model cannot be reached.
        """
        made = sum(len(record.invocations) for record in records if record.number > 0)
        before: dict[str, Outcome] = {}
        for record in records:
            for each, outcome in record.pairs:
                if record.number > self.renewed.get(each.operator, -1):
                    before.setdefault(each.key, outcome)
        calls = []
        for nth, invocation in enumerate(invocations, 1):
            number, earlier = self.first + made + nth, before.get(invocation.key)
            before.setdefault(invocation.key, Fault(kind="repeated", problem="it is in this step twice", hint=""))
            calls.append(self._recorded(_Call(step, nth, number, invocation, offered, earlier, records)))
        return tuple(await in_order(calls))

    async def _recorded(self, call: _Call) -> Outcome:
        key = f"{self.prefix}invocation/{call.step}/{call.nth}"
        outcome: Outcome = await self.steps.step(key, lambda: self._taken(call), _OUTCOME)
        return outcome

    async def _taken(self, call: _Call) -> Outcome:
        at: dict[str, Any] = {"step": call.step, "nth": call.nth}
        emit(Invoked(**at, operator=call.invocation.operator, arguments=call.invocation.arguments))
        try:
            result = await self._result(call)
        except OperatorFault as fault:
            emit(Faulted(**at, kind=fault.kind, problem=fault.problem, hint=fault.hint))
            return Fault(kind=fault.kind, problem=fault.problem, hint=fault.hint)
        shown: dict[str, Any] = {
            name: getattr(result, name) for name in ("handle", "kind", "size", "cut", "summary", "notes")
        }
        emit(ResultKept(**at, **shown))
        return result

    async def _result(self, call: _Call) -> Result:
        """Run one invocation.

        :raises OperatorFault: when it cannot be run, fails, or takes too long.
        """
        _refuse_repeated(call.earlier)
        parts, name = needed(self.parts), call.invocation.operator
        operator = parts.operator(name)
        if operator is None or name not in call.offered:
            raise OperatorFault("unknown name", f"there is no operator {name!r} now", nearest_hint(name, call.offered))
        handles = known_handles(parts.results.handles, call.records)
        try:
            check_arguments(call.invocation.arguments, operator.parameters(self.schema, handles))
            async with asyncio.timeout(None if name == "subtask" else self.seconds):
                return await self._with_inputs(operator, call)
        except (OperatorFault, StorageError, ModelError):
            raise
        except Exception as error:  # an operator may be of somebody else; its bug ends no run
            raise self._fault(error, name) from error

    def _fault(self, error: Exception, operator: str) -> OperatorFault:
        match error:
            case TimeoutError():
                problem = f"{operator} took more than {self.seconds:g} s"
                return OperatorFault("timeout", problem, "Ask for less: filters, fewer hops, a limit")
            case EvictedError():
                return OperatorFault("too large", "its inputs do not fit the disk together", "Use smaller ones")
            case NotFoundError():
                return OperatorFault("no such handle", str(error.problem), error.remedy or "Use another")
            case StatementError():
                return OperatorFault("engine", error.problem, error.remedy or "Use another operator")
            case EgotoolsError():
                return OperatorFault("arguments", f"{error.subject}: {error.problem}", error.remedy or "Change it")
        return OperatorFault("engine", f"{type(error).__name__}: {error}"[:_CHARS], "Use another operator")

    async def _with_inputs(self, operator: Operator, call: _Call) -> Result:
        """Run an operator; inputs that were evicted, or that only the journal knows, are computed again first."""
        async with self.again:
            await self._restore(call.invocation, call.records)
        for _ in range(_MOST_AGAIN):
            try:
                return await self._run(operator, call.invocation, self._view(call.number, call.invocation))
            except EvictedError as evicted:
                async with self.again:
                    await self._compute_again(evicted, call.records, 0)
        return await self._run(operator, call.invocation, self._view(call.number, call.invocation))

    async def _restore(self, invocation: Invocation, records: Sequence[StepRecord]) -> None:
        """Compute the results again that the arguments of an invocation name and that are not there."""
        for named in invocation.scalars():
            if named in needed(self.parts).results.handles:
                continue
            for made, outcome in (pair for record in records for pair in record.pairs):
                if isinstance(outcome, Result) and outcome.handle == named:
                    lost = EvictedError(outcome.handle, made.operator, made.arguments)
                    await self._compute_again(lost, records, 0)

    async def _compute_again(self, lost: EvictedError, records: Sequence[StepRecord], depth: int) -> None:
        """Run the operator that made a result once more; the result gets the handle that it had."""
        results, handle = needed(self.parts).results, lost.handle
        if await self._is_there(handle):
            return  # another invocation of the step needed it too
        operator = needed(self.parts).operator(lost.operator)
        if operator is None or depth > _MOST_AGAIN:
            raise OperatorFault("no such handle", f"{handle} is gone and cannot be computed again", "Ask for it anew")
        emit(HandleRecomputed(handle=handle, operator=operator.name))
        invocation = Invocation(operator=lost.operator, arguments=lost.arguments)
        await self._restore(invocation, records)
        is_known = handle in results.handles
        for _ in range(_MOST_AGAIN):
            view = results.again(handle) if is_known else self._view(order_of(handle)[-1], invocation)
            try:
                await self._run(operator, invocation, view)
            except EvictedError as evicted:
                await self._compute_again(evicted, records, depth + 1)
            else:
                return

    async def _is_there(self, handle: str) -> bool:
        results = needed(self.parts).results
        if handle not in results.handles:
            return False
        try:
            kind = results.result(handle).kind
            if kind == "table":
                await results.rows(handle, limit=1)
            elif kind == "graph":
                await results.graph(handle)
        except EvictedError:
            return False
        return True

    def _view(self, number: int, invocation: Invocation) -> ResultStore:
        results = needed(self.parts).results
        return results.for_invocation(invocation.operator, invocation.arguments, number=number)

    async def _run(self, operator: Operator, invocation: Invocation, view: ResultStore) -> Result:
        parts, subtask = needed(self.parts), self.subtask

        async def run_subtask(request: str, handles: Sequence[str]) -> Result:
            if subtask is None:
                raise OperatorFault("refused", "a subtask has no subtasks", "Use other operators")
            return await subtask(view, f"subtask {invocation.key}:", request, handles)

        context = OperatorContext(
            graph=parts.graph,
            schema=self.schema,
            catalog=parts.catalog,
            results=view,
            seconds=self.seconds,
            ran=lambda compiled: emit(QueryRun(text=compiled.text, parameters=dict(compiled.parameters))),
            subtask=None if subtask is None else run_subtask,
        )
        return await operator.run(invocation.arguments, context)


def _refuse_repeated(earlier: Outcome | None) -> None:
    if isinstance(earlier, Fault):
        hint = f"Change it: {earlier.hint}" if earlier.hint else "Leave it out"
        raise OperatorFault("repeated", f"this call failed before: {earlier.problem}", hint)
    if earlier is not None:
        hint = f"Read {earlier.handle}, go on from it, or answer"
        raise OperatorFault("repeated", f"this call was made before and gave {earlier.handle}", hint)
