"""A chat model whose prompts are counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from inference.chat import GREEDY, ChatModel, Completion, Message, Sample
from ontology.json_object import canonical_text
from planners.calls.prompt_tokens import PromptTokens

__all__ = ["CountedModel"]


class CountedModel:
    """Hands prompts on to a model and counts their tokens: the messages, and the schema of the answer.

    :ivar prompts: tokens of each prompt so far.
    """

    def __init__(self, model: ChatModel, tokens: PromptTokens) -> None:
        self._model = model
        self._tokens = tokens
        self.prompts: list[int] = []

    @property
    def name(self) -> str:
        """The name of the model."""
        return self._model.name

    @property
    def counter(self) -> str:
        """What counts."""
        return self._tokens.name

    def complete(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        schema_name: str = "answer",
        max_tokens: int | None = None,
        sample: Sample = GREEDY,
    ) -> Completion:
        """See :class:`inference.chat.ChatModel`."""
        texts = [*(message.content for message in messages), *([canonical_text(schema)] if schema is not None else ())]
        self.prompts.append(sum(map(self._tokens.count, texts)))
        return self._model.complete(
            messages, schema=schema, schema_name=schema_name, max_tokens=max_tokens, sample=sample
        )
