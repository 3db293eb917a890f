"""Turns by a chat model: one structured call a step, whose schema has the operators that are offered and nothing else.

A prompt has what stays the same (rules, schema) first, then the turns before, the question, the operators, and the steps so far, all
within a number of tokens: the oldest turns, summaries and steps are left out first.
"""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from inference.chat import GREEDY, ChatModel, Message, Sample
from inference.structured_chat import StructuredChat, StructuredRequest, UnusableAnswerError
from ontology.json_values import canonical_text
from planners.calls.model_text import PromptTokens, json_objects, without_thoughts
from planners.calls.untrusted import FenceMarks, cleaned
from planners.graphseek.agent_events import ModelAsked
from planners.graphseek.catalog.catalog_text import CatalogForm, catalog_text
from planners.graphseek.operators.operator import Operator, OperatorFault, check_arguments, object_schema
from planners.graphseek.prompts.graphseek_prompt import graphseek_prompt
from planners.graphseek.results.result import Result
from planners.graphseek.turn import (
    AgentSettings,
    Answer,
    Fault,
    Invocation,
    Outcome,
    StepRecord,
    StepView,
    Turn,
    UnusableTurnError,
    known_handles,
)
from planners.journal.step_log import metered, on_a_thread
from planners.stores.graph_schema import GraphSchema

__all__ = ["LlmTurns"]

T = TypeVar("T")

_SETTINGS = AgentSettings()
_MOST_CALLS = 4  # of one turn: the paper's widest step has three at once (section 5.3.4)
_SHARED_CHARS = 80  # of a part that is written once, when it stands there twice: shorter ones cost more as references
_SUMMARY_TOKENS = 300
_PROBLEM_CHARS = 300
_LONGEST_SHARE = (
    4  # one turn before has a quarter of the tokens at most, so that a long answer does not push out the others
)
_CHARS_PER_TOKEN = 4
_TEMPERATURE = 0.7
"""Of a turn behind a failed call that was repeated unchanged: the most probable answer would be that call again. Chosen, not tuned."""
_NOW = " If the results answer the question, give the answer now; else give calls that were not made before."
_LINES, _LINE_CHARS = 8, 200  # of results of turns before: as many as two turns make
_EMPTY = "If that is not the answer, check the type (find says which type a name is of), the values, the direction and the hops"
"""The failures of section 6.4 of the paper end here: a wrong kind of entity, a swapped direction, a chain that is cut short."""
_TEXT: dict[str, Any] = {
    "type": "string",
    "minLength": 1,
}  # a bound of thousands of characters makes grammars that servers refuse
_CALL: dict[str, Any] = {
    "type": "object",
    "properties": {"operator": {"type": "string"}, "arguments": {"type": "object"}},
    "required": ["operator", "arguments"],
}
_TURN: dict[str, Any] = {
    "type": "object",
    "properties": {
        "calls": {"type": "array", "items": _CALL, "minItems": 1, "maxItems": _MOST_CALLS},
        "answer": _TEXT,
        "of": {"type": "array", "items": {"type": "string"}},
        "ask": _TEXT,
    },
}
"""What is read of a turn. Names and arguments are checked when they are run: the faults there say more than a schema does."""
_SUMMARY: dict[str, Any] = object_schema(["summary"], summary=_TEXT)


class LlmTurns:
    """Asks one model.

    :param settings: of the run.
    :param fence_key: of the marks around data; a new one where empty.
    :param summarises: whether turns that do not fit the history are summarised by the model; else they are left out.
    """

    def __init__(
        self,
        model: ChatModel,
        *,
        settings: AgentSettings = _SETTINGS,
        fence_key: bytes = b"",
        summarises: bool = False,
    ) -> None:
        self._model = model
        self._settings = settings
        self._marks = FenceMarks(fence_key)
        self._summarises = summarises
        self._count = PromptTokens().count

    async def turn(self, view: StepView) -> Turn:
        """See :class:`TurnMaker`."""
        handles = known_handles(view.results.handles, view.records)
        messages = (
            Message(role="system", content=self._system(view)),
            Message(role="user", content=await self._user(view, handles)),
        )
        stuck = _stuck(view)
        left_out = stuck[0] & stuck[1] if len(stuck) > 1 else frozenset()
        offered = [each for each in view.operators if each.name not in left_out] or view.operators
        schema = _turn_schema(() if _repeats(view) else offered, view.schema, handles)
        sample = Sample(seed=len(stuck), temperature=_TEMPERATURE) if stuck else GREEDY
        return await self._ask("turn", messages, schema, _turn, self._settings.answer_tokens, sample)

    def _system(self, view: StepView) -> str:
        """What stays the same in all steps of a question, so that a server reads it once."""
        form: CatalogForm = "lean"
        if view.with_descriptors:
            form = "full" if self._settings.descriptors == "on" else "auto"
        known = catalog_text(view.catalog, view.schema, view.question.text, form=form, count=self._count)
        texts = [graphseek_prompt("turn"), *([graphseek_prompt("subtask")] if view.is_subtask else [])]
        return "\n\n".join([*texts, f"Schema:\n{self._marks.fenced(known.text)}"])

    async def _user(self, view: StepView, handles: Sequence[str]) -> str:
        """What changes: the turns before, the question, the operators, and the steps so far."""
        parts = []
        if view.question.earlier:
            parts.append(f"Turns before:\n{self._marks.fenced(await self._history(view.question.earlier))}")
        if stored := _stored(view):
            parts.append(f"Results of turns before:\n{self._marks.fenced(stored)}")
        parts.append(f"Operators:\n{_operator_lines(view.operators, view.schema, handles)}")
        parts.append(f"Question: {view.question.text}")
        parts.append(f"This is step {view.step} of at most {view.steps}.{_NOW if view.records else ''}")
        trace = self._trace(view.records, self._settings.message_tokens - sum(map(self._count, parts)))
        return "\n\n".join([*parts[:-1], *([trace] if trace else []), parts[-1]])

    async def _history(self, turns: Sequence[tuple[str, str]]) -> str:
        """Return the turns before, the newest whole; those that do not fit are summarised or left out."""
        most = self._settings.history_tokens
        share, kept, left = most // _LONGEST_SHARE, list[str](), most
        texts = [self._cut(f"Question: {asked}\nAnswer: {answered}", share) for asked, answered in turns]
        for text in reversed(texts):
            left -= self._count(text)
            if left < 0:
                break
            kept.insert(0, text)
        older = texts[: len(texts) - len(kept)]
        if not older:
            return "\n".join(kept)
        while len(kept) > 1 and sum(map(self._count, kept)) > most - share:
            older.append(kept.pop(0))
        said = await self._summary("\n".join(older)) if self._summarises else ""
        note = f"Before that, in short: {said}" if said else f"({len(older)} earlier turns are left out.)"
        return "\n".join([self._cut(note, share), *kept])

    def _cut(self, text: str, most: int) -> str:
        """Return the beginning of a text that has too many tokens."""
        while (tokens := self._count(text)) > most:
            text = f"{text[: max(1, len(text) * most // (tokens + 1) - _CHARS_PER_TOKEN)]}…"
        return text

    async def _summary(self, text: str) -> str:
        """Return a text in short; empty where the model gives none that can be used."""
        messages = (
            Message(role="system", content=graphseek_prompt("history_summary")),
            Message(role="user", content=self._marks.fenced(text)),
        )
        try:
            return await self._ask("history_summary", messages, _SUMMARY, _said, _SUMMARY_TOKENS)
        except UnusableTurnError:
            return ""

    def _trace(self, records: Sequence[StepRecord], most_tokens: int) -> str:
        """Return the steps so far. Where they have too many tokens, the oldest summaries are left out first, then whole steps."""
        if not records:
            return ""
        shown = [self._step(record, is_short=False) for record in records]
        sizes = [self._count(text) for text in shown]
        for at, record in enumerate(records):
            if sum(sizes) <= most_tokens:
                break
            shown[at] = self._step(record, is_short=True)
            sizes[at] = self._count(shown[at])
        first = 0
        while first < len(shown) - 1 and sum(sizes[first:]) > most_tokens:
            first += 1
        left_out = [f"({first} earlier steps are left out.)"] if first else []
        return "\n".join(["Steps so far:", *left_out, *shown[first:]])

    def _step(self, record: StepRecord, *, is_short: bool) -> str:
        lines = [f"Step {record.number}" if record.number else "Given"]
        for invocation, outcome in record.pairs:
            arguments = json.dumps(dict(invocation.arguments), ensure_ascii=False)
            lines += [f"{invocation.operator} {arguments}", self._outcome(outcome, is_short=is_short)]
        if record.rejected is not None:
            lines += [f"The answer was handed back, {record.why}. It was:", self._marks.fenced(record.rejected.text)]
        elif record.why:
            lines.append(f"It could not be used: {record.why}")
        return "\n".join(lines)

    def _outcome(self, outcome: Outcome, *, is_short: bool) -> str:
        if not isinstance(outcome, Result):
            return f"failed ({outcome.kind}): {outcome.problem}. {outcome.hint}"
        if outcome.size == 0:
            return f"gave {outcome.handle}, which is empty. {_EMPTY}"
        if is_short:
            kind, size = outcome.kind, outcome.size
            return f"gave {outcome.handle}: a {kind} of {size} (its summary is left out; read it again)"
        return f"gave {outcome.handle}:\n{self._marks.fenced(outcome.summary)}"

    async def _ask(
        self,
        name: str,
        messages: tuple[Message, ...],
        schema: Mapping[str, Any],
        read: Callable[[str], T],
        most_tokens: int,
        sample: Sample = GREEDY,
    ) -> T:
        request = StructuredRequest(
            messages=messages, schema=schema, schema_name=name, max_tokens=most_tokens, sample=sample
        )
        with metered(self._model, name, partial(ModelAsked, prompt=name, temperature=sample.temperature)) as model:
            chat = StructuredChat(model, kind="graphseek", repair_prompt=_repair, cache=None)
            answer = await on_a_thread("graphseek-model", lambda: chat.call(request, "", read))
        if answer.failure is not None:
            raise answer.failure
        if answer.value is None:
            raise UnusableTurnError(answer.problem, subject=name, remedy="Another model may follow the form")
        return answer.value


def _repeats(view: StepView) -> bool:
    """Whether the last step only asked for what it has: the model then has to answer. A small model repeats one call until the end."""
    last = view.records[-1].outcomes if view.records else ()
    has_result = any(isinstance(each, Result) and each.size for record in view.records for each in record.outcomes)
    return has_result and bool(last) and all(isinstance(each, Fault) and each.kind == "repeated" for each in last)


def _stuck(view: StepView) -> list[frozenset[str]]:
    """Return the operators whose failed calls were repeated unchanged, of each of the last steps in a row with such a call, the newest first."""
    first: dict[str, Outcome] = {}
    steps: list[frozenset[str]] = []
    for record in view.records:
        repeated = set()
        for each, outcome in record.pairs:
            is_repeated = isinstance(outcome, Fault) and outcome.kind == "repeated"
            if is_repeated and isinstance(first.get(each.key), Fault):
                repeated.add(each.operator)
            first.setdefault(each.key, outcome)
        steps.append(frozenset(repeated))
    return [*itertools.takewhile(bool, reversed(steps))]


def _stored(view: StepView) -> str:
    """Return a line for each of the newest results that no step of this run gave."""
    own = known_handles((), view.records)
    stored = [each for each in view.results.handles if each not in own]
    return "\n".join(view.results.result(each).summary.partition("\n")[0][:_LINE_CHARS] for each in stored[-_LINES:])


def _turn(text: str) -> Turn:
    """Return the turn of an answer. A plain reply is an answer: it halts the run, once it is grounded."""
    bare = _bare(text)
    given = _object(bare, _TURN, lambda value: bool(value.keys() & {"calls", "answer", "ask"}))
    if given is None:
        return Answer(text=bare)
    if "calls" in given:
        return tuple(_invocation(each) for each in given["calls"])
    if "ask" in given:
        return Answer(text=given["ask"], kind="question")
    if "answer" not in given:
        raise UnusableAnswerError("it has neither calls nor an answer")
    return Answer(text=given["answer"], of=tuple(given.get("of", ())))


def _invocation(given: Mapping[str, Any]) -> Invocation:
    """Return an invocation; an argument that is null is left out, as models mean it."""
    arguments = {name: value for name, value in given["arguments"].items() if value is not None}
    return Invocation(operator=given["operator"], arguments=arguments)


def _said(text: str) -> str:
    given = _object(_bare(text), _SUMMARY, lambda value: "summary" in value)
    if given is None:
        raise UnusableAnswerError("it is not one JSON object")
    return str(given["summary"])


def _object(bare: str, schema: Mapping[str, Any], is_meant: Callable[[Mapping[str, Any]], bool]) -> Any:
    """Return the JSON value of a text, or the last object that is meant among others or in prose; None of prose without any.

    :raises UnusableAnswerError: when it is broken, or outside the schema.
    """
    try:
        value: Any = cleaned(json.loads(bare))
    except (ValueError, RecursionError) as error:
        meant = [each for each in json_objects(bare) if is_meant(each)]
        if not meant and bare and bare[0] not in '{["':
            return None
        if not meant:
            raise UnusableAnswerError(f"it is not one JSON object ({str(error)[:_PROBLEM_CHARS]})") from error
        value = cleaned(meant[-1])
    if not isinstance(value, Mapping) and bare[0] not in '{["':
        return None  # a number, true, null: prose
    try:
        check_arguments(value, schema, called="it")
    except OperatorFault as fault:
        raise UnusableAnswerError(f"{fault.problem}: {fault.hint}"[:_PROBLEM_CHARS]) from fault
    return value


def _bare(text: str) -> str:
    """Return a text without what the model thinks aloud, and without the marks of a code block, where the rest is one."""
    bare = without_thoughts(text)
    if bare.startswith("```") and bare.endswith("```") and "\n" in bare:
        return bare[bare.index("\n") : -3].strip()
    return bare


def _repair(fault: str) -> str:
    return f"That cannot be used: {fault}. Answer with one JSON object of the form that was said, and nothing else."


def _operator_lines(operators: Sequence[Operator], schema: GraphSchema, handles: Sequence[str]) -> str:
    """Return one line for each operator: its name, its arguments (optional ones with ``?``), and its description."""
    lines = []
    for each in operators:
        given = each.parameters(schema, handles)
        required = given.get("required", ())
        arguments = ", ".join(name if name in required else f"{name}?" for name in given.get("properties", {}))
        lines.append(f"- {each.name}({arguments}): {each.description}")
    return "\n".join(lines)


def _turn_schema(operators: Sequence[Operator], schema: GraphSchema, handles: Sequence[str]) -> dict[str, Any]:
    """Return the schema of a turn: calls of the operators, an answer, or a question back. What stands in it several times is written once,
    under ``$defs``.

    :param operators: without any, the turn can only be an answer or a question back.
    """
    calls = [
        object_schema(
            ["operator", "arguments"], operator={"const": each.name}, arguments=each.parameters(schema, handles)
        )
        for each in operators
    ]
    called = {"type": "array", "items": {"anyOf": calls}, "minItems": 1, "maxItems": _MOST_CALLS}
    of = {"type": "array", "items": {"type": "string"}, "maxItems": 8}
    answers = [object_schema(["answer"], answer=_TEXT, of=of), object_schema(["ask"], ask=_TEXT)]
    whole = {"anyOf": [*([object_schema(["calls"], calls=called)] if calls else []), *answers]}
    counts = Counter(canonical_text(part) for part in _parts(whole))
    repeated = [text for text, count in counts.items() if count > 1 and len(text) > _SHARED_CHARS]
    names = {text: f"s{nth}" for nth, text in enumerate(repeated)}
    defined: dict[str, Any] = {}
    body = _shared(whole, names, defined)
    return {**body, "$defs": {name: defined[name] for name in sorted(defined)}} if defined else body


def _parts(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield a schema and every schema in it."""
    yield schema
    items = schema.get("items")
    for inner in (*schema.get("properties", {}).values(), *schema.get("anyOf", ()), *schema.get("oneOf", ())):
        yield from _parts(inner)
    if isinstance(items, Mapping):
        yield from _parts(items)


def _shared(schema: Mapping[str, Any], names: Mapping[str, str], defined: dict[str, Any]) -> dict[str, Any]:
    """Return a schema with references for the schemas in it that have names; these are put into ``defined``."""

    def made(inner: Mapping[str, Any]) -> dict[str, Any]:
        name = names.get(canonical_text(inner))
        if name is None:
            return _shared(inner, names, defined)
        if name not in defined:
            defined[name] = {}  # a schema does not stand in itself; this keeps the order of names
            defined[name] = _shared(inner, names, defined)
        return {"$ref": f"#/$defs/{name}"}

    whole = dict(schema)
    if "properties" in whole:
        whole["properties"] = {name: made(inner) for name, inner in whole["properties"].items()}
    for key in ("anyOf", "oneOf"):
        if key in whole:
            whole[key] = [made(inner) for inner in whole[key]]
    if isinstance(whole.get("items"), Mapping):
        whole["items"] = made(whole["items"])
    return whole
