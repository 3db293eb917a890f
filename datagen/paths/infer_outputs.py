"""Outputs that no document lists, inferred from the action and the entity of a tool and from its description.

Each has exactly the name of an input of some tool of the catalogue.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from datagen.parameter_index import ParameterIndex, ValueKey
from datagen.patterns import load_patterns
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

__all__ = ["InferredOutput", "OutputInferrer", "produced_keys"]

_WORDS = load_patterns("paths/words")
_CONVERTING = _WORDS.words("converting")
_MAKING = _WORDS.words("making") | _CONVERTING
_PASSING = _WORDS.words("passing")
_PHRASE_ENDS = stop_words("phrase_ends")
_OWN_IDENTIFIER = {"create": 0.95, "search": 0.94, "list": 0.92, "get": 0.75}
"""Map from action to the confidence that the tool returns the identifier of its entity."""
_FOUND_BY_WORDS = 0.85  # the same for a ``get`` that takes free text
_VERBS = {"create": "makes", "search": "finds", "list": "lists", "get": "gets"}
_MAX_DESCRIPTION = 600  # characters of a description that are read
_MAX_WORDS = 4  # of a phrase for an output
_MAX_KEYS = 3


class InferredOutput(NamedTuple):
    """One output that a tool likely has.

    :param confidence: in the bands of the paper: 0.90–0.99 very strong, 0.70–0.89 strong, 0.50–0.69 weak.
    """

    name: str
    confidence: float
    reason: str


class OutputInferrer:
    """Infers outputs of the tools of one catalogue."""

    def __init__(self, index: ParameterIndex, names: CanonicalNames) -> None:
        self._index = index
        self._names = names

    def infer_own(self, profile: ToolProfile) -> Iterator[InferredOutput]:
        """Yield the identifiers of the tool's entity, where it creates or finds the entity and takes no identifier of it."""
        base = _OWN_IDENTIFIER.get(profile.action, 0.0)
        taken = {value.key[0] for value in profile.consumes if value.identifier}
        if not base or not profile.entity or profile.entity in taken:
            return
        if profile.action == "get" and profile.free_text:
            base = _FOUND_BY_WORDS
        for key in self._index.identifiers(profile.entity):
            if name := self._index.name_of(key, profile.system):
                confidence = base - (0.1 if name.lower() in BARE_IDENTIFIERS or key[1] != "id" else 0.0)
                reason = f"it {_VERBS[profile.action]} a {profile.entity}, which is asked for by {name}"
                yield InferredOutput(name, round(confidence, 2), reason)

    def infer_all(self, tool: Tool, profile: ToolProfile) -> Iterator[InferredOutput]:
        """Yield all outputs that can be inferred for a tool without documented outputs."""
        yield from self.infer_own(profile)
        yield from self._session(tool, profile)
        yield from self._object_of_name(tool, profile)
        yield from self._described(tool, profile)

    def _session(self, tool: Tool, profile: ToolProfile) -> Iterator[InferredOutput]:
        tokens = set(words(local_name(tool)))
        if tokens & _WORDS.words("login") or {"log", "in"} <= tokens or {"sign", "in"} <= tokens:
            if name := self._index.name_of(AUTH_KEY, profile.system):
                yield InferredOutput(name, 0.95, f"who logs in gets the {name} that other tools ask for")

    def _object_of_name(self, tool: Tool, profile: ToolProfile) -> Iterator[InferredOutput]:
        """Infer an output from the object of the name: ``get_exchange_rate`` returns an exchange_rate."""
        verb, phrase = _verb_and_object(tool)
        passes = verb in _PASSING
        if not (passes or verb in _MAKING or profile.action in ("get", "search", "list")):
            return
        taken = set() if passes else self._taken(tool)
        plain = [token for token in phrase if token not in QUALIFIERS]
        for tokens in (phrase, *(plain[start:] for start in range(len(plain)))):
            text = self._names.join(tokens)
            name = self._index.named(text)
            if name and text not in taken:
                whole = len(text.split()) == len(plain)
                confidence = (0.9 if whole else 0.72) - 0.15 * (text in GENERIC_NAMES) - 0.2 * passes
                how = f"what it checks goes on as {text}" if passes else f"its name says that it gives the {text}"
                yield InferredOutput(name, round(confidence, 2), f"{how}, an input of other tools")
                return

    def _described(self, tool: Tool, profile: ToolProfile) -> Iterator[InferredOutput]:
        """Infer outputs that the description names, if they are inputs of other tools."""
        if profile.action in ("delete", "update"):
            return
        taken = self._taken(tool) | GENERIC_NAMES
        for match in _WORDS["gives"].finditer(tool.description[:_MAX_DESCRIPTION]):
            text = self._longest_known(match["what"])
            if text and text not in taken:
                confidence = 0.7 if " " in text else 0.55
                reason = f"its description says that it gives the {text}"
                yield InferredOutput(self._index.named(text), confidence, reason)

    def _longest_known(self, phrase: str) -> str:
        """Return the longest sequence of words before the first preposition that is the name of an input, or empty."""
        tokens = words(phrase)
        while tokens and tokens[0] in _WORDS.words("skipped"):
            tokens = tokens[1:]
        tokens = _up_to_preposition(tokens)[:_MAX_WORDS]
        texts = (self._names.join(tokens[start:]) for start in range(len(tokens)))
        return next((text for text in texts if self._index.named(text)), "")

    def _taken(self, tool: Tool) -> set[str]:
        return {self._names.canonical(parameter.name.rsplit(".", 1)[-1]) for parameter in tool.parameters}


def produced_keys(name: str, profile: ToolProfile, index: ParameterIndex) -> tuple[ValueKey, ...]:
    """Return the value keys of an inferred output, from the inputs with its name; for a bare ``id`` only of the tool's entity."""
    keys = index.keys(name)
    own = tuple(key for key in keys if key[0] == profile.entity and key[0] != PLAIN_VALUE)
    if own:
        return own
    return () if name.lower() in BARE_IDENTIFIERS else keys[:_MAX_KEYS]


def _verb_and_object(tool: Tool) -> tuple[str, list[str]]:
    """Return the verb of a tool's name, and the words after it up to a preposition; for "convert a to b" the words of b."""
    tokens = words(local_name(tool))
    position = next((at for at, token in enumerate(tokens) if _is_verb(token)), None)
    if position is None:
        return "", []
    verb, rest = verb_lemma(tokens[position]), tokens[position + 1 :]
    if verb in _CONVERTING and "to" in rest:
        rest = rest[rest.index("to") + 1 :]
    return verb, _up_to_preposition(rest) or tokens[:position]


def _up_to_preposition(tokens: Sequence[str]) -> list[str]:
    end = next((at for at, token in enumerate(tokens) if token in _PHRASE_ENDS), len(tokens))
    return list(tokens[:end])


def _is_verb(token: str) -> bool:
    return bool(action_of(token)) or verb_lemma(token) in _PASSING | _MAKING
