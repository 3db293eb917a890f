"""Turns by a chat model: one structured call a step, whose schema has the operators that are offered and nothing else."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from inference.chat import GREEDY, ChatModel, Message, Sample
from inference.structured_chat import StructuredChat, StructuredRequest, UnusableAnswerError
from planners.calls.clean_values import cleaned
from planners.calls.fence_marks import FenceMarks
from planners.calls.prompt_tokens import PromptTokens
from planners.graphseek.agent.agent_settings import AgentSettings
from planners.graphseek.agent.earlier_turns import history_text
from planners.graphseek.agent.trace_text import trace_text
from planners.graphseek.agent.turn_schema import MOST_CALLS, operator_lines, turn_schema
from planners.graphseek.agent_events import ModelAsked
from planners.graphseek.catalog.catalog_text import CatalogForm, catalog_text
from planners.graphseek.operators.operator import OperatorFault, check_arguments
from planners.graphseek.prompts.graphseek_prompt import graphseek_prompt
from planners.graphseek.results.result import Result
from planners.graphseek.turn import (
    Answer,
    Fault,
    Invocation,
    Outcome,
    StepView,
    Turn,
    UnusableTurnError,
    known_handles,
)
from planners.journal.metered_model import MeteredModel
from planners.journal.model_thread import on_a_thread

__all__ = ["LlmTurns"]

T = TypeVar("T")

_SETTINGS = AgentSettings()
_SUMMARY_TOKENS = 300
_PROBLEM_CHARS = 300
_TEMPERATURE = 0.7
"""Of a turn behind a failed call that was repeated unchanged: the most probable answer would be that call again. Chosen, not tuned."""
_NOW = " If the results answer the question, give the answer now; else give calls that were not made before."
_LINES, _LINE_CHARS = 8, 200  # of results of turns before: as many as two turns make
_CALL: dict[str, Any] = {
    "type": "object",
    "properties": {"operator": {"type": "string"}, "arguments": {"type": "object"}},
    "required": ["operator", "arguments"],
}
_TEXT: dict[str, Any] = {"type": "string", "minLength": 1}
_TURN: dict[str, Any] = {
    "type": "object",
    "properties": {
        "calls": {"type": "array", "items": _CALL, "minItems": 1, "maxItems": MOST_CALLS},
        "answer": _TEXT,
        "of": {"type": "array", "items": {"type": "string"}},
        "ask": _TEXT,
    },
}
"""What is read of a turn. Names and arguments are checked when they are run: the faults there say more than a schema does."""
_SUMMARY: dict[str, Any] = {
    "type": "object",
    "properties": {"summary": {"type": "string", "minLength": 1}},
    "required": ["summary"],
    "additionalProperties": False,
}


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
        self._tokens = PromptTokens()

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
        schema = turn_schema(() if _repeats(view) else offered, view.schema, handles)
        sample = Sample(seed=len(stuck), temperature=_TEMPERATURE) if stuck else GREEDY
        return await self._ask("turn", messages, schema, _turn, self._settings.answer_tokens, sample)

    def _system(self, view: StepView) -> str:
        """What stays the same in all steps of a question, so that a server reads it once."""
        form: CatalogForm = "lean"
        if view.with_descriptors:
            form = "full" if self._settings.descriptors == "on" else "auto"
        known = catalog_text(view.catalog, view.schema, view.question.text, form=form, count=self._tokens.count)
        texts = [graphseek_prompt("turn"), *([graphseek_prompt("subtask")] if view.is_subtask else [])]
        return "\n\n".join([*texts, f"Schema:\n{self._marks.fenced(known.text)}"])

    async def _user(self, view: StepView, handles: Sequence[str]) -> str:
        """What changes: the turns before, the question, the operators, and the steps so far."""
        parts = []
        if view.question.earlier:
            told = await history_text(
                view.question.earlier,
                most_tokens=self._settings.history_tokens,
                count=self._tokens.count,
                summarise=self._summary if self._summarises else None,
            )
            parts.append(f"Turns before:\n{self._marks.fenced(told)}")
        if stored := _stored(view):
            parts.append(f"Results of turns before:\n{self._marks.fenced(stored)}")
        parts.append(f"Operators:\n{operator_lines(view.operators, view.schema, handles)}")
        parts.append(f"Question: {view.question.text}")
        parts.append(f"This is step {view.step} of at most {view.steps}.{_NOW if view.records else ''}")
        left = self._settings.message_tokens - sum(map(self._tokens.count, parts))
        trace = trace_text(view.records, fenced=self._marks.fenced, most_tokens=left, count=self._tokens.count)
        return "\n\n".join([*parts[:-1], *([trace] if trace else []), parts[-1]])

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
        made = partial(ModelAsked, prompt=name, temperature=sample.temperature)
        with MeteredModel(self._model, name, made) as metered:
            chat = StructuredChat(metered, kind="graphseek", repair_prompt=_repair, cache=None)
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
    bare = _without_code_marks(text)
    if bare and bare[0] not in '{["':
        return Answer(text=bare)
    given = _value(bare, _TURN)
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
    return str(_value(_without_code_marks(text), _SUMMARY)["summary"])


def _value(text: str, schema: Mapping[str, Any]) -> Any:
    try:
        value = cleaned(json.loads(text))
        check_arguments(value, schema, called="it")
    except (ValueError, RecursionError) as error:
        raise UnusableAnswerError(f"it is not one JSON object ({str(error)[:_PROBLEM_CHARS]})") from error
    except OperatorFault as fault:
        raise UnusableAnswerError(f"{fault.problem}: {fault.hint}"[:_PROBLEM_CHARS]) from fault
    return value


def _without_code_marks(text: str) -> str:
    """Return what stands between the marks of a code block, where the whole text is one."""
    bare = text.strip()
    if bare.startswith("```") and bare.endswith("```") and "\n" in bare:
        return bare[bare.index("\n") : -3].strip()
    return bare


def _repair(fault: str) -> str:
    return f"That cannot be used: {fault}. Answer with one JSON object of the form that was said, and nothing else."
