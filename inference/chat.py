"""The seam for chat models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

__all__ = ["ChatModel", "Completion", "Message"]


@dataclass(frozen=True)
class Message:
    """One turn of the talk."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, kw_only=True)
class Completion:
    """What the model answered and what it cost.

    :param text: the answer as it came; under a schema it should be JSON, which nobody has checked yet.
    :param prompt_tokens: tokens read, counted by the server, estimated where it does not say.
    :param completion_tokens: tokens written, likewise.
    :param truncated: the answer stopped at the token limit, so JSON in it is most likely half.
    """

    text: str
    prompt_tokens: int
    completion_tokens: int
    truncated: bool = False


@runtime_checkable
class ChatModel(Protocol):
    """Answers a talk with one message."""

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

        :param schema: a JSON schema that the answer is to follow; plain text where None.
        :param schema_name: what the schema is called to the server.
        :param max_tokens: the most tokens this answer may have; the model's own setting where None.
        :raises BudgetExceededError: before a call that might pass the cap.
        :raises ModelError: when the model is dead, slow, or answers nonsense.
        """
        ...
