"""Chat models around others: answers that were recorded, and a limit of calls."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import Any

from inference.chat import GREEDY, ChatModel, Completion, Message, ObservedModel, Sample
from ontology.errors import BudgetExceededError, InvalidArgumentError

NOT_RECORDED = "no answer is recorded"  # what an answer begins with that is not there


def prompt_key(messages: Sequence[Message]) -> str:
    """Return the key under which the answer to a conversation is recorded: 16 hex digits of its SHA-256."""
    said = [[message.role, message.content] for message in messages]
    return hashlib.sha256(json.dumps(said, ensure_ascii=False).encode()).hexdigest()[:16]


class RecordedChat:
    """Answers from a file of recorded answers, whoever gave them: a row has ``prompt`` (the key of the conversation), ``answer``,
    ``model`` and ``date``.

    A conversation that is not recorded gets an answer that nobody can use, so that its request is rejected and the run goes on.

    :raises InvalidArgumentError: when the recording cannot be read.
    """

    def __init__(self, recording: Path) -> None:
        self._answers: dict[str, str] = {}
        models = set()
        try:
            for line in recording.read_text(encoding="utf-8").splitlines():
                row = json.loads(line)
                answer = row["answer"]
                self._answers[row["prompt"]] = answer if isinstance(answer, str) else json.dumps(answer)
                models.add(str(row["model"]))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InvalidArgumentError(
                f"the recording cannot be read: {error!r}",
                subject=str(recording),
                remedy='Give JSON Lines of {"prompt": …, "answer": …, "model": …, "date": …}',
            ) from error
        self._name = f"recorded:{'+'.join(sorted(models))}"

    @property
    def name(self) -> str:
        """The models whose answers were recorded."""
        return self._name

    def complete(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        schema_name: str = "answer",
        max_tokens: int | None = None,
        sample: Sample = GREEDY,
    ) -> Completion:
        """Answer as recorded; see :class:`inference.chat.ChatModel`."""
        key = prompt_key(messages)
        answer = self._answers.get(key)
        if answer is None:
            return Completion(text=f"{NOT_RECORDED} for {key}", prompt_tokens=0, completion_tokens=0)
        return Completion(text=answer, prompt_tokens=0, completion_tokens=0)


class LimitedChat(ObservedModel):
    """A chat model whose calls count against a limit, which several models may share."""

    def __init__(self, model: ChatModel, left: Iterator[int], lock: Lock) -> None:
        super().__init__(model, self._limited)
        self._left, self._lock = left, lock

    @classmethod
    def sharing(cls, most: int, **models: ChatModel) -> dict[str, ChatModel]:
        """Return models that may be called a number of times together; further calls raise BudgetExceededError."""
        left, lock = iter(range(most)), Lock()
        return {name: cls(model, left, lock) for name, model in models.items()}

    def _limited(self, step: str, asked: Mapping[str, Any], ask: Callable[[], Completion]) -> Completion:
        with self._lock:
            if next(self._left, None) is None:
                raise BudgetExceededError(
                    "the calls of this run are used up",
                    subject=self.name,
                    remedy="Raise --max-calls, or run the same command again: answers are cached",
                )
        return ask()
