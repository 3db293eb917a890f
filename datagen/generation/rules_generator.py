"""The generator ``rules.v1``: requests of the six classes over tool paths, worded by :mod:`datagen.generation`."""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from itertools import pairwise

from datagen.catalogue import Catalogue
from datagen.generation.lexicon import load_lexicon
from datagen.generation.sampler import Speech
from datagen.generation.template_context import Scene, Unwordable
from datagen.generation.templates import conditional, explicit, implicit, knowledge, multi, single
from datagen.generation.tool_frame import Reading, read_tool
from datagen.seams import GeneratedText
from datagen.synthetic_request import CLASSES, RejectedRequest, SampleValue
from datagen.tool_path import ToolPath
from ontology.errors import InvalidArgumentError
from ontology.stop_words import stop_words

__all__ = ["RulesGenerator"]

_FRAMES: Mapping[str, Callable[[Scene], str]] = {
    "single-intent": single.word,
    "multi-intent": multi.word,
    "explicit-multi-step": explicit.word,
    "implicit-multi-step": implicit.word,
    "conditional-multi-step": conditional.word,
    "ir-multi-intent": knowledge.word,
}
_ATTEMPTS = 18
_CHOICES = 11
_MAY_REPEAT = 0.33
_COMMON = stop_words("plain_words")
_CONDITION = r"\b(?:if|unless|provided|in case|as long as|assuming|should it|otherwise|whether|whenever)\b"
_ORDER = r"\b(?:then|first|after|afterwards|before|once|next,|finally|subsequently|based on)\b"
_DISTINCT = r"\b(?:and|also|plus|besides|separately|as well as)\b"
_FORBIDDEN = {
    "single-intent": re.compile(_CONDITION, re.I),
    "implicit-multi-step": re.compile(f"{_CONDITION}|{_ORDER}|{_DISTINCT}", re.I),
}
_TWICE = re.compile(
    r"\b(\w{4,}) (?:on|of|for|behind|at|in|with) (?:the|that|its|their|those|one of the) (?:\w+ ){0,2}\1s?\b", re.I
)
_CASED = re.compile(r"\b[a-z]{2,}[A-Z]\w*|\b\w+_\w+\b")
_QUOTED = re.compile(r"https?://\S+|\S+@\S+|'[^']*'")


class RulesGenerator:
    """Words requests by rules; a request is a function of the path, the class and the seed alone."""

    name = "rules.v1"

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._lexicon = load_lexicon()
        self._readings: dict[str, Reading | str] = {}

    def generate(self, path: ToolPath, request_class: str, *, seed: int) -> GeneratedText | RejectedRequest:
        """Word one request of this class over this path, or say why it cannot be.

        :raises InvalidArgumentError: for a class that is none of the six.
        :raises NotFoundError: for a tool that the catalogue does not have.
        """
        frame = _FRAMES.get(request_class)
        if frame is None:
            raise InvalidArgumentError(
                "there is no such class of requests", subject=request_class, remedy=f"Classes are {', '.join(CLASSES)}"
            )
        readings: dict[str, Reading] = {}
        for tool in path.tools:
            reading = self._reading(tool)
            if isinstance(reading, str):
                return RejectedRequest(
                    stage="generate",
                    subject=path.tools,
                    reason=f"{tool} cannot be worded: {reading}",
                    request_class=request_class,
                )
            readings[tool] = reading
        return self._worded(frame, path, readings, request_class, seed)

    def _worded(
        self,
        frame: Callable[[Scene], str],
        path: ToolPath,
        readings: Mapping[str, Reading],
        request_class: str,
        seed: int,
    ) -> GeneratedText | RejectedRequest:
        """Of the first few wordings that are right, the one that repeats least of what all requests say."""
        reason, text = "", ""
        drafts: list[GeneratedText] = []
        for attempt in range(_ATTEMPTS):
            talkative = not drafts and attempt >= _ATTEMPTS // 2
            speech = Speech(rng=_random(path, request_class, seed, attempt), lexicon=self._lexicon, talkative=talkative)
            try:
                text = frame(Scene(path=path, readings=readings, speech=speech))
            except Unwordable as error:
                reason = str(error)
                continue
            values = tuple(dict.fromkeys(speech.values))
            reason = _fault(text, values, request_class, path, readings)
            if not reason:
                drafts.append(GeneratedText(text=text, values=values))
            if len(drafts) == _CHOICES:
                break
        if drafts:
            return min(drafts, key=lambda draft: _staleness(draft.text))
        return RejectedRequest(
            stage="generate", subject=path.tools, reason=reason, request_class=request_class, text=text
        )

    def _reading(self, tool: str) -> Reading | str:
        known = self._readings.get(tool)
        if known is None:
            known = self._readings[tool] = read_tool(self._catalogue, tool, self._lexicon)
        return known


def _random(path: ToolPath, request_class: str, seed: int, attempt: int) -> random.Random:
    key = "\n".join((*path.tools, request_class, str(seed), str(attempt)))
    return random.Random(int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "big"))


def _staleness(text: str) -> float:
    """How much a text repeats what other requests say: its pairs of plain words, less the pairs that any text may have."""
    said = [_plainness(word) for word in text.split()]
    return sum(one * other for one, other in pairwise(said)) - _MAY_REPEAT * len(said)


@lru_cache(maxsize=100_000)
def _plainness(word: str) -> float:
    """1 for a word of nearly every request, 0 for a name or a number."""
    bare = word.strip(".,:;?!()").lower()
    return 1.0 if bare in _COMMON else 0.75 if bare.isalpha() and word[-1:] != "'" and word.islower() else 0.0


def _fault(
    text: str, values: tuple[SampleValue, ...], request_class: str, path: ToolPath, readings: Mapping[str, Reading]
) -> str:
    """What is wrong with a text, or empty."""
    lost = next((value for value in values if value.value not in text), None)
    if lost is not None:
        return f"the value {lost.value!r} got lost in the wording"
    plain = _QUOTED.sub(" ", text)
    forbidden = _FORBIDDEN.get(request_class)
    if forbidden is not None and (cue := forbidden.search(plain)):
        return f"the wording says {cue[0]!r}, which is a cue of another class"
    if twice := _TWICE.search(plain):
        return f"the wording says {twice[1]!r} of itself"
    if not values and _is_open(path, readings):
        return "the wording says no value for any input"
    if (word := _CASED.search(_without(plain, values))) and word[0] not in ("iPhone",):
        return f"the wording holds {word[0]!r}, which no one would say"
    return ""


def _is_open(path: ToolPath, readings: Mapping[str, Reading]) -> bool:
    """Whether a tool takes something that no step before it fills."""
    return any(
        not {edge.parameter for edge in path.into(tool)}.intersection(argument.names)
        for tool, reading in readings.items()
        for argument in reading.arguments
    )


def _without(text: str, values: tuple[SampleValue, ...]) -> str:
    for value in values:
        text = text.replace(value.value, " ")
    return text
