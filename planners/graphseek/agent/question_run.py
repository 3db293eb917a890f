"""A question's run: each step plans, executes, and decides whether to go on (section 3.1 of the paper)."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import TypeAdapter

from egotools.client_errors import ClientError
from ontology.errors import (
    BudgetExceededError,
    EgotoolsError,
    InvalidArgumentError,
    ModelError,
    NotFoundError,
    StatementError,
    StorageError,
)
from planners.calls.model_text import is_no_answer
from planners.calls.tool_finder import Finder
from planners.calls.untrusted import clean_text
from planners.graphseek.adapt import Adaptation, OperatorAdapter
from planners.graphseek.agent.grounding import ungrounded
from planners.graphseek.agent_events import (
    AgentEvent,
    AnswerRejected,
    Ended,
    Faulted,
    Invoked,
    ModelAsked,
    OperatorAdapted,
    QueryRun,
    QuestionBegun,
    ResultKept,
    RunOutcome,
    StepBegun,
)
from planners.graphseek.catalog.catalog import SemanticCatalog
from planners.graphseek.operators.operator import (
    Operator,
    OperatorContext,
    OperatorFault,
    check_arguments,
    nearest_hint,
)
from planners.graphseek.results.result import Result, order_of
from planners.graphseek.results.result_store import ResultStore
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
    TurnMaker,
    UnusableTurnError,
)
from planners.journal.recorded import Steps, not_recorded
from planners.journal.step_log import also_told_to, emit, in_order, told_to, unheard
from planners.stores.graph_schema import GraphSchema, ReadableGraph

CORE = ("get_nodes", "find", "traverse", "read")
"""The operators of every step: those of the paper's five use cases (section 5.3), and the one that reads their results."""
_CYPHER = "cypher"
_MOST_CHARS = 20_000  # of an answer, which is read and checked word by word
_ERROR_CHARS = 500  # of an error of foreign code
_NEW = "The operator has a new version for this schema: make the call again"
_SETTINGS = AgentSettings()
_ENDS: tuple[tuple[type[Exception], RunOutcome], ...] = (
    (BudgetExceededError, "budget"),
    (ModelError, "model"),
    (StorageError, "store"),
)


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
_OUTCOME: TypeAdapter[Outcome] = TypeAdapter(Outcome)


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
        given=parts,
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
            return await run.steps()
    except TimeoutError:
        if not limit.expired():
            raise
        why = f"the {run.settings.max_seconds:g} s of the run have passed"
        return Ended(answer="", outcome="deadline", missing=why)
    except (BudgetExceededError, ModelError, StorageError) as error:
        outcome = next(outcome for kind, outcome in _ENDS if isinstance(error, kind))
        return Ended(answer="", outcome=outcome, missing=str(error))


@dataclass(slots=True, kw_only=True)
class _Run:
    """The state of a run.

    :ivar first: number of results before the run's own.
    :ivar adapts: whether the run may ask for versions of operators. One that branches off does not take them over: it is another task.
    :ivar renewed: operator → the step after which it has a new version: calls that failed before may be made again.
    :ivar tried: operators of which a version was asked for.
    """

    question: Question
    given: QuestionParts | None
    settings: AgentSettings
    journal: Steps
    schema: GraphSchema = field(default_factory=lambda: GraphSchema(nodes=(), relationships=()))
    first: int = 0
    records: list[StepRecord] = field(default_factory=list)
    adapts: bool = False
    renewed: dict[str, int] = field(default_factory=dict)
    tried: set[str] = field(default_factory=set)

    @property
    def parts(self) -> QuestionParts:
        """The parts of the run; a replay has none, and its journal knows what each step gave."""
        if self.given is None:
            raise not_recorded("the journal lacks a step of the run", subject="replay")
        return self.given

    async def steps(self) -> Ended:
        """Take steps until one gives an answer, or there may be no more."""
        begun: _Begun = await self.journal.step("begin", self._begin, _BEGUN)
        self.schema, self.first, self.adapts = begun.schema, begun.first, begun.adapts
        if self.given is not None and self.given.adapter is not None:
            serving = self.given.adapter.serving(self.given.operators, self.given.graph, self.schema)
            self.given = replace(self.given, operators=serving)
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

    async def _begin(self) -> _Begun:
        schema, adapter = await self.parts.graph.schema(), self.parts.adapter
        begun = QuestionBegun(
            question=self.question.text,
            fingerprint=schema.fingerprint,
            node_types=tuple(each.name for each in schema.nodes),
            relationship_types=tuple(each.name for each in schema.relationships),
            descriptors=self.settings.descriptors != "off",
        )
        emit(begun)
        first = max(map(order_of, self.parts.results.handles), default=0)
        return _Begun(schema=schema, first=first, adapts=adapter is not None and adapter.proposes)

    async def _offer(self, step: int) -> list[str]:
        """Return the names of the operators of a step."""
        known = [each.name for each in self.parts.operators]
        every = [name for name in known if name != _CYPHER]
        core = [name for name in dict.fromkeys((*CORE, *self.renewed)) if name in every]
        others, fallback = [name for name in every if name not in core], ""
        if self.parts.finder is not None:
            last = self.records[-1].outcomes if self.records else ()
            hints = (each.hint for each in last if not isinstance(each, Result))
            try:
                found = await self.parts.finder.find(" ".join([self.question.text, *hints]))
                names = [each.tool.name for each in found.tools if each.tool.name in others]
                others = names[: self.settings.found_operators]
            except (ClientError, EgotoolsError) as error:
                fallback = clean_text(str(error))
        failed = sum(
            not any(isinstance(each, Result) and each.size > 0 for each in record.outcomes) for record in self.records
        )
        last_resort = [_CYPHER] if _CYPHER in known and failed >= self.settings.failed_before_cypher else []
        offered = [*core, *others, *last_resort]
        emit(StepBegun(step=step, operators=tuple(offered), fallback=fallback))
        return offered

    async def _turn(self, step: int, offered: Sequence[str]) -> Turn | str:
        """Return the turn of a step, or why what was said is none."""

        async def take() -> _Planned:
            by_name = {each.name: each for each in self.parts.operators}
            view = StepView(
                question=self.question,
                schema=self.schema,
                catalog=self.parts.catalog,
                operators=tuple(by_name[name] for name in offered if name in by_name),
                records=tuple(self.records),
                results=self.parts.results,
                step=step,
                steps=self.settings.max_steps,
                with_descriptors=self.settings.descriptors != "off",
            )
            try:
                turn = await self.parts.turns.turn(view)
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

    async def _execute(self, step: int, turn: Sequence[Invocation], offered: Sequence[str]) -> tuple[Outcome, ...]:
        """Run the invocations of a step at once, and return what each gave; what fails says what to do instead."""
        made = sum(len(record.invocations) for record in self.records)
        before: dict[str, Outcome] = {}
        for record in self.records:
            for each, outcome in record.pairs:
                if record.number > self.renewed.get(each.operator, -1):
                    before.setdefault(each.key, outcome)

        async def recorded(nth: int, call: Invocation, earlier: Outcome | None) -> Outcome:
            async def take() -> Outcome:
                emit(Invoked(step=step, nth=nth, operator=call.operator, arguments=call.arguments))
                try:
                    result = await self._result(call, self.first + made + nth, offered, earlier)
                except OperatorFault as fault:
                    said: dict[str, str] = {"kind": fault.kind, "problem": fault.problem, "hint": fault.hint}
                    emit(Faulted(step=step, nth=nth, **said))
                    return Fault(**said)
                names = ("handle", "kind", "size", "cut", "summary", "notes")
                shown: dict[str, Any] = {name: getattr(result, name) for name in names}
                emit(ResultKept(step=step, nth=nth, **shown))
                return result

            return await self.journal.step(f"invocation/{step}/{nth}", take, _OUTCOME)

        calls = []
        for nth, each in enumerate(turn, 1):
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
            ran=lambda compiled: emit(QueryRun(text=compiled.text, parameters=dict(compiled.parameters))),
        )
        try:
            check_arguments(call.arguments, operator.parameters(self.schema, parts.results.handles))
            async with asyncio.timeout(seconds):
                return await operator.run(call.arguments, context)
        except (OperatorFault, StorageError, ModelError):
            raise
        except TimeoutError as error:
            problem = f"{name} took more than {seconds:g} s"
            raise OperatorFault("timeout", problem, "Ask for less: filters, fewer hops, a limit") from error
        except NotFoundError as error:
            raise OperatorFault("no such handle", error.problem, error.remedy or "Use another") from error
        except StatementError as error:
            raise OperatorFault("engine", error.problem, error.remedy or "Use another operator") from error
        except EgotoolsError as error:
            problem = f"{error.subject}: {error.problem}"
            raise OperatorFault("arguments", problem, error.remedy or "Change it") from error
        except Exception as error:  # an operator may be of somebody else; its bug ends no run
            problem = f"{type(error).__name__}: {error}"[:_ERROR_CHARS]
            raise OperatorFault("engine", problem, "Use another operator") from error

    async def _adapt(self, step: int) -> None:
        """Ask for a version of an operator that failed. The next steps have it, and of a call that can be made again the hint says so.

        :raises BudgetExceededError: when the budget is used up.
        """

        async def take() -> Adaptation | None:
            parts = self.parts
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
        if self.given is not None:
            operators = (made.version.serving(o) if o.name == made.operator else o for o in self.given.operators)
            self.given = replace(self.given, operators=tuple(operators))

    async def _decide(self, step: int, answer: Answer) -> Ended | None:
        """Return the end of the run, or None where the answer is handed back."""
        made = {each.handle for record in self.records for each in record.outcomes if isinstance(each, Result)}
        of = tuple(handle for handle in answer.of if handle in made)
        if answer.kind != "reply":
            return Ended(answer=answer.text, outcome="asked back" if answer.kind == "question" else "unreadable", of=of)

        async def take() -> list[str]:
            results = self.parts.results
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
