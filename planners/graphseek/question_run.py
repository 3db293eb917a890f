"""A question's run: each step plans, executes, and decides whether to go on (section 3.1 of the paper).

With a journal a killed run goes on, and a finished one is replayed without anybody; its journal is not written any more."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, TypeAdapter

from ontology import errors
from planners.calls.model_text import is_no_answer
from planners.calls.untrusted import clean_text
from planners.graphseek import turn as events
from planners.graphseek.catalog import SemanticCatalog
from planners.graphseek.grounding import ungrounded
from planners.graphseek.operators.operator import (
    Operator,
    OperatorContext,
    OperatorFault,
    check_arguments,
    nearest_hint,
)
from planners.graphseek.results import Result, ResultStore
from planners.graphseek.turn import AgentSettings, Answer, Ended, Fault, Faulted, Invocation, Outcome, StepRecord, Turn
from planners.journal.recorded import Heard, Steps, end_of, header_of, not_recorded
from planners.journal.run_journal import RunJournal
from planners.journal.step_log import also_told_to, emit, in_order, seconds_since, to_its_end, told_to, unheard
from planners.stores.graph_schema import GraphSchema, ReadableGraph

_CYPHER = "cypher"
_FAILED_BEFORE_CYPHER = 3  # steps after which it is offered: "several" of the paper (section 6.2)
_MOST_CHARS = 20_000  # of an answer, which is read and checked word by word
_ERROR_CHARS = 500  # of an error of foreign code
_SETTINGS = AgentSettings()
_ENDS: dict[type[Exception], events.RunOutcome] = {
    errors.BudgetExceededError: "budget",
    errors.ModelError: "model",
    errors.StorageError: "store",
}
# Outcomes of a run that can go on when what stopped it is over
_GOES_ON = frozenset({"model", "store", "budget", "deadline", "cancelled"})
Observe: TypeAlias = Callable[[events.AgentEvent], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionParts:
    """What a question's run works with."""

    graph: ReadableGraph
    catalog: SemanticCatalog  # of the graph; an empty one where there is none
    operators: Sequence[Operator]  # all there are
    results: ResultStore  # of this run
    turns: events.TurnMaker


@dataclass(frozen=True, slots=True, kw_only=True)
class AnsweredQuestion:
    """A run that has ended."""

    end: Ended  # how
    model_calls: int = 0  # those that were answered
    prompt_tokens: int = 0
    completion_tokens: int = 0
    usd: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Planned:
    """The turn of a step, or why what was said is none."""

    calls: tuple[Invocation, ...] = ()
    answer: Answer | None = None
    unusable: str = ""


_SCHEMA, _PLANNED, _NAMES = TypeAdapter(GraphSchema), TypeAdapter(_Planned), TypeAdapter(list[str])
_OUTCOME: TypeAdapter[Outcome] = TypeAdapter(Outcome)


async def answer_question(
    question: str,
    parts: QuestionParts | None,
    settings: AgentSettings = _SETTINGS,
    observe: Observe = unheard,
    *,
    steps: Steps | None = None,
) -> AnsweredQuestion:
    """Run a question.

    :param parts: None in a replay, whose journal knows what each step gave.
    :param observe: gets each event, on the event loop, in a fixed order.
    :param steps: of the run's journal; nothing is written where None.
    :raises InvalidArgumentError: when there is no question, or it is too long for a message.
    """
    check_question(question)
    used: Counter[str] = Counter()
    usd = list[float]()

    def count(event: events.AgentEvent) -> None:
        if isinstance(event, events.ModelAsked):
            used.update(calls=not event.problem, read=event.prompt_tokens, written=event.completion_tokens)
            usd.append(event.usd)

    run = _Run(question=clean_text(question), given=parts, settings=settings, journal=steps or Steps())
    with told_to(observe), also_told_to(count):
        end = await to_its_end(run.steps(), Ended, seconds=settings.max_seconds, outcomes=_ENDS)
    tokens = {"prompt_tokens": used["read"], "completion_tokens": used["written"]}
    return AnsweredQuestion(end=end, model_calls=used["calls"], **tokens, usd=sum(usd))


def check_question(question: str) -> None:
    """Check, before anything is written of its run, that there is a question, and that it is not too long for a
    message."""
    if not question.strip():
        raise errors.InvalidArgumentError("there is no question", subject="question", remedy="Ask one")
    if len(question) > events.MESSAGE_TOKENS:  # a quarter of a message
        problem = f"the question has {len(question):,} characters"
        raise errors.InvalidArgumentError(problem, subject="question", remedy=f"Use at most {events.MESSAGE_TOKENS:,}")


@dataclass(slots=True, kw_only=True)
class _Run:
    """The state of a run."""

    question: str
    given: QuestionParts | None
    settings: AgentSettings
    journal: Steps
    schema: GraphSchema = field(default_factory=lambda: GraphSchema(nodes=(), relationships=()))
    records: list[StepRecord] = field(default_factory=list)

    @property
    def parts(self) -> QuestionParts:
        """The parts of the run; a replay has none, and its journal knows what each step gave."""
        if self.given is None:
            raise not_recorded("the journal lacks a step of the run", subject="replay")
        return self.given

    async def steps(self) -> Ended:
        """Take steps until one gives an answer, or there may be no more."""

        async def begin() -> GraphSchema:
            schema = await self.parts.graph.schema()
            begun = events.QuestionBegun(
                question=self.question,
                fingerprint=schema.fingerprint,
                node_types=tuple(each.name for each in schema.nodes),
                relationship_types=tuple(each.name for each in schema.relationships),
            )
            emit(begun)
            return schema

        self.schema = await self.journal.once("step", "begin", begin, form=_SCHEMA)
        for step in range(1, self.settings.max_steps + 1):
            # Cypher is offered only after several steps that gave nothing. A replay runs none.
            gave = [any(isinstance(each, Result) and each.size > 0 for each in of.outcomes) for of in self.records]
            last_resort = gave.count(False) >= _FAILED_BEFORE_CYPHER
            names = [each.name for each in self.given.operators] if self.given else []
            offered = [name for name in names if name != _CYPHER or last_resort]
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
        for record in reversed(self.records):
            if record.rejected is not None:
                why = record.why.partition(". Get them")[0]
                return Ended(answer=record.rejected.told, outcome="ungrounded", of=record.rejected.of, missing=why)
        faults = [each for record in self.records for each in record.outcomes if not isinstance(each, Result)]
        said = faults[-1].problem if faults else next((each.why for each in reversed(self.records) if each.why), "")
        why = f"no answer in {self.settings.max_steps} steps" + (f"; at last: {said}" if said else "")
        return Ended(answer="", outcome="no answer", missing=why)

    async def _turn(self, step: int, offered: Sequence[str]) -> Turn | str:
        """The turn of a step, or why what was said is none."""

        async def take() -> _Planned:
            by_name = {each.name: each for each in self.parts.operators}
            emit(events.StepBegun(step=step, operators=tuple(offered)))
            view = events.StepView(
                question=self.question,
                schema=self.schema,
                catalog=self.parts.catalog,
                operators=tuple(by_name[name] for name in offered if name in by_name),
                records=tuple(self.records),
                results=self.parts.results,
                step=step,
                steps=self.settings.max_steps,
            )
            try:
                turn = await self.parts.turns.turn(view)
            except events.UnusableTurnError as error:
                return _Planned(unusable=error.problem)
            return _Planned(answer=turn) if isinstance(turn, Answer) else _Planned(calls=turn)

        planned: _Planned = await self.journal.once("step", f"turn/{step}", take, form=_PLANNED)
        answer = planned.answer
        if answer is None:
            return planned.calls or planned.unusable or "it is neither a call nor an answer"
        if len(answer.text) > _MOST_CHARS:
            return f"the answer has {len(answer.text):,} characters, more than {_MOST_CHARS:,}: tables show the rest"
        if not answer.text.strip():
            return "the answer is empty"
        return "it says that it does not know" if is_no_answer(answer.text) else answer

    async def _execute(self, step: int, turn: Sequence[Invocation], offered: Sequence[str]) -> tuple[Outcome, ...]:
        """Run the invocations of a step at once, and return what each gave; what fails says what to do instead."""
        made = sum(len(record.invocations) for record in self.records)
        before: dict[str, Outcome] = {}
        for each, outcome in (pair for record in self.records for pair in record.pairs):
            before.setdefault(each.key, outcome)

        async def recorded(nth: int, call: Invocation, earlier: Outcome | None) -> Outcome:
            async def take() -> Outcome:
                emit(events.Invoked(step=step, nth=nth, operator=call.operator, arguments=call.arguments))
                try:
                    result = await self._result(call, made + nth, offered, earlier)
                except OperatorFault as fault:
                    said: dict[str, str] = {"kind": fault.kind, "problem": fault.problem, "hint": fault.hint}
                    emit(Faulted(step=step, nth=nth, **said))
                    return Fault(**said)
                names = ("handle", "kind", "size", "cut", "summary", "notes")
                shown: dict[str, Any] = {name: getattr(result, name) for name in names}
                emit(events.ResultKept(step=step, nth=nth, **shown))
                return result

            return await self.journal.once("step", f"invocation/{step}/{nth}", take, form=_OUTCOME)

        calls = []
        for nth, each in enumerate(turn, 1):
            calls.append(recorded(nth, each, before.get(each.key)))
            before.setdefault(each.key, Fault(kind="repeated", problem="it is in this step twice", hint=""))
        return tuple(await in_order(calls))

    async def _result(self, call: Invocation, number: int, offered: Sequence[str], earlier: Outcome | None) -> Result:
        """Run one invocation, whose result has a number in the run; ``earlier`` is what the same one gave before.
        Raises OperatorFault when it cannot be run, fails, or takes too long."""
        if isinstance(earlier, Fault):
            hint = f"Change it: {earlier.hint}" if earlier.hint else "Leave it out"
            raise OperatorFault("repeated", f"this call failed before: {earlier.problem}", hint)
        if earlier is not None:
            hint = f"Read {earlier.handle}, go on from it, or answer"
            raise OperatorFault("repeated", f"this call was made before and gave {earlier.handle}", hint)
        parts, name, seconds = self.parts, call.operator, self.settings.call_seconds
        operator = next((each for each in parts.operators if each.name == name), None)
        if operator is None or name not in offered:
            raise OperatorFault("unknown name", f"there is no operator {name!r} now", nearest_hint(name, offered))
        context = OperatorContext(
            graph=parts.graph,
            schema=self.schema,
            catalog=parts.catalog,
            results=parts.results.for_invocation(number),
            seconds=seconds,
            ran=lambda compiled: emit(events.QueryRun(text=compiled.text, parameters=dict(compiled.parameters))),
        )
        try:
            check_arguments(call.arguments, operator.parameters(self.schema, parts.results.handles))
            async with asyncio.timeout(seconds):
                return await operator.runs(call.arguments, context)
        except (OperatorFault, errors.StorageError, errors.ModelError):
            raise
        except TimeoutError as error:
            problem = f"{name} took more than {seconds:g} s"
            raise OperatorFault("timeout", problem, "Ask for less: filters, fewer hops, a limit") from error
        except errors.NotFoundError as error:
            raise OperatorFault("no such handle", error.problem, error.remedy or "Use another") from error
        except errors.StatementError as error:
            raise OperatorFault("engine", error.problem, error.remedy or "Use another operator") from error
        except errors.EgotoolsError as error:
            problem = f"{error.subject}: {error.problem}"
            raise OperatorFault("arguments", problem, error.remedy or "Change it") from error
        except Exception as error:  # an operator may be of somebody else; its bug ends no run
            problem = f"{type(error).__name__}: {error}"[:_ERROR_CHARS]
            raise OperatorFault("engine", problem, "Use another operator") from error

    async def _decide(self, step: int, answer: Answer) -> Ended | None:
        """The end of the run, or None where the answer is handed back."""
        made = {each.handle for record in self.records for each in record.outcomes if isinstance(each, Result)}
        of = tuple(handle for handle in answer.of if handle in made)
        if answer.kind != "reply":
            return Ended(answer=answer.text, outcome="asked back" if answer.kind == "question" else "unreadable", of=of)

        async def take() -> list[str]:
            about: dict[str, Any] = {"question": self.question, "schema": self.schema, "records": self.records}
            return await ungrounded(answer.text, **about, values=self.parts.results)

        missing: list[str] = await self.journal.once("step", f"ground/{step}", take, form=_NAMES)
        if not missing:
            return Ended(answer=answer.told, outcome="answered", of=of)
        why = f"in no result: {', '.join(missing)}"
        said_before = any(each.rejected is not None and each.rejected.text == answer.text for each in self.records[-1:])
        if said_before or step == self.settings.max_steps:
            return Ended(answer=answer.told, outcome="ungrounded", of=of, missing=why)
        emit(events.AnswerRejected(step=step, text=answer.text, ungrounded=tuple(missing)))
        why = f"{why}. Get them by operators, or answer without them"
        self.records.append(StepRecord(number=step, rejected=answer, why=why))
        return None


# Journals


class _Header(BaseModel):
    """What a run was begun with."""

    model_config = ConfigDict(frozen=True)

    run: Literal["graphseek"] = "graphseek"
    question: str
    settings: AgentSettings


async def answer_recorded(
    question: str,
    journal: RunJournal,
    parts: QuestionParts,
    settings: AgentSettings = _SETTINGS,
    observe: Observe = unheard,
) -> AnsweredQuestion:
    """Run a question, or go on with the run of a journal; one that has ended is replayed.

    :param observe: gets each event, those too that the journal has.
    :raises InvalidArgumentError: when the journal is of another run, or damaged.
    :raises StorageError: when the journal cannot be written.
    """
    if journal.first is None:
        check_question(question)
        header = _Header(question=question, settings=settings)
        journal.append("run_begun", **header.model_dump(mode="json"))
    header = _begun(journal)
    if header.question != question:
        problem = "the journal is of another question"
        raise errors.InvalidArgumentError(problem, subject=str(journal.path), remedy="Give a new file")
    if journal.end is not None:
        return await replay_question(journal, observe)
    started, heard = time.perf_counter(), Heard(observe)
    limits = replace(header.settings, max_seconds=settings.max_seconds, call_seconds=settings.call_seconds)
    steps = Steps(journal, event_of=events.event_of)
    answered = await answer_question(question, parts, limits, heard, steps=steps)
    seconds, end = seconds_since(started), answered.end
    if end.outcome in _GOES_ON:
        journal.append("run_stopped", outcome=end.outcome, missing=end.missing, seconds=seconds)
    else:
        journal.append("run_ended", answer=end.to_json(), **heard.told, seconds=seconds)
    return answered


async def replay_question(journal: RunJournal, observe: Observe = unheard) -> AnsweredQuestion:
    """Tell a finished run again. Nobody is asked, and the graph is not opened.

    :raises InvalidArgumentError: when the run has not ended, or the replay differs from it.
    """
    header, ended = _begun(journal), end_of(journal)
    heard, limits = Heard(observe), replace(header.settings, max_seconds=None)
    steps = Steps(journal, is_replay=True, event_of=events.event_of)
    answered = await answer_question(header.question, None, limits, heard, steps=steps)
    heard.check(ended, answered.end.to_json(), journal.path)
    return answered


def _begun(journal: RunJournal) -> _Header:
    header = header_of(journal, _Header)
    if header is None:
        problem = "the journal is empty"
        raise errors.InvalidArgumentError(problem, subject=str(journal.path), remedy="Ask a question first")
    return header
