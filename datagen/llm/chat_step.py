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
"""Version of the parser of answers; the prompt itself is also in the key of an answer."""
_CACHE_KIND = "datagen-answer"
_MAX_PROBLEM_CHARS = 400
_MAX_REASON_CHARS = 300


class Judgement(NamedTuple):
    """The model's judgement, and its reason without a full stop."""

    passed: bool
    reason: str


class ChatStep:
    """Calls one model; each step has its own failure budget.

    :param cache: cache of usable answers; None for no cache.
    """

    def __init__(self, model: ChatModel, cache: ResultCache | None) -> None:
        self._model = model
        self._chat = StructuredChat(model, kind=_CACHE_KIND, repair_prompt=_repair_prompt, cache=cache)
        self._failures = FailureBudget()

    def call(self, request: StructuredRequest, parse: Callable[[str], T]) -> StructuredAnswer[T]:
        """Return the usable answer, or the reason why there is none.

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
        """Return the verdict of a check; a failed one where the model gives no usable answer.

        :param judge: judges an answer that fits the schema; its ``reason`` is one line.
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
    """Return a request of two messages; the first is the same for all requests of a kind, so a server can cache it.

    :param name: the name of the schema for the server.
    """
    messages = (Message(role="system", content=instructions), Message(role="user", content=text))
    return StructuredRequest(messages=messages, schema=schema, schema_name=name, max_tokens=max_tokens)


def answer_parser(schema: Mapping[str, Any]) -> SchemaParser:
    """Return a parser of answers with this schema.

    :raises MissingExtraError: when jsonschema is not installed.
    """
    return SchemaParser(schema, feature="data generation by llm")


def answer_schema(**fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of an object with exactly these fields, all required."""
    return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}


def one_line(reason: str) -> str:
    """Return the reason of a model as one line of at most 300 characters, without a full stop.

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
