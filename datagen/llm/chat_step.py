"""What all questions of data generation share: the name, the version of the wording, the cache, and the patience."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

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

__all__ = ["CACHE_KIND", "NAME", "PROMPT_VERSION", "Asking", "answer_schema", "question", "reader", "sentence"]

T = TypeVar("T")

NAME = "llm.v1"
PROMPT_VERSION = "1"
"""Changes with the rules by which answers are read; what is said to the model is in the key of an answer anyway."""
CACHE_KIND = "datagen-answer"
_MAX_PROBLEM_CHARS = 400
_MAX_SENTENCE_CHARS = 300


class Asking:
    """Asks one model on behalf of one twin.

    :param cache: where usable answers are kept; None keeps none.
    """

    def __init__(self, model: ChatModel, cache: ResultCache | None) -> None:
        self._model = model
        self._chat = StructuredChat(model, kind=CACHE_KIND, repair_prompt=_repair, cache=cache)
        self._failures = FailureBudget()

    def ask(self, asked: StructuredRequest, read: Callable[[str], T]) -> StructuredAnswer[T]:
        """The usable answer, or why there is none.

        :raises ModelError: when three calls in a row failed.
        :raises BudgetExceededError: when the cap is reached.
        """
        answer = self._chat.call(asked, asked.key(self._model.name, PROMPT_VERSION), read)
        self._failures.record(answer.failure)
        return answer


def question(
    instructions: str, said: str, schema: Mapping[str, Any], name: str, *, max_tokens: int
) -> StructuredRequest:
    """A question of two messages: what holds for all of its kind first, so that a server can keep its state.

    :param name: what the schema is called to the server.
    """
    messages = (Message(role="system", content=instructions), Message(role="user", content=said))
    return StructuredRequest(messages=messages, schema=schema, schema_name=name, max_tokens=max_tokens)


def reader(schema: Mapping[str, Any]) -> SchemaParser:
    """A reader of answers inside the schema.

    :raises MissingExtraError: when jsonschema is not installed.
    """
    return SchemaParser(schema, feature="data generation by llm")


def answer_schema(**fields: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of an object with these fields, all of them required, and no others."""
    return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}


def sentence(text: str) -> str:
    """A model's reason as one line without a full stop.

    :raises UnusableAnswerError: when it says nothing.
    """
    said = " ".join(text.encode("utf-8", "replace").decode().split())[:_MAX_SENTENCE_CHARS].rstrip(". ")
    if not said:
        raise UnusableAnswerError("it gives no reason")
    return said


def _repair(problem: str) -> str:
    return (
        f"This answer cannot be used: {problem[:_MAX_PROBLEM_CHARS]}. "
        "Answer again with one complete JSON object as described, and nothing else."
    )
