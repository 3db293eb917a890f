"""A step of data generation that a chat model takes: one structured call with its cache, failure budget and parser."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

from datagen.synthetic_request import Verdict
from inference.chat import ChatModel, Message
from inference.result_cache import ResultCache
from inference.structured_chat import (
    FailureBudget,
    SchemaParser,
    StructuredAnswer,
    StructuredChat,
    StructuredRequest,
    UnusableAnswerError,
)

__all__ = ["NAME", "ChatStep", "Judgement", "answer_parser", "answer_schema", "one_line", "structured_request"]

T = TypeVar("T")

NAME = "llm.v1"
_PROMPT_VERSION = "1"
"""Changes with the rules by which answers are parsed; the prompt itself is in the key of an answer anyway."""
_CACHE_KIND = "datagen-answer"
_MAX_PROBLEM_CHARS = 400
_MAX_REASON_CHARS = 300


class Judgement(NamedTuple):
    """What the model found, and its reason without a full stop."""

    passed: bool
    reason: str


class ChatStep:
    """Calls one model; the failure budget is that of the step.

    :param cache: where usable answers are kept; None keeps none.
    """

    def __init__(self, model: ChatModel, cache: ResultCache | None) -> None:
        self._model = model
        self._chat = StructuredChat(model, kind=_CACHE_KIND, repair_prompt=_repair_prompt, cache=cache)
        self._failures = FailureBudget()

    def call(self, request: StructuredRequest, parse: Callable[[str], T]) -> StructuredAnswer[T]:
        """The usable answer, or the reason why there is none.

        :raises ModelError: when three calls in a row failed.
        :raises BudgetExceededError: when the token or money cap is reached.
        """
        answer = self._chat.call(request, request.key(self._model.name, _PROMPT_VERSION), parse)
        self._failures.record(answer.failure)
        return answer

    def verdict(
        self,
        request: StructuredRequest,
        parser: SchemaParser,
        judge: Callable[[dict[str, Any]], Judgement],
        *,
        check: str,
    ) -> Verdict:
        """The verdict of a check; failed where the model gives no usable answer.

        :param judge: gets an answer inside the schema, its ``reason`` as one line.
        :raises ModelError: when three calls in a row failed.
        :raises BudgetExceededError: when the token or money cap is reached.
        """

        def parse(text: str) -> Judgement:
            row: dict[str, Any] = parser.parse(text)
            return judge({**row, "reason": one_line(row["reason"])})

        answer = self.call(request, parse)
        if answer.value is None:
            reason = f"the model gave no usable verdict: {answer.problem.rstrip('.')}"
            return Verdict(check=check, passed=False, reason=reason, by=NAME)
        return Verdict(check=check, passed=answer.value.passed, reason=answer.value.reason, by=NAME)


def structured_request(
    instructions: str, text: str, schema: Mapping[str, Any], name: str, *, max_tokens: int
) -> StructuredRequest:
    """A request of two messages, the first of them the same for all requests of a kind: a server can keep its state.

    :param name: the name that the server gets for the schema.
    """
    messages = (Message(role="system", content=instructions), Message(role="user", content=text))
    return StructuredRequest(messages=messages, schema=schema, schema_name=name, max_tokens=max_tokens)


def answer_parser(schema: Mapping[str, Any]) -> SchemaParser:
    """A parser of answers inside the schema.

    :raises MissingExtraError: when jsonschema is not installed.
    """
    return SchemaParser(schema, feature="data generation by llm")


def answer_schema(**fields: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of an object with these fields, all of them required, and no others."""
    return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}


def one_line(reason: str) -> str:
    """The reason of a model as one line of at most 300 characters, without a full stop.

    :raises UnusableAnswerError: when it is empty.
    """
    text = " ".join(reason.encode("utf-8", "replace").decode().split())[:_MAX_REASON_CHARS].rstrip(". ")
    if not text:
        raise UnusableAnswerError("it gives no reason")
    return text


def _repair_prompt(problem: str) -> str:
    return (
        f"This answer cannot be used: {problem[:_MAX_PROBLEM_CHARS]}. "
        "Answer again with one complete JSON object as described, and nothing else."
    )
