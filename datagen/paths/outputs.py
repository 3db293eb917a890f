"""Outputs of tools: the documented ones, else those inferred from what the tool does; at most three a tool."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from datagen.catalogue import ParameterIndex, ProfiledCatalogue, ValueKey, is_paging, word_set
from datagen.requests import RejectedRequest
from ingest.linking import (
    AUTH_KEY,
    BARE_IDENTIFIERS,
    GENERIC_NAMES,
    PLAIN_VALUE,
    QUALIFIERS,
    CanonicalNames,
    ProducedValue,
    ToolProfile,
    action_of,
    local_name,
)
from ontology.names import stop_words, verb_lemma, words
from ontology.tool import Parameter, Tool

_CONVERTING = word_set("converting")
_MAKING = word_set("making") | _CONVERTING
_PASSING = word_set("passing")
_PHRASE_ENDS = stop_words("phrase_ends")
# Map from action to the confidence that the tool returns the identifier of its entity
_OWN_IDENTIFIER = {"create": 0.95, "search": 0.94, "list": 0.92, "get": 0.75}
_FOUND_BY_WORDS = 0.85  # the same for a ``get`` that takes free text
_VERBS = {"create": "makes", "search": "finds", "list": "lists", "get": "gets"}
_MAX_DESCRIPTION = 600  # characters of a description that are read
_MAX_WORDS = 4  # of a phrase for an output
_MAX_KEYS = 3
# What a description says that a tool gives
_GIVES = re.compile(
    r"\b(?:returns?|retriev(?:es?|ing)|fetch(?:es|ing)?|gets?|getting|obtains?|provides?|gives?|finds?|calculates?|computes?|generates?"
    r"|determines?|produces?|outputs?|looks? up|shows?|displays?|query|queries)\b\s+(?P<what>[^.;:()]{3,120})",
    re.IGNORECASE,
)


MAX_OUTPUTS = 3  # maximum number of outputs of a tool, as in the paper
_MIN_CONFIDENCE = 0.5  # of an inferred output


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOutput:
    """An output of a tool."""

    tool: str
    name: str  # as documented; an inferred output has exactly the name of an input of the catalogue
    confidence: float  # in [0.5, 1]; less likely outputs are left out
    reason: str  # one sentence without a full stop
    documented: bool


@dataclass(frozen=True, kw_only=True)
class ToolOutputs:
    """The outputs of a catalogue's tools."""

    by_tool: Mapping[str, tuple[ToolOutput, ...]]  # map from tool id to its outputs, best first, at most MAX_OUTPUTS
    rejected: tuple[RejectedRequest, ...] = ()  # the tools without outputs


class InferredOutput(NamedTuple):
    """One output that a tool likely has."""

    name: str
    confidence: float  # in the bands of the paper: 0.90–0.99 very strong, 0.70–0.89 strong, 0.50–0.69 weak
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
        if tokens & word_set("login") or {"log", "in"} <= tokens or {"sign", "in"} <= tokens:
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
        for match in _GIVES.finditer(tool.description[:_MAX_DESCRIPTION]):
            text = self._longest_known(match["what"])
            if text and text not in taken:
                confidence = 0.7 if " " in text else 0.55
                reason = f"its description says that it gives the {text}"
                yield InferredOutput(self._index.named(text), confidence, reason)

    def _longest_known(self, phrase: str) -> str:
        """Return the longest sequence of words before the first preposition that is the name of an input, or empty."""
        tokens = words(phrase)
        while tokens and tokens[0] in word_set("skipped"):
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


class OutputRules:
    """Finds outputs by rules."""

    name = "rules.v1"

    def __init__(self, catalogue: ProfiledCatalogue) -> None:
        self._catalogue = catalogue
        self._inferrer = OutputInferrer(catalogue.parameter_index, catalogue.names)

    def find(self) -> ToolOutputs:
        """The outputs of every tool; a tool of which nothing is documented and nothing can be inferred is rejected."""
        profiles = self._catalogue.extended_profiles
        found = {tool.id: self._outputs(tool, profiles[tool.id]) for tool in self._catalogue.tools}
        rejected = (
            RejectedRequest(stage="outputs", subject=(tool,), reason=_why_none(profiles[tool]))
            for tool, outputs in found.items()
            if not outputs
        )
        return ToolOutputs(by_tool=found, rejected=tuple(rejected))

    def _outputs(self, tool: Tool, profile: ToolProfile) -> tuple[ToolOutput, ...]:
        documented = list(self._documented(tool, profile))
        inferred: Iterable[InferredOutput] = ()
        if not tool.returns:
            inferred = self._inferrer.infer_all(tool, profile)
        elif profile.entity not in {value.key[0] for value in profile.produces if value.output}:
            inferred = self._inferrer.infer_own(profile)
        known = {output.name for output in documented}
        return (*documented, *_likely(tool, inferred, known))[:MAX_OUTPUTS]

    def _documented(self, tool: Tool, profile: ToolProfile) -> Iterator[ToolOutput]:
        """Documented outputs, those that inputs take before others."""
        index = self._catalogue.parameter_index
        keys, names = set(), set()
        for value in sorted((one for one in profile.produces if one.output), key=lambda one: self._rank(one, profile)):
            if value.key not in keys and value.output not in names:
                keys.add(value.key)
                names.add(value.output)
                reason = f"documented, and {index.demand(value.key)} inputs of the catalogue take it"
                yield _documented(tool, value.output, reason)
        for output in sorted(tool.returns, key=self._rank_unlinked):
            if output.name not in names:
                yield _documented(tool, output.name, "documented")

    def _rank(self, value: ProducedValue, profile: ToolProfile) -> tuple[bool, bool, int, int, str]:
        """The tool's own identifiers first, then others, then what few inputs take before what many do."""
        identifier = bool(value.key[0])
        own = identifier and value.key[0] == profile.entity
        demand = self._catalogue.parameter_index.demand(value.key)
        return not own, not identifier, demand, value.output.count("."), value.output

    def _rank_unlinked(self, output: Parameter) -> tuple[bool, bool, int]:
        """Outputs with a name of their own first, those that page through a list last."""
        names = self._catalogue.names
        generic = names.canonical(output.name.rsplit(".", 1)[-1]) in GENERIC_NAMES
        return is_paging(output.name, names), generic, output.name.count(".")


def _documented(tool: Tool, name: str, reason: str) -> ToolOutput:
    return ToolOutput(tool=tool.id, name=name, confidence=1.0, reason=reason, documented=True)


def _likely(tool: Tool, inferred: Iterable[InferredOutput], known: set[str]) -> Iterator[ToolOutput]:
    """The best inference of each new name that is likely enough, the most likely first."""
    for one in sorted(inferred, key=lambda one: (-one.confidence, one.name)):
        if one.name not in known and one.confidence >= _MIN_CONFIDENCE:
            known.add(one.name)
            yield ToolOutput(
                tool=tool.id, name=one.name, confidence=one.confidence, reason=one.reason, documented=False
            )


def _why_none(profile: ToolProfile) -> str:
    if profile.action in ("delete", "update"):
        return f"nothing is documented, and what a tool that {profile.action}s leaves behind fills no input"
    return "nothing is documented, and no input of the catalogue is called as what it gives"
