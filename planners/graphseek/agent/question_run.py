"""A question's run: each step plans, executes, and decides whether to go on (section 3.1 of the paper)."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from pydantic import TypeAdapter

from egotools.client_errors import ClientError
from ontology.errors import BudgetExceededError, EgotoolsError, InvalidArgumentError, ModelError, StorageError
from planners.calls.model_text import is_no_answer
from planners.calls.untrusted import clean_text
from planners.graphseek.adapt import Adaptation
from planners.graphseek.agent.grounding import ungrounded
from planners.graphseek.agent.invocation_executor import InvocationExecutor, QuestionParts, needed
from planners.graphseek.agent_events import (
    AgentEvent,
    AnswerRejected,
    Ended,
    Faulted,
    ModelAsked,
    OperatorAdapted,
    QuestionBegun,
    StepBegun,
)
from planners.graphseek.results.result import Result, order_of
from planners.graphseek.turn import (
    AgentSettings,
    Answer,
    Fault,
    Invocation,
    Outcome,
    Question,
    StepRecord,
    StepView,
    Turn,
    UnusableTurnError,
)
from planners.journal.recorded import Steps
from planners.journal.step_log import also_told_to, emit, told_to, unheard
from planners.stores.graph_schema import GraphSchema

CORE = ("get_nodes", "find", "traverse", "read")
"""The operators of every step: those of the paper's five use cases (section 5.3), and the one that reads their results."""
_CYPHER = "cypher"
_MOST_CHARS = 20_000  # of an answer, which is read and checked word by word
_NEW = "The operator has a new version for this schema: make the call again"
_SETTINGS = AgentSettings()


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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Begun:
    """The schema at the beginning, how many results there are before the run's own, and whether it may ask for versions."""

    schema: GraphSchema
    first: int
    adapts: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Planned:
    """The turn of a step, or why what was said is none."""

    calls: tuple[Invocation, ...] = ()
    answer: Answer | None = None
    unusable: str = ""


_BEGUN = TypeAdapter(_Begun)
_PLANNED = TypeAdapter(_Planned)
_ADAPTATION = TypeAdapter(Adaptation | None)
_NAMES = TypeAdapter(list[str])


async def answer_question(
    question: Question,
    parts: QuestionParts | None,
    settings: AgentSettings = _SETTINGS,
    observe: Callable[[AgentEvent], None] = unheard,
    *,
    steps: Steps | None = None,
    taken_over: int = 0,
) -> AnsweredQuestion:
    """Run a question.

    :param parts: None in a replay, whose journal knows what each step gave.
    :param observe: gets each event, on the event loop, in a fixed order.
    :param steps: of the run's journal; nothing is written where None.
    :param taken_over: steps of another run that this one goes on from; as many as ``max_steps`` may follow them.
    :raises InvalidArgumentError: when there is no question, or it is too long for a message.
    """
    check_question(question, settings)
    used: Counter[str] = Counter()
    usd = 0.0

    def count(event: AgentEvent) -> None:
        nonlocal usd
        if isinstance(event, ModelAsked):
            used.update(calls=not event.problem, read=event.prompt_tokens, written=event.completion_tokens)
            usd += event.usd

    run = _Run(
        question=replace(question, text=clean_text(question.text)),
        parts=parts,
        settings=replace(settings, max_steps=settings.max_steps + taken_over),
        journal=steps or Steps(),
    )
    with told_to(observe), also_told_to(count):
        try:
            end = await _within_limits(run)
        except asyncio.CancelledError:
            emit(Ended(answer="", outcome="cancelled", missing="the run was cancelled"))
            raise
        emit(end)
    return AnsweredQuestion(
        end=end,
        records=tuple(run.records),
        model_calls=used["calls"],
        prompt_tokens=used["read"],
        completion_tokens=used["written"],
        usd=usd,
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


@dataclass(slots=True, kw_only=True)
class _Run:
    """The state of a run.

    :ivar first: number of results before the run's own.
    :ivar adapts: whether the run may ask for versions of operators. One that branches off does not take them over: it is another task.
    :ivar renewed: operator → the step after which it has a new version: calls that failed before may be made again.
    :ivar tried: operators of which a version was asked for.
    """

    question: Question
    parts: QuestionParts | None
    settings: AgentSettings
    journal: Steps
    schema: GraphSchema = field(default_factory=lambda: GraphSchema(nodes=(), relationships=()))
    first: int = 0
    records: list[StepRecord] = field(default_factory=list)
    adapts: bool = False
    renewed: dict[str, int] = field(default_factory=dict)
    tried: set[str] = field(default_factory=set)

    async def begin(self) -> None:
        async def take() -> _Begun:
            parts = needed(self.parts)
            schema = await parts.graph.schema()
            begun = QuestionBegun(
                question=self.question.text,
                fingerprint=schema.fingerprint,
                node_types=tuple(each.name for each in schema.nodes),
                relationship_types=tuple(each.name for each in schema.relationships),
                descriptors=self.settings.descriptors != "off",
            )
            emit(begun)
            first = max(map(order_of, parts.results.handles), default=0)
            return _Begun(schema=schema, first=first, adapts=parts.adapter is not None and parts.adapter.proposes)

        begun: _Begun = await self.journal.step("begin", take, _BEGUN)
        self.schema, self.first, self.adapts = begun.schema, begun.first, begun.adapts
        if self.parts is not None and self.parts.adapter is not None:
            serving = self.parts.adapter.serving(self.parts.operators, self.parts.graph, self.schema)
            self.parts = replace(self.parts, operators=serving)

    async def steps(self) -> Ended:
        """Take steps until one gives an answer, or there may be no more."""
        for step in range(1, self.settings.max_steps + 1):
            offered = await self.journal.step(f"offer/{step}", lambda: self._offer(step), _NAMES)  # noqa: B023
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
                if self.adapts and any(isinstance(each, Fault) for each in outcomes):
                    await self._adapt(step)
        return self._without_answer()

    async def _offer(self, step: int) -> list[str]:
        """Return the names of the operators of a step."""
        parts = needed(self.parts)
        known = [each.name for each in parts.operators]
        every = [name for name in known if name != _CYPHER]
        core = [name for name in dict.fromkeys((*CORE, *self.renewed)) if name in every]
        others, fallback = [name for name in every if name not in core], ""
        if parts.finder is not None:
            hints = (each.hint for each in self._last() if not isinstance(each, Result))
            try:
                found = await parts.finder.find(" ".join([self.question.text, *hints]))
                names = [each.tool.name for each in found.tools if each.tool.name in others]
                others = names[: self.settings.found_operators]
            except (ClientError, EgotoolsError) as error:
                fallback = clean_text(str(error))
        failed = sum(
            not any(isinstance(each, Result) and each.size > 0 for each in record.outcomes) for record in self.records
        )
        last = [_CYPHER] if _CYPHER in known and failed >= self.settings.failed_before_cypher else []
        offered = [*core, *others, *last]
        emit(StepBegun(step=step, operators=tuple(offered), fallback=fallback))
        return offered

    def _last(self) -> Sequence[Outcome]:
        return self.records[-1].outcomes if self.records else ()

    async def _turn(self, step: int, offered: Sequence[str]) -> Turn | str:
        """Return the turn of a step, or why what was said is none."""

        async def take() -> _Planned:
            try:
                turn = await needed(self.parts).turns.turn(self._view(step, offered))
            except UnusableTurnError as error:
                return _Planned(unusable=error.problem)
            return _Planned(answer=turn) if isinstance(turn, Answer) else _Planned(calls=turn)

        planned: _Planned = await self.journal.step(f"turn/{step}", take, _PLANNED)
        answer = planned.answer
        if answer is None:
            return planned.calls or planned.unusable or "it is neither a call nor an answer"
        if len(answer.text) > _MOST_CHARS:
            return f"the answer has {len(answer.text):,} characters, more than {_MOST_CHARS:,}: tables show the rest"
        if not answer.text.strip():
            return "the answer is empty"
        return "it says that it does not know" if is_no_answer(answer.text) else answer

    def _view(self, step: int, offered: Sequence[str]) -> StepView:
        parts = needed(self.parts)
        by_name = {each.name: each for each in parts.operators}
        return StepView(
            question=self.question,
            schema=self.schema,
            catalog=parts.catalog,
            operators=tuple(by_name[name] for name in offered if name in by_name),
            records=tuple(self.records),
            results=parts.results,
            step=step,
            steps=self.settings.max_steps,
            with_descriptors=self.settings.descriptors != "off",
        )

    async def _execute(self, step: int, turn: tuple[Invocation, ...], offered: Sequence[str]) -> tuple[Outcome, ...]:
        executor = InvocationExecutor(
            parts=self.parts,
            schema=self.schema,
            steps=self.journal,
            first=self.first,
            seconds=self.settings.call_seconds,
            renewed=self.renewed,
        )
        return await executor.run(step, turn, offered, self.records)

    async def _adapt(self, step: int) -> None:
        """Ask for a version of an operator that failed. The next steps have it, and of a call that can be made again the hint says so.

        :raises BudgetExceededError: when the budget is used up.
        """

        async def take() -> Adaptation | None:
            parts = needed(self.parts)
            if parts.adapter is None:  # the run goes on without one
                return None
            fingerprint = parts.catalog.fingerprint
            made = await parts.adapter.adapt(
                self.records, parts.operators, parts.graph, self.schema, fingerprint, self.tried
            )
            if made is not None:
                name = made.version.name if made.version else ""
                emit(OperatorAdapted(step=step, operator=made.operator, version=name, problem=made.problem))
            return made

        made: Adaptation | None = await self.journal.step(f"adapt/{step}", take, _ADAPTATION)
        if made is None:
            return
        self.tried.add(made.operator)
        if made.version is None:
            return
        self.renewed[made.operator] = step
        told = tuple(
            replace(outcome, hint=_NEW) if call.operator == made.operator and isinstance(outcome, Fault) else outcome
            for call, outcome in self.records[-1].pairs
        )
        self.records[-1] = replace(self.records[-1], outcomes=told)
        if self.parts is not None and self.parts.adapter is not None:
            adapter, version = self.parts.adapter, made.version
            operators = [
                adapter.operator(each, version) if each.name == made.operator else each for each in self.parts.operators
            ]
            self.parts = replace(self.parts, operators=tuple(operators))

    async def _decide(self, step: int, answer: Answer) -> Ended | None:
        """Return the end of the run, or None where the answer is handed back."""
        made = {each.handle for record in self.records for each in record.outcomes if isinstance(each, Result)}
        of = tuple(handle for handle in answer.of if handle in made)
        if answer.kind != "reply":
            return Ended(answer=answer.text, outcome="asked back" if answer.kind == "question" else "unreadable", of=of)

        async def take() -> list[str]:
            results = needed(self.parts).results
            return await ungrounded(
                answer.text, question=self.question, schema=self.schema, records=self.records, values=results
            )

        missing: list[str] = await self.journal.step(f"ground/{step}", take, _NAMES)
        if not missing:
            return Ended(answer=answer.told, outcome="answered", of=of)
        why = f"in no result: {', '.join(missing)}"
        said_before = any(each.rejected is not None and each.rejected.text == answer.text for each in self.records[-1:])
        if said_before or step == self.settings.max_steps:
            return Ended(answer=answer.told, outcome="ungrounded", of=of, missing=why)
        emit(AnswerRejected(step=step, text=answer.text, ungrounded=tuple(missing)))
        why = f"{why}. Get them by operators, or answer without them"
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
