"""A chat model that answers from a script."""

from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any

from inference.chat import GREEDY, Completion, Message, Sample
from ontology.errors import EgotoolsError, ModelError


class ScriptedChat:
    """Answers with a function of the messages, from any number of threads, or with the items of a list in the order of the calls; an error
    among them is raised. ``calls`` has the messages of each call so far, ``samples`` its sample. One word counts as one token."""

    name = "scripted.v1"

    def __init__(self, script: Callable[[Sequence[Message]], str] | Sequence[str | EgotoolsError]) -> None:
        self._script: Any = script if callable(script) else iter(script)
        self._lock = Lock()
        self.calls: list[tuple[Message, ...]] = []
        self.samples: list[Sample] = []

    def complete(self, messages: Sequence[Message], *, sample: Sample = GREEDY, **others: Any) -> Completion:
        with self._lock:
            self.calls.append(tuple(messages))
            self.samples.append(sample)
            said = self._script(messages) if callable(self._script) else next(self._script, None)
        if said is None:
            raise ModelError("the script has no further answer", subject=self.name, remedy="Add one for each call")
        if isinstance(said, EgotoolsError):
            raise said
        read = sum(len(message.content.split()) for message in messages)
        return Completion(text=said, prompt_tokens=read, completion_tokens=len(said.split()))
