"""Steps of a run with a journal: each is taken once in the life of a run, and a replay takes none.

A run that goes on, or is replayed, takes its way again from the beginning. What the journal knows of a step (a call, a search, an answer
of a model, a query, code) is taken from there: only what was not finished is asked, called or computed.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Lock
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

import ontology.errors
from egotools import ClientError, PermissionDeniedError, Tool
from egotools.calling.invoker import ToolAnswer, ToolInvoker
from egotools.client_errors import client_error_of
from inference.chat import Budget, ChatModel, Completion, ObservedModel
from ontology.errors import BudgetExceededError, EgotoolsError, InvalidArgumentError, ModelError, StorageError
from ontology.json_values import canonical_text, first_error
from planners.calls.sandbox import Sandbox, SandboxResult
from planners.calls.tool_access import Ask, never
from planners.calls.tool_finder import Finder, FoundTools
from planners.calls.untrusted import clean_text, cleaned
from planners.journal.run_journal import DAMAGED, RunJournal, RunRecord
from planners.journal.step_log import Event, also_told_to, emit, seconds_since
from planners.stores.property_graph import GraphState, Language, Operation, PropertyGraph, QueryLimits, QueryRows

T = TypeVar("T")
H = TypeVar("H", bound=BaseModel)
# What steps give, by their kind; those of the kind ``step`` give what their planner says
_FORMS: Mapping[str, TypeAdapter[Any]] = {
    "call": TypeAdapter(ToolAnswer),
    "find": TypeAdapter(FoundTools),
    "graph apply": TypeAdapter(None),
    "graph query": TypeAdapter(QueryRows),
    "graph state": TypeAdapter(GraphState),
    "model": TypeAdapter(Completion),
    "sandbox": TypeAdapter(SandboxResult),
}
_LIMITS = QueryLimits()
_NOTHING_SENT = ("INVALID_ARGUMENT", "PERMISSION_DENIED", "FAILED_PRECONDITION")
_NOT_KNOWN = "EFFECT_NOT_KNOWN"
_RUN_LIMIT = "RUN_LIMIT"  # a limit of the run refused the call: it may go on with another one
_CHARS = 1_000  # of an error of foreign code


@dataclass(slots=True)
class _Step:
    """A step, what an earlier process wrote of it last, and what it gives."""

    kind: str
    key: str
    nth: int
    earlier: RunRecord | None = None
    is_known: bool = False
    gave: Any = None


class Steps:
    """The steps of a run. Several threads may take some.

    :param journal: None: every step is taken, and nothing is written.
    :param is_replay: whether no step is taken: the journal has them all.
    :param faults: what is written of a step that fails: nothing (``raised``); what a replay raises again (``retried``); or what the run
        raises again when it goes on, too (``kept``). Only of ``retried`` steps what is given keeps the order of its keys.
    :param event_of: makes an event of the JSON values of one that was told in a step.
    """

    def __init__(
        self,
        journal: RunJournal | None = None,
        *,
        is_replay: bool = False,
        faults: Literal["raised", "retried", "kept"] = "raised",
        event_of: Callable[[Any], Any] = lambda event: event,
    ) -> None:
        self._journal, self._is_replay, self._faults, self._event_of = journal, is_replay, faults, event_of
        self._made: Counter[tuple[str, str]] = Counter()
        self._lock = Lock()

    async def once(self, kind: str, key: str, take: Callable[[], Awaitable[T]], **more: Any) -> T:
        """Return what a step gave, and tell the events that it told; ``more`` as of :meth:`taken`."""
        with self.taken(kind, key, **more) as step:
            if not step.is_known:
                step.gave = await take()
        gave: T = step.gave
        return gave

    @contextlib.contextmanager
    def taken(
        self,
        kind: str,
        key: str,
        *,
        form: TypeAdapter[Any] | None = None,
        subject: str = "",
        told: Callable[[Any], Mapping[str, Any]] = lambda gave: {},
        **about: Any,
    ) -> Iterator[_Step]:
        """Give a step that is taken in the block, unless it is known; equal ones are told apart by their number.

        :param form: of what it gives, which is kept as JSON values.
        :param subject: of the errors of foreign code.
        :param told: what the record says of what the step gave, and ``about`` what it always says.
        :raises InvalidArgumentError: in a replay, when the run did not take this step.
        :raises StorageError: when the journal cannot be written.
        """
        with self._lock:
            step = _Step(kind, key, self._made[kind, key])
            self._made[kind, key] += 1
        if self._journal is None:
            yield step
            return
        form = form or _FORMS[_form_name(kind, about)]
        step.earlier = self._journal.last(kind, key, step.nth)
        if self._recall(step, form):
            yield step
            return
        events: list[Any] = []
        started = time.perf_counter()
        try:
            with also_told_to(events.append):
                yield step
        except BudgetExceededError:
            raise
        except Exception as error:  # models, tools and stores raise what nobody foresaw
            if self._faults == "raised":
                raise
            if isinstance(error, EgotoolsError | ClientError):
                named: EgotoolsError | ClientError = error
            elif kind in ("graph", "model"):
                named = (StorageError if kind == "graph" else ModelError)(error_text(error), subject=subject or kind)
            else:
                named = client_error_of("ABORTED", error_text(error), subject=subject or kind)
            self.write(step, "failed", **about, **_fault_json(named), seconds=seconds_since(started))
            if named is error:
                raise
            raise named from error
        sorts = self._faults != "retried"  # equal values give equal prompts, whatever the order of their keys
        gave = json.loads(json.dumps(form.dump_python(cleaned(step.gave), mode="json"), sort_keys=sorts))
        more = {"events": [event.to_json() for event in events]} if events else {}
        self.write(step, "ended", **about, **told(step.gave), gave=gave, **more, seconds=seconds_since(started))
        step.gave = form.validate_json(json.dumps(gave))

    def write(self, step: _Step, how: str, /, **data: Any) -> None:
        """Write a record about a step."""
        if self._journal is not None:
            self._journal.append(f"{step.kind}_{how}", key=step.key, nth=step.nth, **data)
            if how == "begun" and not data.get("reads"):  # before a call that may change something
                self._journal.flush()

    def _recall(self, step: _Step, form: TypeAdapter[Any]) -> bool:
        """Return whether the journal knows what a step gave; then the step has it, or its error is raised."""
        earlier = step.earlier
        how = earlier.kind.rpartition("_")[2] if earlier is not None else ""
        if earlier is None or how == "begun":
            if self._is_replay:
                raise not_recorded(f"the journal does not say what this {step.kind} gave", subject=step.key)
            return False
        if how == "failed":
            fails_again = self._faults == "kept" and earlier.data.get("reason") != _RUN_LIMIT
            if self._is_replay or fails_again:
                raise _fault(earlier.data)
            return False
        try:
            events = [self._event_of(event) for event in earlier.data.get("events", ())]
        except (ValueError, TypeError, LookupError, AttributeError) as error:  # ValueError: also of pydantic
            raise _damaged(earlier, error, "it tells something else than events") from None
        for event in events:
            emit(event)
        step.gave, step.is_known = _read(earlier, form), True
        return True


def check_steps(journal: RunJournal) -> None:
    """Check that each record of a journal has the form of its kind, before a run is amid them and takes damage for a
    part that failed."""
    for record in journal.records:
        kind, _, how = record.kind.rpartition("_")
        if how == "ended" and (form := _FORMS.get(_form_name(kind, record.data))):
            _read(record, form)


def _form_name(kind: str, about: Mapping[str, Any]) -> str:
    return f"{kind} {about['op']}" if "op" in about else kind


def _read(record: RunRecord, form: TypeAdapter[Any]) -> Any:
    try:
        return form.validate_json(json.dumps(record.data["gave"]))
    except (ValidationError, RecursionError, KeyError) as error:
        raise _damaged(record, error, "it gives nothing, or is nested too deeply") from None


def _damaged(record: RunRecord, error: Exception, otherwise: str) -> InvalidArgumentError:
    said = first_error(error) if isinstance(error, ValidationError) else otherwise
    place = f"line {record.n + 1} of the journal"
    return InvalidArgumentError(f"the record is damaged: {said}", subject=place, remedy=DAMAGED)


def request_key(request: Any) -> str:
    """Return the key of a request, JSON values: equal requests have equal keys."""
    return hashlib.sha256(canonical_text(request).encode("utf-8", "surrogatepass")).hexdigest()


def header_of(journal: RunJournal, form: type[H]) -> H | None:
    """Return what the run of a journal was begun with, None of an empty one; ``run`` of the form has the name of the planner.

    :raises InvalidArgumentError: when it is the journal of another command, or damaged.
    """
    first = journal.first
    if first is None:
        return None
    if first.kind != "run_begun" or first.data.get("run") != form.model_fields["run"].default:
        problem = "it is the journal of another command"
        raise InvalidArgumentError(problem, subject=str(journal.path), remedy="Give a new file")
    try:
        return form.model_validate(cleaned(dict(first.data)))  # pydantic takes no lone surrogate
    except ValidationError as error:
        problem = f"the first record is damaged: {first_error(error)}"
        raise InvalidArgumentError(problem, subject=f"{journal.path}:1", remedy=DAMAGED) from None


def end_of(journal: RunJournal) -> Mapping[str, Any]:
    """Return what the record of a run's end says; raises InvalidArgumentError when the run has not ended."""
    if journal.end is None:
        problem = "the run of this journal has not ended"
        raise InvalidArgumentError(problem, subject=str(journal.path), remedy="Let it go on first")
    return journal.end


class Heard:
    """Hands the events of a run on, and counts them: ``told`` is their number, and a digest of them without measured
    seconds, for the record of the end."""

    def __init__(self, observe: Callable[[Any], object]) -> None:
        self._observe = observe
        self.told: dict[str, Any] = {"events": 0, "told": ""}

    def __call__(self, event: Event) -> None:
        """Take an event."""
        fields = {name: value for name, value in event.to_json().items() if name not in event.left_out}
        self.told = {"events": self.told["events"] + 1, "told": request_key([self.told["told"], fields])}
        self._observe(event)

    def check(self, ended: Mapping[str, Any], answer: Mapping[str, Any], subject: Path) -> None:
        """Check that a replay told what the run did, and ended as it; raises InvalidArgumentError when it differs."""
        if {name: ended.get(name) for name in (*self.told, "answer")} != {**self.told, "answer": answer}:
            raise not_recorded("the replay differs from the run", subject=str(subject))


def not_recorded(problem: str, *, subject: str) -> InvalidArgumentError:
    """Return the error of a replay that goes another way than its journal."""
    return InvalidArgumentError(problem, subject=subject, remedy="Replay with the release that wrote it")


def error_text(error: Exception) -> str:
    """Return an error in words: those of ours as they are, others with the name of their class."""
    known = isinstance(error, EgotoolsError | ClientError)
    return clean_text(str(error) if known else f"{type(error).__name__}: {error}"[:_CHARS])


def _fault_json(error: EgotoolsError | ClientError) -> dict[str, str]:
    if isinstance(error, ClientError):
        named = {"code": error.code, "reason": error.reason, "problem": error.message}
    else:
        known = (each.__name__ for each in type(error).__mro__ if each.__module__ == ontology.errors.__name__)
        named = {"error": next(known), "problem": error.problem}
    return {**named, "subject": error.subject, "remedy": error.remedy}


def _fault(given: Mapping[str, Any]) -> EgotoolsError | ClientError:
    """Return the error of a record."""
    problem = str(given.get("problem", ""))
    details = {name: str(given.get(name, "")) for name in ("subject", "remedy")}
    if "code" in given:
        return client_error_of(str(given["code"]), problem, reason=str(given.get("reason", "")), **details)
    kind = getattr(ontology.errors, str(given.get("error")), EgotoolsError)
    if not (isinstance(kind, type) and issubclass(kind, EgotoolsError)):
        kind = EgotoolsError
    error = kind.__new__(kind)  # constructors of some classes take other arguments
    EgotoolsError.__init__(error, problem, **details)
    return error


class RecordedInvoker:
    """Makes each call once. One that was begun and not finished is made again where it only reads; of one that may write it is not
    known whether it was done.

    :param inner: None in a replay.
    :param repeat: whether a write whose effect is not known shall be made again.
    """

    def __init__(self, inner: ToolInvoker | None, steps: Steps, *, repeat: Ask = never) -> None:
        self._inner, self._steps, self._repeat = inner, steps, repeat

    async def invoke(self, tool: Tool, arguments: Mapping[str, Any]) -> ToolAnswer:
        """See :class:`ToolInvoker`.

        :raises StorageError: when the journal cannot be written; the call is then not made, or its answer is lost.
        """
        key, reads = request_key([tool.id, dict(arguments)]), tool.effect == "read"

        def told(answer: ToolAnswer) -> dict[str, Any]:
            return {"ok": answer.ok, "status": answer.status, "size": answer.size, "rows": rows_of(answer.body)}

        with self._steps.taken("call", key, subject=tool.id, told=told, tool=tool.id) as step:
            if not step.is_known:
                earlier = step.earlier
                may_be_done = earlier is not None and (
                    earlier.kind == "call_begun"
                    or earlier.data.get("reason") == _NOT_KNOWN
                    or earlier.data.get("code") not in _NOTHING_SENT
                )
                if not reads and may_be_done and not await self._repeat(tool, arguments):
                    raise PermissionDeniedError(
                        "this call may change something; it was begun before, and it is not known whether it was done",
                        code="PERMISSION_DENIED",
                        reason=_NOT_KNOWN,
                        subject=tool.id,
                        remedy="Look whether it was done, then confirm that it shall be made again.",
                    )
                self._steps.write(step, "begun", tool=tool.id, reads=reads, arguments=cleaned(dict(arguments)))
                step.gave = await _inner(self._inner).invoke(tool, arguments)
        answer: ToolAnswer = step.gave
        return answer


def _inner(part: Any) -> Any:
    """Return a part of a run; a replay has none, and never needs it."""
    if part is None:
        raise not_recorded("the journal lacks a step of the run", subject="replay")
    return part


def rows_of(body: Any) -> int:
    """Return the number of rows of an answer: the items of a list, of the longest list of an object, else one where there is any."""
    if isinstance(body, Mapping):
        lists = [len(value) for value in body.values() if isinstance(value, list)]
        return max(lists, default=1 if body else 0)
    return len(body) if isinstance(body, list) else int(body is not None)


class RecordedFinder:
    """Asks for the tools of each request once."""

    def __init__(self, inner: Finder | None, steps: Steps) -> None:
        self._inner, self._steps = inner, steps
        self._found: dict[str, FoundTools] = {}

    async def find(self, request: str) -> FoundTools:
        """See :class:`Finder`."""
        if request not in self._found:
            about = {"subject": "finder", "request": clean_text(request)}
            found = await self._steps.once(
                "find", request_key(request), lambda: _inner(self._inner).find(request), **about
            )
            self._found[request] = found
        return self._found[request]


class RecordedGraph:
    """A graph whose answers are those of the first time, in the language that a replay is told. A run that goes on
    makes its writes again, because its graph is begun empty."""

    def __init__(self, inner: PropertyGraph | None, steps: Steps, language: Language = "cypher") -> None:
        self._inner, self._steps = inner, steps
        self.language: Language = language if inner is None else inner.language

    async def apply(self, operations: Sequence[Operation]) -> None:
        """See :class:`PropertyGraph`."""
        given = [[type(each).__name__, asdict(each)] for each in operations]
        with self._steps.taken("graph", request_key(["apply", given]), op="apply") as step:
            if not step.is_known:
                await _inner(self._inner).apply(operations)
        if step.is_known and self._inner is not None:
            await self._inner.apply(operations)

    async def query(self, text: str, limits: QueryLimits = _LIMITS) -> QueryRows:
        """See :class:`PropertyGraph`."""
        key = request_key(["query", [text, {}, asdict(limits)]])
        return await self._steps.once("graph", key, lambda: _inner(self._inner).query(text, limits), op="query")

    async def state(self) -> GraphState:
        """See :class:`PropertyGraph`."""
        return await self._steps.once(
            "graph", request_key(["state", None]), lambda: _inner(self._inner).state(), op="state"
        )


class RecordedSandbox(Sandbox):
    """Runs each code once."""

    def __init__(self, inner: Sandbox | None, steps: Steps) -> None:
        super().__init__(*(() if inner is None else (inner.limits,)))
        self._inner, self._steps = inner, steps

    async def check(self) -> None:
        """See :class:`Sandbox`; a replay needs none."""
        if self._inner is not None:
            await self._inner.check()

    async def run(self, code: str, *, stdin: bytes = b"", files: Mapping[str, Path] | None = None) -> SandboxResult:
        """See :class:`Sandbox`."""
        key, about = request_key([code, hashlib.sha256(stdin).hexdigest(), sorted(files or ())]), clean_text(code)
        return await self._steps.once(
            "sandbox", key, lambda: _inner(self._inner).run(code, stdin=stdin, files=files), code=about
        )


def recorded_model(
    inner: ChatModel | None, steps: Steps, *, role: str = "", name: str = "", budget: Budget | None = None
) -> ObservedModel:
    """Return a model each of whose answers is asked for once. A call that a budget refused is not written, and is made
    again. In a replay ``inner`` is None, and nobody is asked; two models of one run have two roles. The budget has the
    prices of the answers; where it is None, that of the model has them."""

    def around(step_name: str, asked: Mapping[str, Any], ask: Callable[[], Completion]) -> Completion:
        about: dict[str, Any] = {"role": role, "step": step_name, "model": model.name, "asked": cleaned(dict(asked))}
        with steps.taken("model", request_key([role, asked]), subject=model.name, told=told, **about) as step:
            if not step.is_known:
                step.gave = ask()
        answer: Completion = step.gave
        return answer

    def told(answer: Completion) -> dict[str, Any]:
        used = {"prompt_tokens": answer.prompt_tokens, "completion_tokens": answer.completion_tokens}
        return {**used, "usd": model.budget.usd(**used)}

    model = ObservedModel(inner, around, name=name, budget=budget)
    return model
