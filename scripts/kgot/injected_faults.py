"""A model that answers well, but for faults that are put into its answers at a rate: a lost brace, a bad escape, an unknown label, a wrong tool."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from random import Random
from threading import Lock
from typing import Any

from inference.chat import GREEDY, ChatModel, Completion, Message, Sample

__all__ = ["FAULTS", "FaultyModel"]

_UNKNOWN = "Anser"
_NO_TOOL = "kgot/no_such_tool"


class FaultyModel:
    """Implements :class:`inference.chat.ChatModel`. Which answers have a fault, and which one, follows from the seed and the question.

    A question that is asked again is drawn anew, so a re-ask can be answered well.

    :param rate: share of answers with a fault, in [0, 1].
    :ivar made: number of faults by kind.
    """

    def __init__(self, model: ChatModel, *, rate: float, seed: int) -> None:
        self._model = model
        self._rate = rate
        self._seed = seed
        self._asked: Counter[str] = Counter()
        self._lock = Lock()
        self.made: Counter[str] = Counter()

    @property
    def name(self) -> str:
        """The name of the model, the rate and the seed."""
        return f"{self._model.name}+faults-{self._rate:g}-{self._seed}"

    def complete(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        schema_name: str = "answer",
        max_tokens: int | None = None,
        sample: Sample = GREEDY,
    ) -> Completion:
        """Answer as the model does, or with a fault."""
        completion = self._model.complete(
            messages, schema=schema, schema_name=schema_name, max_tokens=max_tokens, sample=sample
        )
        random = self._random(messages, sample)
        if schema is None or random.random() >= self._rate:
            return completion
        kinds = [name for name, make in FAULTS.items() if make(completion.text, Random(0)) != completion.text]
        if not kinds:
            return completion
        kind = random.choice(kinds)
        with self._lock:
            self.made[kind] += 1
        return Completion(
            text=FAULTS[kind](completion.text, random),
            prompt_tokens=completion.prompt_tokens,
            completion_tokens=completion.completion_tokens,
        )

    def _random(self, messages: Sequence[Message], sample: Sample) -> Random:
        asked = hashlib.sha256(
            json.dumps([self._seed, sample.seed, *(_unmarked(each.content) for each in messages)]).encode()
        ).hexdigest()
        with self._lock:
            self._asked[asked] += 1
            return Random(f"{asked} {self._asked[asked]}")


def _unmarked(text: str) -> str:
    """Return a prompt without the marks of its fences, which are new in every run."""
    return re.sub(r"\b(?:[0-9a-f]{16}){1,2}\b", "", text)


def _lost_brace(text: str, random: Random) -> str:
    places = [at for at, sign in enumerate(text) if sign in "}]"]
    if not places:
        return text
    at = random.choice(places[-3:])
    return text[:at] + text[at + 1 :]


def _bad_escape(text: str, random: Random) -> str:
    places = [found.start() for found in re.finditer(r"'| ", text)]
    if not places:
        return text
    at = random.choice(places)
    return f"{text[:at]}\\{text[at:]}"


def _unknown_label(text: str, random: Random) -> str:
    return re.sub(r"\bAnswer\b", _UNKNOWN, text) if '"query"' in text or "RETRIEVE" in text else text


def _wrong_tool(text: str, random: Random) -> str:
    return re.sub(r'("tool": )"[^"]+"', rf'\1"{_NO_TOOL}"', text, count=1)


FAULTS: Mapping[str, Callable[[str, Random], str]] = {
    "lost brace": _lost_brace,
    "bad escape": _bad_escape,
    "unknown label": _unknown_label,
    "wrong tool": _wrong_tool,
}
"""Name → what it makes of an answer; an answer where it changes nothing cannot have it."""
