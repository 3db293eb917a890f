"""The ``rules`` extractor: triples from the structure and the text of tool documents, without a language model."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from dataclasses import replace
from functools import partial
from multiprocessing import get_context

from ingest.extract.extractor import Evidence, Extraction
from ingest.extract.object_names import Title, parse_path, parse_title
from ingest.extract.sentences import MAX_DESCRIPTION_CHARS, MAX_PARAMETER_CHARS, MIN_SENTENCE_CHARS, Sentence, sentences
from ingest.extract.spacy_parser import Finding, SentenceParser, find_model
from ingest.extract.structure import structural_triples
from ontology.errors import CatalogError, InvalidArgumentError
from ontology.ontology import Ontology
from ontology.tool import Tool
from ontology.tool_graph import Triple

_NAME = "rules.v1"
_MAX_PARSED_PARAMETERS = 40  # maximum number of inputs with parsed descriptions; the structure of all inputs is read
CHUNK = 256  # tools whose sentences are parsed together; the unit of work of a process
# Maximum number of tools for one process: to start more processes, which load the model, would take longer than the work.
MAX_SEQUENTIAL_TOOLS = 3 * CHUNK
_TITLE, _DESCRIPTION, _PARAMETER = 0.8, 0.7, 0.5  # confidence of an entity, by the field that names it
_CAPABILITY_IN_TITLE, _CAPABILITY_IN_TEXT = 0.85, 0.8
_CORE_DISCOUNT = 0.05
_CAMEL_CASE = re.compile(r"[a-z][A-Z]")
_OBJECT = "business_object"
_processes = partial(ProcessPoolExecutor, mp_context=get_context("spawn"))


class RulesExtractor:
    """Extracts triples by rules: deterministic, offline, each tool from its own document alone.

    It parses the sentences in the first 600 characters of a description. In the first 200 characters of the descriptions of 40 inputs,
    it parses the first sentence; after a short label also the next. It does not parse descriptions of outputs. It reads the whole
    declared structure.

    :param workers: number of processes, at least 1; it does not change the output or its order.
    :param pool: makes what runs the work, from the number of workers, ``initializer`` and ``initargs``; None for processes of this
        machine, where they pay. It does not change the output either.
    :raises ModelError: when no English model of spaCy is installed.
    """

    def __init__(self, ontology: Ontology, *, workers: int = 1, pool: Callable[..., Executor] | None = None) -> None:
        if workers < 1:
            raise InvalidArgumentError(
                f"workers must be at least 1, not {workers}", subject="workers", remedy="Use 1 or more processes"
            )
        self._ontology = ontology
        self._workers = workers
        self._pool = pool
        self._model, self._version = find_model()
        self._extractor: _ChunkExtractor | None = None

    @property
    def name(self) -> str:
        """Versioned name."""
        return _NAME

    @property
    def fingerprint(self) -> str:
        """SHA-256 (hex) of the version of the rules, the ontology, the language model and the limits."""
        limits = (MAX_DESCRIPTION_CHARS, MAX_PARAMETER_CHARS, _MAX_PARSED_PARAMETERS)
        parts = (_NAME, self._ontology.digest, self._model, self._version, limits)
        return hashlib.sha256(repr(parts).encode()).hexdigest()

    def extract(self, tools: Sequence[Tool]) -> Iterator[Extraction]:
        """Yield one Extraction for each tool, in order."""
        chunks = [tools[start : start + CHUNK] for start in range(0, len(tools), CHUNK)]
        if self._pool is None and (self._workers == 1 or len(tools) <= MAX_SEQUENTIAL_TOOLS):
            self._extractor = self._extractor or _ChunkExtractor(self._ontology, self._model)
            for chunk in chunks:
                yield from self._extractor.extract(chunk)
            return
        make = self._pool or _processes
        try:
            with make(self._workers, initializer=_init, initargs=(self._ontology, self._model)) as pool:
                with closing(pool.map(_extract, chunks)) as results:  # type: ignore[type-var]
                    for extractions in results:
                        yield from extractions
        except BrokenProcessPool as error:
            raise CatalogError(
                "a process that extracts was killed",
                subject="--workers",
                remedy="Give the build more memory, or use fewer --workers; it goes on with what is in the store's cache",
            ) from error


_extractor: list[_ChunkExtractor] = []  # of the worker process


def _init(ontology: Ontology, model: str) -> None:
    _extractor[:] = [_ChunkExtractor(ontology, model)]


def _extract(chunk: Sequence[Tool]) -> list[Extraction]:
    return list(_extractor[0].extract(chunk))


class _ChunkExtractor:
    def __init__(self, ontology: Ontology, model: str) -> None:
        self.ontology = ontology
        self.parser = SentenceParser(model)

    def extract(self, tools: Sequence[Tool]) -> Iterator[Extraction]:
        by_tool = [list(_sentences(tool)) for tool in tools]
        found = self.parser.parse(sentence for listed in by_tool for _, sentence in listed)
        for tool, listed in zip(tools, by_tool, strict=True):
            triples = [*structural_triples(tool, self.ontology, _NAME), *self._title_triples(tool)]
            for field, sentence in listed:
                finding = found[sentence.text, sentence.prefix_chars]
                triples += self._sentence_triples(tool, field, sentence.start, finding)
            yield Extraction(tool_id=tool.id, triples=tuple(triples))

    def _title_triples(self, tool: Tool) -> Iterator[Triple]:
        """Read names in code style or path style; names in prose are parsed as sentences."""
        titles: list[tuple[str, Title]] = []
        if (path := parse_path(tool)) is not None:
            titles.append(("metadata.path", path))
        elif " " not in tool.name.strip():
            titles.append(("name", parse_title(tool.name, self.ontology.abbreviations)))
        title = tool.metadata.get("title")
        if isinstance(title, str) and title and title != tool.name and " " not in title.strip():
            titles.append(("metadata.title", parse_title(title, self.ontology.abbreviations)))
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
    for parameter in tool.parameters[:_MAX_PARSED_PARAMETERS]:
        # The first sentence describes the input, the next ones its format. A short label is no sentence.
        for sentence in sentences(parameter.description, MAX_PARAMETER_CHARS, operation=False):
            yield f"parameters.{parameter.name}", sentence
            if len(sentence.text) >= MIN_SENTENCE_CHARS:
                break
