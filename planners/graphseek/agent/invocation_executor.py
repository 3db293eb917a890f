"""Execution: invocations are checked against the schema that the graph has now, and run at once; what fails says what to do instead."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from pydantic import TypeAdapter

from ontology.errors import EgotoolsError, ModelError, NotFoundError, StatementError, StorageError
from planners.graphseek.agent.question_parts import QuestionParts, needed
from planners.graphseek.agent_events import Faulted, HandleRecomputed, Invoked, QueryRun, ResultKept
from planners.graphseek.dialects.cypher_text import Compiled
from planners.graphseek.operators.operator import (
    Operator,
    OperatorContext,
    OperatorFault,
    check_arguments,
    nearest_hint,
)
from planners.graphseek.results.result import EvictedError, Result, order_of
from planners.graphseek.results.result_store import ResultStore
from planners.graphseek.turn import Fault, Invocation, Outcome, StepRecord, known_handles
from planners.journal.recorded_steps import StepRecorder
from planners.journal.step_log import emit, in_order
from planners.stores.graph_schema import GraphSchema

__all__ = ["InvocationExecutor", "RunSubtask"]

RunSubtask: TypeAlias = Callable[[ResultStore, str, str, Sequence[str]], Awaitable[Result]]
"""Runs a subtask: its results, the prefix of its steps in the journal, its request, and handles."""
_OUTCOME: TypeAdapter[Outcome] = TypeAdapter(Outcome)
_MOST_AGAIN = 8  # evicted results that one invocation has computed again: more do not fit the budget together
_CHARS = 500  # of an error of foreign code


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
    recorder: StepRecorder
    first: int
    seconds: float
    prefix: str = ""
    subtask: RunSubtask | None = None
    renewed: Mapping[str, int] = field(default_factory=dict)
    again: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def results(self) -> ResultStore:
        """The results of the run."""
        return needed(self.parts).results

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
            earlier = before.get(invocation.key)
            before.setdefault(invocation.key, Fault(kind="repeated", problem="it is in this step twice", hint=""))
            number = self.first + made + nth
            calls.append(self._recorded(_Call(step, nth, number, invocation, offered, earlier, records)))
        return tuple(await in_order(calls))

    async def _recorded(self, call: _Call) -> Outcome:
        async def take() -> Any:
            return _OUTCOME.dump_python(await self._taken(call), mode="json")

        return _OUTCOME.validate_python(
            await self.recorder.step(f"{self.prefix}invocation/{call.step}/{call.nth}", take)
        )

    async def _taken(self, call: _Call) -> Outcome:
        at = {"step": call.step, "nth": call.nth}
        emit(Invoked(**at, operator=call.invocation.operator, arguments=call.invocation.arguments))
        try:
            result = await self._result(call)
        except OperatorFault as fault:
            outcome = Fault(kind=fault.kind, problem=fault.problem, hint=fault.hint)
            emit(Faulted(**at, kind=outcome.kind, problem=outcome.problem, hint=outcome.hint))
            return outcome
        emit(
            ResultKept(
                **at,
                handle=result.handle,
                kind=result.kind,
                size=result.size,
                cut=result.cut,
                summary=result.summary,
                notes=result.notes,
            )
        )
        return result

    async def _result(self, call: _Call) -> Result:
        """Run one invocation.

        :raises OperatorFault: when it cannot be run, fails, or takes too long.
        """
        _refuse_repeated(call.earlier)
        operator = self._operator(call)
        handles = known_handles(self.results.handles, call.records)
        try:
            check_arguments(call.invocation.arguments, operator.parameters(self.schema, handles))
            async with asyncio.timeout(None if operator.name == "subtask" else self.seconds):
                return await self._with_inputs(operator, call)
        except TimeoutError as error:
            problem = f"{operator.name} took more than {self.seconds:g} s"
            raise OperatorFault("timeout", problem, "Ask for less: filters, fewer hops, a limit") from error
        except (OperatorFault, StorageError, ModelError):
            raise
        except EvictedError as error:
            raise OperatorFault("too large", "its inputs do not fit the disk together", "Use smaller ones") from error
        except NotFoundError as error:
            raise OperatorFault("no such handle", str(error.problem), error.remedy or "Use another") from error
        except StatementError as error:
            raise OperatorFault("engine", error.problem, error.remedy or "Use another operator") from error
        except EgotoolsError as error:
            raise OperatorFault(
                "arguments", f"{error.subject}: {error.problem}", error.remedy or "Change it"
            ) from error
        except Exception as error:  # an operator may be of somebody else; its bug ends no run
            problem = f"{type(error).__name__}: {error}"[:_CHARS]
            raise OperatorFault("engine", problem, "Use another operator") from error

    def _operator(self, call: _Call) -> Operator:
        name = call.invocation.operator
        operator = needed(self.parts).operator(name)
        if operator is None or name not in call.offered:
            raise OperatorFault("unknown name", f"there is no operator {name!r} now", nearest_hint(name, call.offered))
        return operator

    async def _with_inputs(self, operator: Operator, call: _Call) -> Result:
        """Run an operator; inputs that were evicted, or that only the journal knows, are computed again first."""
        async with self.again:
            for named in call.invocation.scalars():
                await self._restore(named, call.records)
        for _ in range(_MOST_AGAIN):
            try:
                return await self._run(operator, call.invocation, self._view(call.number, call.invocation))
            except EvictedError as evicted:
                invocation = Invocation(operator=evicted.operator, arguments=evicted.arguments)
                async with self.again:
                    await self._again(evicted.handle, invocation, call.records, 0)
        return await self._run(operator, call.invocation, self._view(call.number, call.invocation))

    async def _restore(self, named: Any, records: Sequence[StepRecord]) -> None:
        """Compute the result again that an argument names, where it names one that is not there."""
        if named in self.results.handles:
            return
        for invocation, outcome in (pair for record in records for pair in record.pairs):
            if isinstance(outcome, Result) and outcome.handle == named:
                await self._again(outcome.handle, invocation, records, 0)

    async def _again(self, handle: str, invocation: Invocation, records: Sequence[StepRecord], depth: int) -> None:
        """Run the operator that made a result once more; the result gets the handle that it had."""
        if await self._is_there(handle):
            return  # another invocation of the step needed it too
        operator = needed(self.parts).operator(invocation.operator)
        if operator is None or depth > _MOST_AGAIN:
            raise OperatorFault("no such handle", f"{handle} is gone and cannot be computed again", "Ask for it anew")
        emit(HandleRecomputed(handle=handle, operator=operator.name))
        for named in invocation.scalars():
            await self._restore(named, records)
        is_known = handle in self.results.handles
        for _ in range(_MOST_AGAIN):
            view = self.results.again(handle) if is_known else self._view(order_of(handle)[-1], invocation)
            try:
                await self._run(operator, invocation, view)
            except EvictedError as evicted:
                inner_call = Invocation(operator=evicted.operator, arguments=evicted.arguments)
                await self._again(evicted.handle, inner_call, records, depth + 1)
            else:
                return

    async def _is_there(self, handle: str) -> bool:
        if handle not in self.results.handles:
            return False
        try:
            kind = self.results.result(handle).kind
            if kind == "table":
                await self.results.rows(handle, limit=1)
            elif kind == "graph":
                await self.results.graph(handle)
        except EvictedError:
            return False
        return True

    def _view(self, number: int, invocation: Invocation) -> ResultStore:
        return self.results.for_invocation(invocation.operator, invocation.arguments, number=number)

    async def _run(self, operator: Operator, invocation: Invocation, view: ResultStore) -> Result:
        subtask, prefix = self.subtask, f"subtask {invocation.key}:"

        async def run_subtask(request: str, handles: Sequence[str]) -> Result:
            if subtask is None:
                raise OperatorFault("refused", "a subtask has no subtasks", "Use other operators")
            return await subtask(view, prefix, request, handles)

        context = OperatorContext(
            graph=needed(self.parts).graph,
            schema=self.schema,
            catalog=needed(self.parts).catalog,
            results=view,
            seconds=self.seconds,
            ran=_tell_query,
            subtask=None if subtask is None else run_subtask,
        )
        return await operator.run(invocation.arguments, context)


@dataclass(frozen=True, slots=True)
class _Call:
    step: int
    nth: int
    number: int
    invocation: Invocation
    offered: Sequence[str]
    earlier: Outcome | None
    records: Sequence[StepRecord]


def _tell_query(compiled: Compiled) -> None:
    emit(QueryRun(text=compiled.text, parameters=dict(compiled.parameters)))


def _refuse_repeated(earlier: Outcome | None) -> None:
    if isinstance(earlier, Fault):
        hint = f"Change it: {earlier.hint}" if earlier.hint else "Leave it out"
        raise OperatorFault("repeated", f"this call failed before: {earlier.problem}", hint)
    if earlier is not None:
        hint = f"Read {earlier.handle}, go on from it, or answer"
        raise OperatorFault("repeated", f"this call was made before and gave {earlier.handle}", hint)
