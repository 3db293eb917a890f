"""Outputs that no document states, concluded from what a tool does, to what, and what its description says it gives.

Whatever is concluded is the name of an input that some tool of the catalogue takes, word for word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from datagen.paths.parameter_catalogue import Key, Listing
from ingest.linking import (
    AUTH_KEY,
    BARE_IDENTIFIERS,
    GENERIC_NAMES,
    PLAIN_VALUE,
    QUALIFIERS,
    CanonicalNames,
    ToolProfile,
    action_of,
    local_name,
)
from ontology.names import verb_lemma, words
from ontology.stop_words import stop_words
from ontology.tool import Tool

__all__ = ["Inference", "Inferrer"]

_LOGIN = frozenset(("login", "signin", "authenticate", "authorize", "logon", "auth"))
_PASSING = frozenset(
    "validate verify normalize normalise clean sanitize standardize correct resolve parse extract detect identify".split()
)
"""What these are given, or find in it, is what the next tool works with."""
_MAKING = frozenset("calculate compute estimate determine measure generate predict build".split())
_TURNING = frozenset("convert translate transform encode decode".split())
_OWN_IDENTIFIER = {"create": 0.95, "search": 0.94, "list": 0.92, "get": 0.75}
_RETURNS = re.compile(
    r"\b(?:returns?|retriev(?:es?|ing)|fetch(?:es|ing)?|gets?|getting|obtains?|provides?|gives?|finds?|calculates?|computes?|"
    r"generates?|determines?|produces?|outputs?|looks? up|shows?|displays?|query|queries)\b\s+(?P<what>[^.;:()]{3,120})",
    re.IGNORECASE,
)
_STOP = stop_words("phrase_ends")
_SKIP = frozenset("the a an this all any its your current list detail details information latest new unique".split())
_LONGEST = 4


@dataclass(frozen=True, slots=True)
class Inference:
    """One output that a tool likely has.

    :param confidence: in the bands of the paper: 0.90–0.99 very strong, 0.70–0.89 strong, 0.50–0.69 weak.
    """

    name: str
    confidence: float
    reason: str


class Inferrer:
    """Concludes outputs of the tools of one catalogue."""

    def __init__(self, listing: Listing, names: CanonicalNames) -> None:
        self._listing = listing
        self._names = names

    def own(self, profile: ToolProfile) -> Iterator[Inference]:
        """The identifiers of the tool's own entity, where it makes or finds it and is not told which one."""
        base = _OWN_IDENTIFIER.get(profile.action, 0.0)
        told = {need.key[0] for need in profile.consumes if need.identifier}
        if not base or not profile.entity or profile.entity in told:
            return
        if profile.action == "get" and profile.free_text:
            base = 0.85  # words in, the thing out
        for key in self._listing.identifiers(profile.entity):
            if name := self._listing.name_of(key, profile.system):
                confidence = base - (0.1 if name.lower() in BARE_IDENTIFIERS or key[1] != "id" else 0.0)
                yield Inference(
                    name,
                    round(confidence, 2),
                    f"it {_does(profile.action)} a {profile.entity}, which is asked for by {name}",
                )

    def silent(self, tool: Tool, profile: ToolProfile) -> Iterator[Inference]:
        """Everything that can be concluded where the documents state no output."""
        yield from self.own(profile)
        yield from self._opened(tool, profile)
        yield from self._object(tool, profile)
        yield from self._told(tool, profile)

    def _opened(self, tool: Tool, profile: ToolProfile) -> Iterator[Inference]:
        said = words(local_name(tool))
        tokens = set(said)
        if tokens & _LOGIN or {"log", "in"} <= tokens or {"sign", "in"} <= tokens:
            if name := self._listing.name_of(AUTH_KEY, profile.system):
                yield Inference(name, 0.95, f"who logs in gets the {name} that other tools ask for")

    def _object(self, tool: Tool, profile: ToolProfile) -> Iterator[Inference]:
        """What the name says is had, made or checked: ``get_exchange_rate`` gives an exchange_rate."""
        verb, phrase = _said(tool)
        passes = verb in _PASSING
        if not (passes or verb in _MAKING | _TURNING or profile.action in ("get", "search", "list")):
            return
        taken = set() if passes else {self._text(parameter.name) for parameter in tool.parameters}
        for text in self._texts(phrase):
            name = self._listing.named(text)
            if name and text not in taken:
                yield Inference(name, *_object_confidence(text, phrase, passes=passes))
                return

    def _texts(self, phrase: Sequence[str]) -> Iterator[str]:
        """The phrase, then without words of state, then without its first words."""
        yield self._names.join(list(phrase))
        plain = [token for token in phrase if token not in QUALIFIERS]
        for start in range(len(plain)):
            yield self._names.join(plain[start:])

    def _told(self, tool: Tool, profile: ToolProfile) -> Iterator[Inference]:
        """What the description says it returns, as far as that is an input somewhere."""
        if profile.action in ("delete", "update"):
            return
        taken = {self._text(parameter.name) for parameter in tool.parameters}
        for match in _RETURNS.finditer(tool.description[:600]):
            for text in self._phrases(match["what"]):
                name = self._listing.named(text)
                if name and text not in taken and text not in GENERIC_NAMES:
                    confidence = 0.7 if " " in text else 0.55
                    yield Inference(name, confidence, f"its description says that it gives the {text}")

    def _phrases(self, said: str) -> Iterator[str]:
        """The longest runs of words, up to the first preposition, that are the name of an input."""
        tokens = words(said)
        while tokens and tokens[0] in _SKIP:
            tokens = tokens[1:]
        cut = next((place for place, token in enumerate(tokens) if token in _STOP), len(tokens))
        tokens = tokens[:cut][:_LONGEST]
        for length in range(len(tokens), 0, -1):
            text = self._names.join(tokens[-length:])
            if self._listing.named(text):
                yield text
                return

    def _text(self, name: str) -> str:
        return self._names.canonical(name.rsplit(".", 1)[-1])


def offered_keys(name: str, profile: ToolProfile, listing: Listing) -> tuple[Key, ...]:
    """What an inferred output gives, by what the inputs of its name take: of a bare ``id`` only the tool's own."""
    keys = listing.keys(name)
    own = tuple(key for key in keys if key[0] == profile.entity and key[0] != PLAIN_VALUE)
    if own:
        return own
    if name.lower() in BARE_IDENTIFIERS:
        return ()
    return keys[:3]


def _said(tool: Tool) -> tuple[str, list[str]]:
    """The verb of a tool's name, and the words after it up to the first preposition: of "convert a to b" those of b."""
    tokens = words(local_name(tool))
    place = next((at for at, token in enumerate(tokens) if _is_verb(token)), None)
    if place is None:
        return "", []
    verb, rest = verb_lemma(tokens[place]), tokens[place + 1 :]
    if verb in _TURNING and "to" in rest:
        rest = rest[rest.index("to") + 1 :]
    cut = next((at for at, token in enumerate(rest) if token in _STOP), len(rest))
    return verb, rest[:cut] or tokens[:place]


def _is_verb(token: str) -> bool:
    return bool(action_of(token)) or verb_lemma(token) in _PASSING | _MAKING | _TURNING


def _object_confidence(text: str, phrase: Sequence[str], *, passes: bool) -> tuple[float, str]:
    whole = len(text.split()) == len([token for token in phrase if token not in QUALIFIERS])
    confidence = (0.9 if whole else 0.72) - 0.15 * (text in GENERIC_NAMES) - 0.2 * passes
    said = f"what it checks goes on as {text}" if passes else f"its name says that it gives the {text}"
    return round(confidence, 2), f"{said}, an input of other tools"


def _does(action: str) -> str:
    return {"create": "makes", "search": "finds", "list": "lists", "get": "gets"}[action]
