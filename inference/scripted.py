"""A deterministic chat model for tests: its answers come from a script."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import Any

from inference.chat import GREEDY, Completion, Message, Sample
from ontology.errors import EgotoolsError, ModelError

__all__ = ["ScriptedChat"]

Script = Callable[[Sequence[Message]], str]


class ScriptedChat:
    """Answers with a function of the messages, or with the items of a list in the order of the calls.

    A function gives the same answers with any number of threads. A list is for callers that call in order. An error in
    the list, or one that the function raises, is raised to the caller. One word counts as one token.

    :param script: the function or the list.
    :ivar samples: the sample of each call so far.
    """

    def __init__(self, script: Script | Sequence[str | EgotoolsError]) -> None:
        self._script = script if callable(script) else _in_order(script)
        self._lock = Lock()
        self._calls: list[tuple[Message, ...]] = []
        self.samples: list[Sample] = []

    name = "scripted.v1"

    @property
    def calls(self) -> Sequence[tuple[Message, ...]]:
        """The messages of each call so far."""
        with self._lock:
            return tuple(self._calls)

    def complete(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        schema_name: str = "answer",
        max_tokens: int | None = None,
        sample: Sample = GREEDY,
    ) -> Completion:
        """Answer from the script; see :class:`inference.chat.ChatModel`."""
        with self._lock:
            self._calls.append(tuple(messages))
            self.samples.append(sample)
            text = self._script(messages)
        prompt_tokens = sum(len(message.content.split()) for message in messages)
        return Completion(text=text, prompt_tokens=prompt_tokens, completion_tokens=len(text.split()))


def _in_order(replies: Sequence[str | EgotoolsError]) -> Script:
    remaining = iter(replies)

    def answer(_messages: Sequence[Message]) -> str:
        reply = next(remaining, None)
        if reply is None:
            raise ModelError(
                "the script has no further answer", subject=ScriptedChat.name, remedy="Add one for each call"
            )
        if isinstance(reply, EgotoolsError):
            raise reply
        return reply

    return answer
