"""The ``rules`` extractor: triples from the structure and the text of tool documents, without a language model."""

from __future__ import annotations

import hashlib
import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from multiprocessing import get_context

from ingest.extract.extractor import Extraction
from ingest.extract.relations import Finding, Relation, Title, parse_path, parse_title
from ingest.extract.sentences import (
    MAX_DESCRIPTION_CHARS,
    MAX_PARAMETER_CHARS,
    MIN_SENTENCE_CHARS,
    Sentence,
    sentences,
)
from ingest.extract.spacy_parser import Language, find_model
from ingest.extract.structure import structural_triples
from ingest.extract.triple_validation import apply_triple_rules
from ontology.errors import CatalogError, InvalidArgumentError
from ontology.names import verb_lemma, words
from ontology.ontology import Ontology
from ontology.tool import Tool
from ontology.tool_graph import Provenance, Triple

__all__ = ["CHUNK", "MAX_PARSED_PARAMETERS", "MAX_SEQUENTIAL_TOOLS", "RulesExtractor"]

_NAME = "rules.v1"
MAX_PARSED_PARAMETERS = 40  # maximum number of inputs with parsed descriptions; the structure of all inputs is read
CHUNK = 256  # tools whose sentences are parsed together; the unit of work of a process
# Maximum number of tools for one process: to start more processes, which load the model, would take longer than the work.
MAX_SEQUENTIAL_TOOLS = 3 * CHUNK
_MAX_LOSSES = 3  # of processes, one after another at the same tools
_TITLE, _DESCRIPTION, _PARAMETER = 0.8, 0.7, 0.5  # confidence of an entity, by the field that names it
_CAPABILITY_IN_TITLE, _CAPABILITY_IN_TEXT = 0.85, 0.8
_PARAMETER_DISCOUNT = 0.8
_PART_DISCOUNT = 0.05
_CAMEL_CASE = re.compile(r"[a-z][A-Z]")
_KNOWN_BONUS = 0.1
_processes = partial(ProcessPoolExecutor, mp_context=get_context("spawn"))


class RulesExtractor:
    """Extracts triples by rules: deterministic, offline, each tool from its own document alone.

    It parses the sentences in the first 600 characters of a description. In the first 200 characters of the descriptions of 40 inputs,
    it parses the first sentence; after a short label also the next. It does not parse descriptions of outputs. It reads the whole
    declared structure.

    :param workers: number of processes, at least 1; it does not change the output or its order.
    :param model: package name of the spaCy model, None for the first one installed, or empty for none.
    :param pool: makes what runs the work, from the number of workers, ``initializer`` and ``initargs``; None for processes of this
        machine, where they pay. It does not change the output either.
    """

    def __init__(
        self,
        ontology: Ontology,
        *,
        workers: int = 1,
        model: str | None = None,
        pool: Callable[..., Executor] | None = None,
    ) -> None:
        if workers < 1:
            raise InvalidArgumentError(
                f"workers must be at least 1, not {workers}", subject="workers", remedy="Use 1 or more processes"
            )
        self._ontology = ontology
        self._workers = workers
        self._pool = pool
        self._model, self._version = find_model() if model is None else (model, find_model([model])[1] if model else "")
        self._extractor: _ChunkExtractor | None = None

    @property
    def name(self) -> str:
        """Versioned name."""
        return _NAME

    @property
    def fingerprint(self) -> str:
        """SHA-256 (hex) of the version of the rules, the ontology, the language model and the limits."""
        limits = (MAX_DESCRIPTION_CHARS, MAX_PARAMETER_CHARS, MAX_PARSED_PARAMETERS)
        parts = (_NAME, self._ontology.digest, self._model, self._version, limits)
        return hashlib.sha256(repr(parts).encode()).hexdigest()

    def extract(self, tools: Sequence[Tool]) -> Iterator[Extraction]:
        """Yield one Extraction for each tool, in order."""
        chunks = (tools[start : start + CHUNK] for start in range(0, len(tools), CHUNK))
        if self._pool is None and (self._workers == 1 or len(tools) <= MAX_SEQUENTIAL_TOOLS):
            self._extractor = self._extractor or _ChunkExtractor(self._ontology, self._model)
            for chunk in chunks:
                yield from self._extractor.extract(chunk)
            return
        yield from self._extract_parallel(chunks)

    def _extract_parallel(self, chunks: Iterator[Sequence[Tool]]) -> Iterator[Extraction]:
        """Extract in processes. Where one is killed, all are started again, and only what they had not finished is done again."""
        waiting: deque[Sequence[Tool]] = deque()
        losses = 0
        while True:
            # At most two chunks per process are submitted, so that a slow consumer needs little memory.
            waiting.extend(islice(chunks, 2 * self._workers - len(waiting)))
            if not waiting:
                return
            try:
                for done in self._extract_in_pool(waiting, chunks):
                    losses = 0
                    yield from done
            except BrokenProcessPool as error:
                losses += 1
                if losses > _MAX_LOSSES:
                    raise CatalogError(
                        f"the processes that extract were killed {losses} times at the same tools",
                        subject=", ".join(tool.id for tool in waiting[0][:1]),
                        remedy="Give the build more memory, or use fewer --workers",
                    ) from error

    def _extract_in_pool(
        self, waiting: deque[Sequence[Tool]], chunks: Iterator[Sequence[Tool]]
    ) -> Iterator[list[Extraction]]:
        """Yield what each waiting chunk gives, in order, and fill up from ``chunks``; what is done no longer waits.

        :raises BrokenProcessPool: when a process was killed.
        """
        make = self._pool or _processes
        with make(self._workers, initializer=_init, initargs=(self._ontology, self._model)) as pool:
            running: deque[Future[list[Extraction]]] = deque()
            try:
                running.extend(pool.submit(_extract, chunk) for chunk in waiting)
                while running:
                    done = running.popleft().result()
                    waiting.popleft()
                    yield done  # before a submission that may fail
                    for chunk in islice(chunks, 1):
                        waiting.append(chunk)
                        running.append(pool.submit(_extract, chunk))
            finally:
                for future in running:
                    future.cancel()


_extractor: list[_ChunkExtractor] = []  # of the worker process


def _init(ontology: Ontology, model: str) -> None:
    _extractor[:] = [_ChunkExtractor(ontology, model)]


def _extract(chunk: Sequence[Tool]) -> list[Extraction]:
    return list(_extractor[0].extract(chunk))


class _ChunkExtractor:
    """Extracts chunks of tools with one language model."""

    def __init__(self, ontology: Ontology, model: str) -> None:
        self.ontology = ontology
        self.language = Language(model)
        self.predicates = _lemma_index(ontology)

    def extract(self, tools: Sequence[Tool]) -> Iterator[Extraction]:
        by_tool = [list(_sentences(tool)) for tool in tools]
        found = self.language.parse(sentence for listed in by_tool for _, sentence in listed)
        for tool, listed in zip(tools, by_tool, strict=True):
            triples = [*structural_triples(tool, self.ontology, _NAME), *self._title_triples(tool)]
            for field, sentence in listed:
                triples += self._sentence_triples(tool, field, sentence, found[sentence.text, sentence.prefix_chars])
            yield apply_triple_rules(tool, triples, self.ontology)

    def _title_triples(self, tool: Tool) -> Iterator[Triple]:
        for field, title in self._titles(tool):
            source = _Evidence(tool, field)
            for name in (title.target, *title.others):
                if name:
                    yield source.entity(name, _TITLE)
            for capability in title.capabilities:
                yield from source.capability(capability, title.target, _CAPABILITY_IN_TITLE)

    def _titles(self, tool: Tool) -> Iterator[tuple[str, Title]]:
        """Yield the names in code style or path style; names in prose are parsed as sentences."""
        path = parse_path(tool)
        if path is not None:
            yield "metadata.path", path
        elif " " not in tool.name.strip():
            yield "name", parse_title(tool.name, self.ontology.abbreviations)
        title = tool.metadata.get("title")
        if isinstance(title, str) and title and title != tool.name and " " not in title.strip():
            yield "metadata.title", parse_title(title, self.ontology.abbreviations)

    def _sentence_triples(self, tool: Tool, field: str, sentence: Sentence, finding: Finding) -> Iterator[Triple]:
        is_input = field.startswith("parameters.")
        confidence = _PARAMETER if is_input else _DESCRIPTION if field == "description" else _TITLE
        source = _Evidence(tool, field, sentence.start)
        inputs = _camel_case_inputs(tool)
        for phrase in finding.phrases:
            if inputs.isdisjoint(phrase.name.lower().split()):
                yield source.entity(phrase.name, confidence, phrase.start, phrase.end)
                if phrase.core != phrase.name:
                    core = round(confidence - _PART_DISCOUNT, 2)
                    yield source.entity(phrase.core, core, phrase.core_start, phrase.end)
        for found in () if is_input else finding.capabilities:
            yield from source.capability(found.name, found.target, _CAPABILITY_IN_TEXT, found.start, found.end)
        for relation in finding.relations:
            if inputs.isdisjoint(f"{relation.head} {relation.tail}".lower().split()):
                yield self._relation(source, relation, _PARAMETER_DISCOUNT if is_input else 1.0)

    def _relation(self, source: _Evidence, relation: Relation, discount: float) -> Triple:
        predicate = self._predicate(relation.phrase)
        confidence = relation.confidence + (_KNOWN_BONUS if predicate else -_KNOWN_BONUS)
        return source.triple(
            (relation.head, "business_object"),
            predicate or self.ontology.fallback,
            (relation.tail, "business_object"),
            round(confidence * discount, 2),
            relation.start,
            relation.end,
            relation.phrase,
        )

    def _predicate(self, phrase: str) -> str:
        """Return the predicate of a phrase, or empty when it is not allowed between two business objects."""
        name = self.ontology.predicate_for(phrase) or self.predicates.get(_lemmas(phrase), "")
        return name if name and self.ontology.allows("business_object", name, "business_object") else ""


@dataclass(frozen=True, slots=True)
class _Evidence:
    """The field that triples are extracted from.

    :param offset: index of the sentence's first character in the field's text.
    """

    tool: Tool
    field: str
    offset: int = 0

    def entity(self, name: str, confidence: float, start: int = -1, end: int = -1) -> Triple:
        tail = (name, "business_object")
        return self.triple((self.tool.id, "tool"), "has_entity", tail, confidence, start, end)

    def capability(self, name: str, target: str, confidence: float, start: int = -1, end: int = -1) -> Iterator[Triple]:
        capability = (name, "capability")
        yield self.triple((self.tool.id, "tool"), "has_capability", capability, confidence, start, end)
        yield self.triple(capability, "acts_on", (target, "business_object"), confidence, start, end)

    def triple(
        self,
        head: tuple[str, str],
        predicate: str,
        tail: tuple[str, str],
        confidence: float,
        start: int,
        end: int,
        phrase: str = "",
    ) -> Triple:
        """Return a triple of two ``(name, type)`` ends; the span is -1 when the evidence is a whole name."""
        span = (-1, -1) if end < 0 else (self.offset + start, self.offset + end)
        return Triple(
            head=head[0],
            head_type=head[1],
            predicate=predicate,
            tail=tail[0],
            tail_type=tail[1],
            confidence=confidence,
            provenance=Provenance(self.tool.id, self.field, _NAME, *span),
            phrase=phrase,
        )


def _sentences(tool: Tool) -> Iterator[tuple[str, Sentence]]:
    for field, text in (("name", tool.name), ("metadata.title", tool.metadata.get("title"))):
        if isinstance(text, str) and " " in text.strip():
            # "Service: Operation": the service is in the metadata.
            operation = text.rpartition(": ")[2]
            offset = len(text) - len(operation)
            for sentence in sentences(operation, MAX_PARAMETER_CHARS):
                yield field, replace(sentence, start=sentence.start + offset)
    for sentence in sentences(tool.description, MAX_DESCRIPTION_CHARS):
        yield "description", sentence
    for parameter in tool.parameters[:MAX_PARSED_PARAMETERS]:
        # The first sentence describes the input, the next ones its format. A short label is no sentence.
        for sentence in sentences(parameter.description, MAX_PARAMETER_CHARS, operation=False):
            yield f"parameters.{parameter.name}", sentence
            if len(sentence.text) >= MIN_SENTENCE_CHARS:
                break


def _camel_case_inputs(tool: Tool) -> frozenset[str]:
    """Return the camel-case names of inputs in lower case; in prose such a word is the input, not an object."""
    return frozenset(p.name.lower() for p in tool.parameters if _CAMEL_CASE.search(p.name))


def _lemma_index(ontology: Ontology) -> Mapping[str, str]:
    """Map from the base forms of a predicate's name or synonym to the predicate: "sends to" matches the synonym "sent to"."""
    index: dict[str, str] = {}
    for predicate in ontology.predicates.values():
        for phrase in (predicate.name, *predicate.synonyms):
            index.setdefault(_lemmas(phrase), predicate.name)
    return index


def _lemmas(phrase: str) -> str:
    return " ".join(verb_lemma(word) for word in words(phrase))
