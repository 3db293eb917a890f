"""A model that is heard: each of its calls becomes an event of the run."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from inference.budget import Budget
from inference.chat import GREEDY, ChatModel, Completion, Message, Sample
from ontology.errors import BudgetExceededError, ModelError
from planners.graphseek.agent.agent_events import ModelAsked

__all__ = ["HeardModel"]

_FREE = Budget()


class HeardModel:
    """Keeps an event of each call, and makes no further one when nobody waits for it.

    :param prompt: name of the prompt, for the events.
    :ivar asked: the events; whoever waits tells them, because the calls are made in another thread.
    :ivar is_wanted: whether somebody waits.
    """

    def __init__(self, model: ChatModel, prompt: str) -> None:
        self._model = model
        self._prompt = prompt
        self._budget: Budget = getattr(model, "budget", None) or _FREE
        self.asked: list[ModelAsked] = []
        self.is_wanted = True

    @property
    def name(self) -> str:
        """See :class:`ChatModel`."""
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
        """See :class:`ChatModel`."""
        if not self.is_wanted:
            raise ModelError("the run has ended", subject=self._prompt)
        started = time.perf_counter()
        try:
            made = self._model.complete(
                messages, schema=schema, schema_name=schema_name, max_tokens=max_tokens, sample=sample
            )
        except BudgetExceededError:
            raise  # nothing was asked
        except ModelError as error:
            self._tell(started, None, error.problem)
            raise
        self._tell(started, made, "")
        return made

    def _tell(self, started: float, made: Completion | None, problem: str) -> None:
        read, written = (made.prompt_tokens, made.completion_tokens) if made else (0, 0)
        self.asked.append(
            ModelAsked(
                prompt=self._prompt,
                prompt_tokens=read,
                completion_tokens=written,
                usd=self._budget.usd(prompt_tokens=read, completion_tokens=written),
                seconds=round(time.perf_counter() - started, 6),
                problem=problem,
            )
        )
