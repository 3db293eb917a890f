"""The interface of chat models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

__all__ = ["ChatModel", "Completion", "Message"]


@dataclass(frozen=True)
class Message:
    """One message of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, kw_only=True)
class Completion:
    """The answer of a model and its cost.

    :param text: the answer as received. With a schema it should be JSON; nothing has checked it yet.
    :param prompt_tokens: as counted by the server; estimated where the server does not count.
    :param completion_tokens: likewise.
    :param truncated: the answer stopped at the token limit, so JSON in it is probably incomplete.
    """

    text: str
    prompt_tokens: int
    completion_tokens: int
    truncated: bool = False


@runtime_checkable
class ChatModel(Protocol):
    """Answers a conversation with one message."""

    @property
    def name(self) -> str:
        """The name that caches and reports record."""
        ...

    def complete(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        schema_name: str = "answer",
        max_tokens: int | None = None,
    ) -> Completion:
        """Answer the messages.

        :param schema: the JSON schema of the answer; plain text where None.
        :param schema_name: the name that the server gets for the schema.
        :param max_tokens: the most tokens that this answer may have; the model's own limit where None.
        :raises BudgetExceededError: before a call that could exceed the budget.
        :raises ModelError: when the model is unavailable or slow, or its answer is invalid.
        """
        ...
