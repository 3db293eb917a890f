"""A real model whose calls and tokens are counted by question, and which draws anew in each run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from inference.chat import GREEDY, ChatModel, Completion, Message, Sample
from ontology.errors import ModelError

__all__ = ["TalliedModel"]

_SEEDS = 100_000  # more than a run draws, so that runs draw anew
_TEMPERATURE = 0.7  # that of the task graph's votes


class TalliedModel:
    """Implements :class:`inference.chat.ChatModel`: counts calls and tokens, and draws anew in each run.

    :param run: number of the run, from 0.
    """

    def __init__(self, model: ChatModel, run: int) -> None:
        self._model = model
        self._run = run
        self.tally: Counter[str] = Counter()

    @property
    def name(self) -> str:
        """The name of the model."""
        return self._model.name

    def complete(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        schema_name: str = "answer",
        max_tokens: int | None = None,
        sample: Sample = GREEDY,
    ) -> Completion:
        """Ask the model. In all runs but the first, what would be the most probable answer is drawn as well."""
        drawn = sample
        if self._run:
            drawn = Sample(seed=sample.seed + self._run * _SEEDS, temperature=sample.temperature or _TEMPERATURE)
        self.tally["asked"] += 1
        try:
            completion = self._model.complete(
                messages, schema=schema, schema_name=schema_name, max_tokens=max_tokens, sample=drawn
            )
        except ModelError:
            self.tally["failed"] += 1
            raise
        self.tally["prompt_tokens"] += completion.prompt_tokens
        self.tally["completion_tokens"] += completion.completion_tokens
        return completion
