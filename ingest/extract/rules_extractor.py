"""The ``rules`` extractor: triples from the structure and the text of tool documents, without a language model."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from ingest.extract.extractor import Evidence, Extraction
from ingest.extract.noun_phrases import Finding, read_sentence
from ingest.extract.object_names import Title, parse_path, parse_title
from ingest.extract.sentences import MAX_DESCRIPTION_CHARS, MAX_PARAMETER_CHARS, MIN_SENTENCE_CHARS, Sentence, sentences
from ingest.extract.structure import structural_triples
from ontology.ontology import Ontology
from ontology.tool import Tool
from ontology.tool_graph import Triple

_NAME = "rules.v2"
_MAX_READ_PARAMETERS = 40  # maximum number of inputs whose descriptions are read; the structure of all inputs is
_TITLE, _DESCRIPTION, _PARAMETER = 0.8, 0.7, 0.5  # confidence of an entity, by the field that names it
_CAPABILITY_IN_TITLE, _CAPABILITY_IN_TEXT = 0.85, 0.8
_CORE_DISCOUNT = 0.05
_CAMEL_CASE = re.compile(r"[a-z][A-Z]")
_OBJECT = "business_object"


class RulesExtractor:
    """Extracts triples by rules: deterministic, offline, each tool from its own document alone.

    It reads the sentences in the first 600 characters of a description. In the first 200 characters of the descriptions of 40 inputs,
    it reads the first sentence; after a short label also the next. It does not read descriptions of outputs. It reads the whole
    declared structure.
    """

    def __init__(self, ontology: Ontology) -> None:
        self._ontology = ontology
        self._read = lru_cache(maxsize=20_000)(read_sentence)  # inputs of many tools are described in the same words

    @property
    def name(self) -> str:
        """Versioned name."""
        return _NAME

    @property
    def fingerprint(self) -> str:
        """SHA-256 (hex) of the version of the rules, the ontology and the limits."""
        limits = (MAX_DESCRIPTION_CHARS, MAX_PARAMETER_CHARS, _MAX_READ_PARAMETERS)
        return hashlib.sha256(repr((_NAME, self._ontology.digest, limits)).encode()).hexdigest()

    def extract(self, tools: Sequence[Tool]) -> Iterator[Extraction]:
        """Yield one Extraction for each tool, in order."""
        for tool in tools:
            triples = [*structural_triples(tool, self._ontology, _NAME), *self._title_triples(tool)]
            for field, sentence in _sentences(tool):
                found = self._read(sentence.text, verb_first=sentence.verb_first)
                triples += self._sentence_triples(tool, field, sentence.start, found)
            yield Extraction(tool_id=tool.id, triples=tuple(triples))

    def _title_triples(self, tool: Tool) -> Iterator[Triple]:
        """Read names in code style or path style; names in prose are parsed as sentences."""
        titles: list[tuple[str, Title]] = []
        if (path := parse_path(tool)) is not None:
            titles.append(("metadata.path", path))
        elif " " not in tool.name.strip():
            titles.append(("name", parse_title(tool.name, self._ontology.abbreviations)))
        title = tool.metadata.get("title")
        if isinstance(title, str) and title and title != tool.name and " " not in title.strip():
            titles.append(("metadata.title", parse_title(title, self._ontology.abbreviations)))
        for field, parsed in titles:
            source = Evidence(tool.id, _NAME, field)
            for name in filter(None, (parsed.target, *parsed.others)):
                yield source.triple((tool.id, "tool"), "has_entity", (name, _OBJECT), _TITLE)
            for capability in parsed.capabilities:
                yield from _capability(source, capability, parsed.target, _CAPABILITY_IN_TITLE)

    def _sentence_triples(self, tool: Tool, field: str, start: int, finding: Finding) -> Iterator[Triple]:
        is_input = field.startswith("parameters.")
        confidence = _PARAMETER if is_input else _DESCRIPTION if field == "description" else _TITLE
        source, head = Evidence(tool.id, _NAME, field, start), (tool.id, "tool")
        # In prose, a camel-case name of an input is the input, not an object.
        inputs = {one.name.lower() for one in tool.parameters if _CAMEL_CASE.search(one.name)}
        for phrase in finding.phrases:
            if inputs.isdisjoint(phrase.name.lower().split()):
                yield source.triple(head, "has_entity", (phrase.name, _OBJECT), confidence, (phrase.start, phrase.end))
                if phrase.core != phrase.name:
                    core, span = round(confidence - _CORE_DISCOUNT, 2), (phrase.core_start, phrase.end)
                    yield source.triple(head, "has_entity", (phrase.core, _OBJECT), core, span)
        for found in () if is_input else finding.capabilities:
            yield from _capability(source, found.name, found.target, _CAPABILITY_IN_TEXT, found.span)


def _capability(
    source: Evidence, name: str, target: str, confidence: float, span: tuple[int, int] = (-1, -1)
) -> Iterator[Triple]:
    capability = (name, "capability")
    yield source.triple((source.tool_id, "tool"), "has_capability", capability, confidence, span)
    yield source.triple(capability, "acts_on", (target, _OBJECT), confidence, span)


def _sentences(tool: Tool) -> Iterator[tuple[str, Sentence]]:
    for field, text in (("name", tool.name), ("metadata.title", tool.metadata.get("title"))):
        if isinstance(text, str) and " " in text.strip():
            # "Service: Operation": the service is in the metadata.
            operation = text.rpartition(": ")[2]
            for sentence in sentences(operation, MAX_PARAMETER_CHARS):
                yield field, replace(sentence, start=sentence.start + len(text) - len(operation))
    for sentence in sentences(tool.description, MAX_DESCRIPTION_CHARS):
        yield "description", sentence
    for parameter in tool.parameters[:_MAX_READ_PARAMETERS]:
        # The first sentence describes the input, the next ones its format. A short label is no sentence.
        for sentence in sentences(parameter.description, MAX_PARAMETER_CHARS, operation=False):
            yield f"parameters.{parameter.name}", sentence
            if len(sentence.text) >= MIN_SENTENCE_CHARS:
                break
