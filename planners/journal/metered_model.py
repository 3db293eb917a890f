"""A model whose calls are measured: each becomes an event of the run, with its tokens, money and time."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

from inference.budget import Budget
from inference.chat import GREEDY, ChatModel, Completion, Message, Sample
from ontology.errors import BudgetExceededError, ModelError
from planners.journal.run_journal import seconds_since
from planners.journal.step_log import emit

__all__ = ["MeteredModel"]

_FREE = Budget()


class MeteredModel:
    """Keeps an event of each call within a ``with`` block, tells them at its end, and makes no further call afterwards.

    The calls are made in another thread, where nobody observes the run. That thread goes on when its run is cancelled.

    :param step: what is asked for, the subject of the error of a call that comes too late.
    :param made: makes an event of ``prompt_tokens``, ``completion_tokens``, ``usd``, ``seconds`` and ``problem``.
    """

    def __init__(self, model: ChatModel, step: str, made: Callable[..., object]) -> None:
        self._model = model
        self._step = step
        self._made = made
        self._budget: Budget = getattr(model, "budget", None) or _FREE
        self._events: list[object] = []
        self._is_wanted = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._is_wanted = False
        for event in self._events:
            emit(event)

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
        if not self._is_wanted:
            raise ModelError("the run has ended", subject=self._step)
        started = time.perf_counter()
        try:
            completion = self._model.complete(
                messages, schema=schema, schema_name=schema_name, max_tokens=max_tokens, sample=sample
            )
        except BudgetExceededError:
            raise  # nothing was asked
        except ModelError as error:
            self._keep(started, None, error.problem)
            raise
        self._keep(started, completion, "")
        return completion

    def _keep(self, started: float, completion: Completion | None, problem: str) -> None:
        read, written = (completion.prompt_tokens, completion.completion_tokens) if completion else (0, 0)
        self._events.append(
            self._made(
                prompt_tokens=read,
                completion_tokens=written,
                usd=self._budget.usd(prompt_tokens=read, completion_tokens=written),
                seconds=seconds_since(started),
                problem=problem,
            )
        )
