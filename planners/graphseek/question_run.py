"""A question's run: each step plans, executes, and decides whether to go on (section 3.1 of the paper); answers are grounded.

Every number and every quoted name of an answer must stand in a result of the run, or in what was asked: the paper saw models answer from
memory after a failure (section 6.4), and this notices it."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
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
from ontology.names import WORDED_NUMBER, number_of
from planners.calls.model_text import is_no_answer
from planners.calls.tool_finder import Finder
from planners.calls.untrusted import clean_text
from planners.graphseek.adapt import Adaptation, OperatorAdapter
from planners.graphseek.catalog import SemanticCatalog
from planners.graphseek.operators.operator import (
    Operator,
    OperatorContext,
    OperatorFault,
    check_arguments,
    nearest_hint,
)
from planners.graphseek.results import Result, ResultStore, order_of
from planners.graphseek.turn import (
    AgentEvent,
    AgentSettings,
    Answer,
    AnswerRejected,
    Ended,
    Fault,
    Faulted,
    Invocation,
    Invoked,
    ModelAsked,
    OperatorAdapted,
    Outcome,
    QueryRun,
    Question,
    QuestionBegun,
    ResultKept,
    RunOutcome,
    StepBegun,
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


__all__ = ["ungrounded"]

_CLAIM = re.compile(
    r"\"(?P<double>[^\"\n]{1,200})\"|“(?P<curly>[^”\n]{1,200})”|`(?P<code>[^`\n]{1,200})`|(?<!\w)'(?P<single>[^'\n]{1,200})'(?!\w)"
    r"|(?P<date>\b\d{4}-\d{2}(?:-\d{2})?\b)"
    rf"|(?P<worded>(?i:(?=[a-z]|\S+ dozen\b){WORDED_NUMBER})(?!(?:[-_./'’&+]|::)\w))"
    r"|(?P<number>(?<![\w.,-])[-−]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w]|[.,-]\d|-[A-Z]))(?P<percent>\s?%)?"
)
_ENUMERATION = re.compile(r"(?m)^(?P<mark>\s*(?:[-*•>#]+\s+)*\(?)\d{1,3}(?=[.)]\s)")
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:,\d{3})*(?:\.\d+)?(?:[eE][+-]?\d+)?")
_WORD = re.compile(r"\w+")
_SCALES = {"hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9}
_ABOUT = ("about", "approximately", "around", "nearly", "roughly", "≈", "~")
_BEFORE, _BEHIND = 5, 3  # words around a number that may be one name with it: "Busbar laser welding 0412"
_MOST_CLAIMS = 1_000  # of one answer, which has at most 20,000 characters
_MOST_MISSING = 8  # after which no others are looked for: each took about 5 s in a table of 200,000 rows
_MOST_RATIOS = 40  # returned numbers of which ratios are taken: of more, some ratio is near any share
_EXACT = 1e-9  # relative: numbers go through decimal texts


@dataclass(frozen=True, slots=True, kw_only=True)
class _Claim:
    """A number or a name of an answer, from ``start`` to ``end``; ``tolerance`` is half of the last digit that was written."""

    text: str
    start: int
    end: int
    number: float | None = None
    tolerance: float = 0.0


async def ungrounded(
    answer: str, *, question: Question, schema: GraphSchema, records: Sequence[StepRecord], values: ResultStore
) -> list[str]:
    """Return the numbers and quoted names of an answer that stand nowhere, as they are written, each once: the first few, or that there
    are too many to check.

    What counts: values of results, what summaries and notes of results say, sizes of results, values of arguments that gave something,
    the question and those before it, and the names of the schema. A percentage may be the ratio of two numbers of these. Earlier answers
    do not count: their results do.
    """
    claims = list(_claims(answer))
    if len(claims) > _MOST_CLAIMS:
        return [f"{len(claims):,} numbers and names, of which {_MOST_CLAIMS:,} can be checked"]
    known = _Known(question, schema, records)
    found: dict[str, None] = {}
    for claim in claims:
        if claim.text in found or len(found) >= _MOST_MISSING:
            continue
        stands = known.has(claim.text) if claim.number is None else known.has_number(claim)
        if not (stands or await _in_results(claim, answer, values)):
            found[claim.text] = None
    return [*found]


def _claims(answer: str) -> Iterator[_Claim]:
    text = _ENUMERATION.sub(lambda found: found["mark"] + " " * (len(found[0]) - len(found["mark"])), answer)
    for match in _CLAIM.finditer(text):
        number, kind = match["number"], match.lastgroup or ""
        if number is None and kind != "worded":
            bare = match[kind].strip(" .,;:")
            if bare:
                yield _Claim(text=bare, start=match.start(kind), end=match.end(kind))
        elif match[0].lower() != "one":  # "one of them"
            yield _number(match, text)


def _number(match: re.Match[str], text: str) -> _Claim:
    written = match["number"] or ""
    value = float(written.replace(",", "").replace("−", "-")) if written else float(number_of(match["worded"]) or 0)
    decimals = len(written.partition("e")[0].partition(".")[2])
    following, before = _WORD.match(text, match.end() + 1), text[: match.start()].split()[-1:]
    scale = _SCALES.get(following[0].lower(), 1.0) if following else 1.0
    digit = max(scale, _SCALES.get(match[0].lower().split()[-1], 1.0))  # the last that was written: "two thousand"
    is_rounded = decimals > 0 or digit > 1 or (before and before[0].lower().lstrip("(") in _ABOUT)
    tolerance = 0.5 * 10.0**-decimals * digit * (1 + _EXACT) if is_rounded else 0.0
    return _Claim(
        text=match[0].strip(), start=match.start(), end=match.end(), number=value * scale, tolerance=tolerance
    )


class _Known:
    """What is known without asking the results."""

    def __init__(self, question: Question, schema: GraphSchema, records: Sequence[StepRecord]) -> None:
        texts = [question.text, *(asked for asked, _ in question.earlier)]
        numbers = [each.number for text in texts for each in _claims(text) if each.number is not None]
        self._returned: dict[float, None] = {}
        for invocation, outcome in (pair for record in records for pair in record.pairs):
            if isinstance(outcome, Result):
                self._returned.update(dict.fromkeys([float(outcome.size), *_numbers(_folded(outcome.summary))]))
                texts += [outcome.summary, *outcome.notes]
                if outcome.size:
                    texts += [str(each) for each in invocation.scalars()]
        nodes = {each.name: each.properties for each in schema.nodes}
        for name, properties in {**nodes, **{each.name: each.properties for each in schema.relationships}}.items():
            texts += [name, *(each.name for each in properties)]
        self._text = _folded("\n".join(texts))
        self._numbers = [*numbers, *self._returned, *_numbers(self._text)]

    def has(self, name: str) -> bool:
        """Whether a name stands in a text as whole words."""
        return re.search(rf"(?<!\w){re.escape(_folded(name))}(?!\w)", self._text) is not None

    def has_number(self, claim: _Claim) -> bool:
        """Whether a number is known, as it is or in words; a percentage also as a share, or as the ratio of two numbers."""
        for value, tolerance in _readings(claim):
            if any(abs(each - value) <= tolerance for each in self._numbers):
                return True
        if not claim.text.endswith("%"):
            return not claim.text[:1].isdigit() and self.has(claim.text)
        value, tolerance = _readings(claim)[1]
        some, tolerance = [*self._returned][:_MOST_RATIOS], max(tolerance, 0.005)
        return any(whole and abs(part / whole - value) <= tolerance for part in some for whole in some)


def _readings(claim: _Claim) -> list[tuple[float, float]]:
    """Return the values that a number may stand for, each with its tolerance: of a percentage also the share."""
    number = claim.number or 0.0
    scales = (1.0, 0.01) if claim.text.endswith("%") else (1.0,)
    return [(number * each, claim.tolerance * each + _EXACT * max(1.0, abs(number * each))) for each in scales]


async def _in_results(claim: _Claim, answer: str, values: ResultStore) -> bool:
    if claim.number is None:
        return await values.has_value(claim.text) is not None
    for value, tolerance in _readings(claim):
        if await values.has_value(value, tolerance=tolerance) is not None:
            return True
    before = [each.start() for each in _WORD.finditer(answer, max(0, claim.start - 120), claim.start)][-_BEFORE:]
    behind = [each.end() for each in _WORD.finditer(answer, claim.end, claim.end + 80)][:_BEHIND]
    texts = [answer[start:end] for start in (claim.start, *reversed(before)) for end in (claim.end, *behind)]
    names = tuple(text for text in texts if text != claim.text and "\n" not in text)
    return bool(names) and await values.has_value(names) is not None


def _numbers(text: str) -> Iterator[float]:
    return (float(each.replace(",", "")) for each in _NUMBER.findall(text))


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())
