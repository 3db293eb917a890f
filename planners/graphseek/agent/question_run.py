"""A question's run: each step plans, executes, and decides whether to go on (section 3.1 of the paper)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import TypeAdapter

from egotools.client_errors import ClientError
from ontology.errors import BudgetExceededError, EgotoolsError, InvalidArgumentError, ModelError, StorageError
from planners.calls.clean_values import clean_text
from planners.graphseek.agent.agent_settings import AgentSettings
from planners.graphseek.agent.grounding import ungrounded
from planners.graphseek.agent.invocation_executor import InvocationExecutor
from planners.graphseek.agent.question_parts import QuestionParts, needed
from planners.graphseek.agent.run_adaptation import RunAdaptation, with_approved
from planners.graphseek.agent_events import (
    AgentEvent,
    AnswerRejected,
    Ended,
    Faulted,
    ModelAsked,
    QuestionBegun,
    StepBegun,
    SubtaskBegun,
    SubtaskEnded,
)
from planners.graphseek.operators.graph_query import table_of
from planners.graphseek.operators.operator import OperatorFault
from planners.graphseek.results.result import Result, ResultColumn, order_of
from planners.graphseek.results.result_store import ResultStore
from planners.graphseek.turn import (
    Answer,
    Invocation,
    Outcome,
    Question,
    StepRecord,
    StepView,
    Turn,
    UnusableTurnError,
)
from planners.journal.recorded_steps import StepRecorder, Unrecorded
from planners.journal.step_log import also_told_to, emit, told_to, unheard
from planners.stores.graph_schema import GraphSchema

__all__ = ["CORE", "AnsweredQuestion", "answer_question", "check_question"]

CORE = ("get_nodes", "find", "traverse", "read")
"""The operators of every step: those of the paper's five use cases (section 5.3), and the one that reads their results."""
_CYPHER = "cypher"
_SUBTASK = "subtask"
_MOST_CHARS = 20_000  # of an answer, which is read and checked word by word
_SETTINGS = AgentSettings()
_SCHEMA: TypeAdapter[GraphSchema] = TypeAdapter(GraphSchema)
_ANSWER: TypeAdapter[Answer] = TypeAdapter(Answer)
_CALLS: TypeAdapter[tuple[Invocation, ...]] = TypeAdapter(tuple[Invocation, ...])


@dataclass(frozen=True, slots=True, kw_only=True)
class AnsweredQuestion:
    """A run that has ended.

    :param end: how.
    :param records: the steps that were taken, without the last where it gave the answer.
    :param model_calls: those that were answered.
    """

    end: Ended
    records: tuple[StepRecord, ...]
    model_calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    usd: float = 0.0


async def answer_question(
    question: Question,
    parts: QuestionParts | None,
    settings: AgentSettings = _SETTINGS,
    observe: Callable[[AgentEvent], None] = unheard,
    *,
    recorder: StepRecorder | None = None,
    taken_over: int = 0,
) -> AnsweredQuestion:
    """Run a question.

    :param parts: None in a replay, whose recorder knows what each step gave.
    :param observe: gets each event, on the event loop, in a fixed order.
    :param taken_over: steps of another run that this one goes on from; as many as ``max_steps`` may follow them.
    :raises InvalidArgumentError: when there is no question, or it is too long for a message.
    """
    check_question(question, settings)
    told = _Told()
    run = _Run(
        question=replace(question, text=clean_text(question.text)),
        parts=parts,
        settings=replace(settings, max_steps=settings.max_steps + taken_over),
        recorder=recorder or Unrecorded(),
    )
    with told_to(observe), also_told_to(told.hear):
        try:
            end = await _within_limits(run)
        except asyncio.CancelledError:
            emit(Ended(answer="", outcome="cancelled", missing="the run was cancelled"))
            raise
        emit(end)
    return AnsweredQuestion(
        end=end,
        records=tuple(run.records),
        model_calls=told.calls,
        prompt_tokens=told.prompt_tokens,
        completion_tokens=told.completion_tokens,
        usd=told.usd,
    )


def check_question(question: Question, settings: AgentSettings) -> None:
    """Check a question before anything is written of its run.

    :raises InvalidArgumentError: when there is none, or it is too long for a message.
    """
    if not question.text.strip():
        raise InvalidArgumentError("there is no question", subject="question", remedy="Ask one")
    if len(question.text) > settings.message_tokens:  # a quarter of a message
        problem = f"the question has {len(question.text):,} characters"
        raise InvalidArgumentError(problem, subject="question", remedy=f"Use at most {settings.message_tokens:,}")


async def _within_limits(run: _Run) -> Ended:
    try:
        async with asyncio.timeout(run.settings.max_seconds) as limit:
            await run.begin()
            return await run.steps()
    except TimeoutError:
        if not limit.expired():
            raise
        why = f"the {run.settings.max_seconds:g} s of the run have passed"
        return Ended(answer="", outcome="deadline", missing=why)
    except BudgetExceededError as error:
        return Ended(answer="", outcome="budget", missing=str(error))
    except ModelError as error:
        return Ended(answer="", outcome="model", missing=str(error))
    except StorageError as error:
        return Ended(answer="", outcome="store", missing=str(error))


@dataclass(slots=True)
class _Told:
    """Adds up what the model used."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    usd: float = 0.0

    def hear(self, event: AgentEvent) -> None:
        if isinstance(event, ModelAsked):
            self.calls += not event.problem
            self.prompt_tokens += event.prompt_tokens
            self.completion_tokens += event.completion_tokens
            self.usd += event.usd


@dataclass(slots=True, kw_only=True)
class _Run:
    """The state of a run, or of a subtask in one.

    :ivar first: number of results before the run's own.
    """

    question: Question
    parts: QuestionParts | None
    settings: AgentSettings
    recorder: StepRecorder
    prefix: str = ""
    is_subtask: bool = False
    schema: GraphSchema = field(default_factory=lambda: GraphSchema(nodes=(), relationships=()))
    first: int = 0
    records: list[StepRecord] = field(default_factory=list)
    adaptation: RunAdaptation = field(default_factory=RunAdaptation)

    @property
    def known(self) -> QuestionParts:
        return needed(self.parts)

    async def begin(self) -> None:
        async def take() -> Any:
            schema = await self.known.graph.schema()
            emit(
                QuestionBegun(
                    question=self.question.text,
                    fingerprint=schema.fingerprint,
                    node_types=tuple(each.name for each in schema.nodes),
                    relationship_types=tuple(each.name for each in schema.relationships),
                    descriptors=self.settings.descriptors != "off",
                )
            )
            numbers = [order_of(handle)[0] for handle in self.known.results.handles]
            adapts = self.known.adapter is not None and self.known.adapter.proposes
            return {
                "schema": _SCHEMA.dump_python(schema, mode="json"),
                "first": max(numbers, default=0),
                "adapts": adapts,
            }

        begun = await self.recorder.step(f"{self.prefix}begin", take)
        self.schema, self.first = _SCHEMA.validate_python(begun["schema"]), begun["first"]
        self.adaptation.is_on = begun.get("adapts", False)
        self.parts = with_approved(self.parts, self.schema)

    async def steps(self) -> Ended:
        """Take steps until one gives an answer, or there may be no more."""
        for step in range(1, self.settings.max_steps + 1):
            offered = await self._offer(step)
            turn = await self._turn(step, offered)
            if isinstance(turn, str):
                emit(Faulted(step=step, nth=0, kind="arguments", problem=turn, hint="Give calls, or an answer"))
                self.records.append(StepRecord(number=step, why=turn))
            elif isinstance(turn, Answer):
                if (end := await self._decide(step, turn)) is not None:
                    return end
            else:
                outcomes = await self._execute(step, turn, offered)
                self.records.append(StepRecord(number=step, invocations=turn, outcomes=outcomes))
                self.parts = await self.adaptation.after(step, self.records, self.parts, self.schema, self.recorder)
        return self._without_answer()

    async def _offer(self, step: int) -> list[str]:
        async def take() -> Any:
            names, fallback = await self._offered()
            emit(StepBegun(step=step, operators=tuple(names), fallback=fallback))
            return names

        names: list[str] = await self.recorder.step(f"{self.prefix}offer/{step}", take)
        return names

    async def _offered(self) -> tuple[list[str], str]:
        """Return the names of the operators of this step, and why a search gave none."""
        left_out = {_CYPHER, *({_SUBTASK} if self.is_subtask else ())}
        known = [each.name for each in self.known.operators]
        every = [name for name in known if name not in left_out]
        core = [name for name in dict.fromkeys((*CORE, *self.adaptation.renewed)) if name in every]
        others = [name for name in every if name not in core]
        last = [_CYPHER] if _CYPHER in known and self._failed() >= self.settings.failed_before_cypher else []
        if self.known.finder is None:
            return [*core, *others, *last], ""
        try:
            found = await self.known.finder.find(self._request())
        except (ClientError, EgotoolsError) as error:
            return [*core, *others, *last], clean_text(str(error))
        names = [each.tool.name for each in found.tools if each.tool.name in others]
        return [*core, *names[: self.settings.found_operators], *last], ""

    def _request(self) -> str:
        """Return what operators are looked up for: the question, and what the last step was told to do instead."""
        last = self.records[-1].outcomes if self.records else ()
        return " ".join([self.question.text, *(each.hint for each in last if not isinstance(each, Result))])

    def _failed(self) -> int:
        """Return how many steps gave nothing."""
        return sum(
            not any(isinstance(each, Result) and each.size > 0 for each in record.outcomes) for record in self.records
        )

    async def _turn(self, step: int, offered: Sequence[str]) -> Turn | str:
        """Return the turn of a step, or why what was said is none."""

        async def take() -> Any:
            try:
                turn = await self.known.turns.turn(self._view(step, offered))
            except UnusableTurnError as error:
                return {"unusable": error.problem}
            if isinstance(turn, Answer):
                left_out = None if turn.notes else {"notes"}
                return {"answer": _ANSWER.dump_python(turn, mode="json", exclude=left_out)}
            return {"calls": _CALLS.dump_python(turn, mode="json")}

        given = await self.recorder.step(f"{self.prefix}turn/{step}", take)
        if "answer" in given:
            answer = _ANSWER.validate_python(given["answer"])
            if len(answer.text) > _MOST_CHARS:
                return (
                    f"the answer has {len(answer.text):,} characters, more than {_MOST_CHARS:,}: tables show the rest"
                )
            return answer if answer.text.strip() else "the answer is empty"
        if "calls" in given:
            return _CALLS.validate_python(given["calls"]) or "it is neither a call nor an answer"
        return str(given["unusable"])

    def _view(self, step: int, offered: Sequence[str]) -> StepView:
        by_name = {each.name: each for each in self.known.operators}
        return StepView(
            question=self.question,
            schema=self.schema,
            catalog=self.known.catalog,
            operators=tuple(by_name[name] for name in offered if name in by_name),
            records=tuple(self.records),
            results=self.known.results,
            step=step,
            steps=self.settings.max_steps,
            with_descriptors=self.settings.descriptors != "off",
            is_subtask=self.is_subtask,
        )

    async def _execute(self, step: int, turn: tuple[Invocation, ...], offered: Sequence[str]) -> tuple[Outcome, ...]:
        executor = InvocationExecutor(
            parts=self.parts,
            schema=self.schema,
            recorder=self.recorder,
            first=self.first,
            seconds=self.settings.call_seconds,
            prefix=self.prefix,
            renewed=self.adaptation.renewed,
            subtask=None if self.is_subtask else self._subtask,
        )
        return await executor.run(step, turn, offered, self.records)

    async def _decide(self, step: int, answer: Answer) -> Ended | None:
        """Return the end of the run, or None where the answer is handed back."""
        made = {each.handle for record in self.records for each in record.outcomes if isinstance(each, Result)}
        of = tuple(handle for handle in answer.of if handle in made)
        if answer.kind != "reply":
            return Ended(answer=answer.text, outcome="asked back" if answer.kind == "question" else "unreadable", of=of)

        async def take() -> Any:
            return await ungrounded(
                answer.text,
                question=self.question,
                schema=self.schema,
                catalog=self.known.catalog,
                records=self.records,
                values=self.known.results,
            )

        missing: Sequence[str] = await self.recorder.step(f"{self.prefix}ground/{step}", take)
        if not missing:
            return Ended(answer=answer.told, outcome="answered", of=of)
        said_before = any(each.rejected is not None and each.rejected.text == answer.text for each in self.records[-1:])
        if said_before or step == self.settings.max_steps:
            return Ended(answer=answer.told, outcome="ungrounded", of=of, missing=_in_no_result(missing))
        emit(AnswerRejected(step=step, text=answer.text, ungrounded=tuple(missing)))
        why = f"{_in_no_result(missing)}. Get them by operators, or answer without them"
        self.records.append(StepRecord(number=step, rejected=answer, why=why))
        return None

    def _without_answer(self) -> Ended:
        for record in reversed(self.records):
            if record.rejected is not None:
                why = record.why.partition(". Get them")[0]
                return Ended(answer=record.rejected.told, outcome="ungrounded", of=record.rejected.of, missing=why)
        faults = [each for record in self.records for each in record.outcomes if not isinstance(each, Result)]
        said = faults[-1].problem if faults else next((each.why for each in reversed(self.records) if each.why), "")
        why = f"no answer in {self.settings.max_steps} steps" + (f"; at last: {said}" if said else "")
        return Ended(answer="", outcome="no answer", missing=why)

    async def _subtask(self, results: ResultStore, prefix: str, request: str, handles: Sequence[str]) -> Result:
        """Run a request in a context of its own, and keep its answer as a table of one cell."""
        emit(SubtaskBegun(request=request))
        run = _Run(
            question=Question(text=request),
            parts=replace(self.known, results=results),
            settings=replace(self.settings, max_steps=self.settings.subtask_steps),
            recorder=self.recorder,
            prefix=prefix,
            is_subtask=True,
            schema=self.schema,
            records=[_handed_over(handle, results) for handle in handles],
        )
        end = await run.steps()
        emit(SubtaskEnded(answer=end.answer, outcome=end.outcome, missing=end.missing))
        if end.outcome != "answered":
            problem = f"the subtask ended without a grounded answer ({end.outcome}): {end.missing or end.answer}"
            raise OperatorFault("refused", problem, "Ask for less, or take its steps yourself")
        answer = table_of([ResultColumn(name="answer", type="string")], [(end.answer,)])
        return await results.keep_table(answer, title=request, most=1)


def _handed_over(handle: str, results: ResultStore) -> StepRecord:
    """Return a result of the run around a subtask, as a step of number 0."""
    operator, arguments = results.made_by(handle)
    invocation = Invocation(operator=operator, arguments=arguments)
    return StepRecord(number=0, invocations=(invocation,), outcomes=(results.result(handle),))


def _in_no_result(missing: Sequence[str]) -> str:
    return f"in no result: {', '.join(missing)}"
