"""The interface of chat models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

from ontology.errors import InvalidArgumentError

__all__ = ["GREEDY", "ChatModel", "Completion", "Message", "Sample"]

_MOST_TEMPERATURE = 2.0  # that servers with the OpenAI interface accept


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Which of the possible answers is drawn: equal questions with another seed, at a temperature above 0, are answered anew.

    :param seed: added to that of the model; a server may ignore it.
    :param temperature: 0 for the most probable answer, at most 2.
    """

    seed: int = 0
    temperature: float = 0.0

    def __post_init__(self) -> None:
        if self.seed < 0:
            raise InvalidArgumentError(f"{self.seed} is below 0", subject="seed", remedy="Use 0 or more")
        if not 0 <= self.temperature <= _MOST_TEMPERATURE:
            raise InvalidArgumentError(
                f"{self.temperature!r} is no temperature", subject="temperature", remedy="Use 0 to 2"
            )


GREEDY = Sample()
"""The most probable answer, with the seed of the model."""


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
        sample: Sample = GREEDY,
    ) -> Completion:
        """Answer the messages.

        :param schema: the JSON schema of the answer; plain text where None.
        :param schema_name: the name that the server gets for the schema.
        :param max_tokens: the most tokens that this answer may have; the model's own limit where None.
        :param sample: which answer is drawn.
        :raises BudgetExceededError: before a call that could exceed the budget.
        :raises ModelError: when the model is unavailable or slow, or its answer is invalid.
        """
        ...
