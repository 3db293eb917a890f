"""Turns by a chat model: one structured call a step, whose schema has the operators that are offered and nothing else.

A prompt has what stays the same (rules, schema) first, then the operators, the question, and the steps so far, within a number of tokens: the
oldest steps are left out first.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from inference.chat import ChatModel, Message
from inference.structured_chat import StructuredChat, StructuredRequest, UnusableAnswerError
from ontology.files import read_yaml
from ontology.json_values import canonical_text
from planners.calls.model_text import PromptTokens, json_objects, without_thoughts
from planners.calls.untrusted import FenceMarks, cleaned
from planners.graphseek import turn as turns
from planners.graphseek.catalog_text import catalog_text
from planners.graphseek.operators.operator import Operator, OperatorFault, check_arguments, object_schema
from planners.graphseek.results import Result
from planners.graphseek.turn import Answer, Fault, Invocation, StepRecord, StepView, Turn
from planners.journal.step_log import metered, on_a_thread
from planners.stores.graph_schema import GraphSchema

_PROMPT = str(read_yaml(Path(__file__).parent / "prompts" / "turn.yaml")["text"]).strip()
_ANSWER_TOKENS = 1_000  # four invocations with filters take about 500
_MOST_CALLS = 4  # of one turn: the paper's widest step has three at once (section 5.3.4)
_SHARED_CHARS = 80  # of a part that is written once, when it stands there twice: shorter ones cost more as references
_PROBLEM_CHARS = 300
_NOW = " If the results answer the question, give the answer now; else give calls that were not made before."
_REPAIR = "That cannot be used: {}. Answer with one JSON object of the form that was said, and nothing else."
_EMPTY = "If that is not the answer, check the type (find says which type a name is of), the values, the direction and the hops"
"""The failures of section 6.4 of the paper end here: a wrong kind of entity, a swapped direction, a chain that is cut short."""
# A bound of thousands of characters makes grammars that servers refuse.
_TEXT: dict[str, Any] = {"type": "string", "minLength": 1}
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


class LlmTurns:
    """Asks one model; ``fence_key`` is of the marks around data, a new one where empty."""

    def __init__(self, model: ChatModel, *, fence_key: bytes = b"") -> None:
        self._model, self._marks, self._count = model, FenceMarks(fence_key), PromptTokens().count

    async def turn(self, view: StepView) -> Turn:
        """See :class:`TurnMaker`."""
        # What stays the same in all steps of a question is in the first message, so that a server reads it once.
        known = catalog_text(view.catalog, view.schema, view.question, count=self._count)
        system = f"{_PROMPT}\n\nSchema:\n{self._marks.fenced(known)}"
        messages = (Message(role="system", content=system), Message(role="user", content=self._user(view)))
        # A small model repeats one call until the end: when the last step only asked for what it has, it has to answer.
        outcomes = [each for record in view.records for each in record.outcomes]
        last = view.records[-1].outcomes if view.records else ()
        repeats = bool(last) and all(isinstance(each, Fault) and each.kind == "repeated" for each in last)
        must_answer = repeats and any(isinstance(each, Result) and each.size for each in outcomes)
        schema = _turn_schema(() if must_answer else view.operators, view.schema, view.results.handles)
        request = StructuredRequest(messages=messages, schema=schema, schema_name="turn", max_tokens=_ANSWER_TOKENS)
        with metered(self._model, "turn", partial(turns.ModelAsked, prompt="turn")) as model:
            chat = StructuredChat(model, kind="graphseek", repair_prompt=_REPAIR.format, cache=None)
            answer = await on_a_thread("graphseek-model", lambda: chat.call(request, "", _turn))
        if answer.failure is not None:
            raise answer.failure
        if answer.value is None:
            raise turns.UnusableTurnError(answer.problem, subject="turn", remedy="Another model may follow the form")
        return answer.value

    def _user(self, view: StepView) -> str:
        """What changes: the operators (a line each, with their arguments, optional ones with ``?``), the question, and the steps so far. Where
        these have too many tokens, the oldest are left out."""
        operators = ["Operators:"]
        for each in view.operators:
            given = each.parameters(view.schema, view.results.handles)
            required = given.get("required", ())
            arguments = ", ".join(name if name in required else f"{name}?" for name in given.get("properties", {}))
            operators.append(f"- {each.name}({arguments}): {each.description}")
        parts = [
            "\n".join(operators) if view.operators else "Operators:\n",
            f"Question: {view.question}",
            f"This is step {view.step} of at most {view.steps}.{_NOW if view.records else ''}",
        ]
        most_tokens = turns.MESSAGE_TOKENS - sum(map(self._count, parts))
        shown = [self._step(record) for record in view.records]
        sizes = [self._count(text) for text in shown]
        first = 0
        while first < len(shown) - 1 and sum(sizes[first:]) > most_tokens:
            first += 1
        left_out = [f"({first} earlier steps are left out.)"] if first else []
        trace = ["\n".join(["Steps so far:", *left_out, *shown[first:]])] if shown else []
        return "\n\n".join([*parts[:-1], *trace, parts[-1]])

    def _step(self, record: StepRecord) -> str:
        lines = [f"Step {record.number}"]
        for invocation, outcome in record.pairs:
            arguments = json.dumps(dict(invocation.arguments), ensure_ascii=False)
            lines.append(f"{invocation.operator} {arguments}")
            if not isinstance(outcome, Result):
                lines.append(f"failed ({outcome.kind}): {outcome.problem}. {outcome.hint}")
            elif outcome.size == 0:
                lines.append(f"gave {outcome.handle}, which is empty. {_EMPTY}")
            else:
                lines.append(f"gave {outcome.handle}:\n{self._marks.fenced(outcome.summary)}")
        if record.rejected is not None:
            lines += [f"The answer was handed back, {record.why}. It was:", self._marks.fenced(record.rejected.text)]
        elif record.why:
            lines.append(f"It could not be used: {record.why}")
        return "\n".join(lines)


def _turn(text: str) -> Turn:
    """Return the turn of an answer. A plain reply is an answer: it halts the run, once it is grounded.

    :raises UnusableAnswerError: when its JSON is broken, or outside the schema.
    """
    bare = without_thoughts(text)
    if bare.startswith("```") and bare.endswith("```") and "\n" in bare:
        bare = bare[bare.index("\n") : -3].strip()
    is_json = bool(bare) and bare[0] in '{["'
    try:
        given: Any = cleaned(json.loads(bare))
    except (ValueError, RecursionError) as error:
        meant = [each for each in json_objects(bare) if each.keys() & {"calls", "answer", "ask"}]
        if not meant and is_json:
            raise UnusableAnswerError(f"it is not one JSON object ({str(error)[:_PROBLEM_CHARS]})") from error
        given = cleaned(meant[-1]) if meant else None
    if not isinstance(given, Mapping) and not is_json:
        return Answer(text=bare)  # prose, also a number alone
    try:
        check_arguments(given, _TURN, called="it")
    except OperatorFault as fault:
        raise UnusableAnswerError(f"{fault.problem}: {fault.hint}"[:_PROBLEM_CHARS]) from fault
    if "calls" in given:  # an argument that is null is left out, as models mean it
        calls = ((each["operator"], each["arguments"].items()) for each in given["calls"])
        return tuple(
            Invocation(operator=name, arguments={key: value for key, value in arguments if value is not None})
            for name, arguments in calls
        )
    if "ask" in given:
        return Answer(text=given["ask"], kind="question")
    if "answer" not in given:
        raise UnusableAnswerError("it has neither calls nor an answer")
    return Answer(text=given["answer"], of=tuple(given.get("of", ())))


def _turn_schema(operators: Sequence[Operator], schema: GraphSchema, handles: Sequence[str]) -> dict[str, Any]:
    """The schema of a turn: calls of the operators, where there are some, an answer, or a question back. What stands in it several
    times is written once, under ``$defs``."""
    calls = [
        object_schema(["operator", "arguments"], operator={"const": name}, arguments=arguments)
        for name, arguments in ((each.name, each.parameters(schema, handles)) for each in operators)
    ]
    called = {"type": "array", "items": {"anyOf": calls}, "minItems": 1, "maxItems": _MOST_CALLS}
    of = {"type": "array", "items": {"type": "string"}, "maxItems": 8}
    answers = [object_schema(["answer"], answer=_TEXT, of=of), object_schema(["ask"], ask=_TEXT)]
    whole = {"anyOf": [*([object_schema(["calls"], calls=called)] if calls else []), *answers]}
    parts = Counter(canonical_text(part) for part in _schemas(whole))
    defined: dict[str, Any] = {}
    names: dict[str, str] = {}

    def shared(part: Any) -> Any:
        if isinstance(part, list):
            return [shared(each) for each in part]
        if not isinstance(part, dict):
            return part
        text = canonical_text(part)
        if parts[text] < 2 or len(text) <= _SHARED_CHARS:
            return {name: shared(each) for name, each in part.items()}
        if text not in names:
            name = names[text] = f"s{len(names)}"
            defined[name] = {inner: shared(each) for inner, each in part.items()}
        return {"$ref": f"#/$defs/{names[text]}"}

    return {**shared(whole), **({"$defs": defined} if defined else {})}


def _schemas(part: Any) -> Iterator[Mapping[str, Any]]:
    """Yield a schema and every schema in it; what maps names of properties to schemas is none."""
    if isinstance(part, dict) and (isinstance(part.get("type"), str | list) or "anyOf" in part):
        yield part
    for each in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        yield from _schemas(each)
