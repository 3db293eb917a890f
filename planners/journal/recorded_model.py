"""Calls of a chat model with a journal: what a run has asked is not asked again, and a finished run is replayed without any model."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from inference.budget import Budget
from inference.chat import GREEDY, ChatModel, Completion, Message, Sample
from ontology.errors import BudgetExceededError, ModelError
from planners.journal.journal_index import JournalIndex, request_key
from planners.journal.recorded_faults import not_recorded
from planners.journal.run_journal import RunJournal, RunRecord, seconds_since

__all__ = ["RecordedModel"]

_MODEL = "model"
_FREE = Budget()


class RecordedModel:
    """Writes each answer of a model to a journal, and answers from it what an earlier process has asked.

    Equal calls are told apart by their number, so that their order beside other calls means nothing. Calls of several threads may
    run at once. A failed call fails again: the run goes on as it went. One that a budget refused is not written, and is made again.

    :param inner: None in a replay, which asks nobody.
    :param role: of the model in the run; two models of one run have two roles.
    :param name: of the model, in a replay.
    :param budget: with the prices of the answers; that of the model where None.
    """

    def __init__(
        self,
        inner: ChatModel | None,
        journal: RunJournal,
        *,
        role: str = "",
        name: str = "",
        budget: Budget | None = None,
        index: JournalIndex | None = None,
    ) -> None:
        self._inner = inner
        self._journal = journal
        self._role = role
        self._name = name
        self._budget = budget or getattr(inner, "budget", None) or _FREE
        self._index = index or JournalIndex(journal)
        self.answered = 0
        """Number of calls that the journal answered."""

    @property
    def name(self) -> str:
        """The name of the model."""
        return self._name or (self._inner.name if self._inner is not None else "")

    @property
    def budget(self) -> Budget:
        """That of the model, with its prices."""
        return self._budget

    def complete(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        schema_name: str = "answer",
        max_tokens: int | None = None,
        sample: Sample = GREEDY,
    ) -> Completion:
        """See :class:`inference.chat.ChatModel`.

        :raises InvalidArgumentError: in a replay, when the run did not ask this.
        :raises StorageError: when the journal cannot be written; the answer is lost.
        """
        asked = {
            "messages": [[message.role, message.content] for message in messages],
            "schema": schema,
            "max_tokens": max_tokens,
            "seed": sample.seed,
            "temperature": sample.temperature,
        }
        key = request_key([self._role, asked])
        nth = self._index.next(_MODEL, key)
        earlier = self._index.last(_MODEL, key, nth)
        if earlier is not None:
            self.answered += 1
            return self._answer(earlier)
        if self._inner is None:
            raise not_recorded("the journal has no answer of the model to this prompt", subject=schema_name)
        what = {"key": key, "nth": nth, "role": self._role, "step": schema_name, "model": self.name}
        started = time.perf_counter()
        try:
            completion = self._inner.complete(
                messages, schema=schema, schema_name=schema_name, max_tokens=max_tokens, sample=sample
            )
        except BudgetExceededError:
            raise
        except ModelError as error:
            told = {"problem": error.problem, "subject": error.subject, "remedy": error.remedy}
            self._journal.append("model_failed", **what, seconds=seconds_since(started), **told)
            raise
        self._journal.append(
            "model_ended",
            **what,
            seconds=seconds_since(started),
            prompt_tokens=completion.prompt_tokens,
            completion_tokens=completion.completion_tokens,
            truncated=completion.truncated,
            usd=self._budget.usd(
                prompt_tokens=completion.prompt_tokens, completion_tokens=completion.completion_tokens
            ),
            prompt=self._journal.keep(asked),
            completion=self._journal.keep(completion.text),
        )
        return completion

    def _answer(self, record: RunRecord) -> Completion:
        """Return what a journal has.

        :raises ModelError: when the call failed.
        """
        given = record.data
        if record.kind == "model_failed":
            raise ModelError(given["problem"], subject=given["subject"], remedy=given["remedy"])
        return Completion(
            text=self._journal.payload(given["completion"]),
            prompt_tokens=given["prompt_tokens"],
            completion_tokens=given["completion_tokens"],
            truncated=given["truncated"],
        )
