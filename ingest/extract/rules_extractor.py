"""The ``rules`` extractor: triples from the structure and the language of tool documents, with no model to ask."""

from __future__ import annotations

import hashlib
import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import replace
from itertools import islice
from multiprocessing import get_context

from ingest.extract.extractor import Extraction
from ingest.extract.noun_phrases import Phrase
from ingest.extract.relations import Capability, Finding, Relation
from ingest.extract.sentences import MAX_DESCRIPTION_CHARS, MAX_PARAMETER_CHARS, Sentence, sentences
from ingest.extract.spacy_parser import Language, find_model
from ingest.extract.structure import structural_triples
from ingest.extract.titles import Title, read_path, read_title
from ingest.extract.triple_rules import finish
from ontology.errors import InvalidArgumentError
from ontology.names import verb_lemma, words
from ontology.ontology import Ontology
from ontology.tool import Tool
from ontology.triple import Provenance, Triple

__all__ = ["MAX_PARSED_PARAMETERS", "RulesExtractor"]

_NAME = "rules.v1"
MAX_PARSED_PARAMETERS = 40  # inputs whose descriptions are parsed; the structure of all is read
_CHUNK = 256  # tools whose sentences are parsed together, and the unit of work of a process
# Up to so many tools, starting processes that each load the model takes longer than reading.
_WORTH_SHARING = 3 * _CHUNK
_TITLE, _DESCRIPTION, _PARAMETER = 0.8, 0.7, 0.5  # how sure an entity is, by where it is named
_CAPABILITY_IN_TITLE, _CAPABILITY_IN_TEXT = 0.85, 0.8
_PARAMETER_DISCOUNT = 0.8
_PART_DISCOUNT = 0.05
_LABEL_CHARS = 30
_HUMP = re.compile(r"[a-z][A-Z]")
_KNOWN_BONUS = 0.1


class RulesExtractor:
    """Reads triples by rules: deterministic, offline, each tool from its own document alone.

    Of a description the sentences in its first 600 characters are parsed; of an input's description, for 40 inputs a tool, the
    first sentence (after a mere label the next ones too) within 200 characters, and outputs' descriptions not at all. What is
    declared is read in full.

    :param workers: processes to share the work; the output is the same for any number, in order.
    :param model: package name of the spaCy model, or None for the first one installed, or empty for none.
    """

    def __init__(self, ontology: Ontology, *, workers: int = 1, model: str | None = None) -> None:
        if workers < 1:
            raise InvalidArgumentError(
                f"workers must be at least 1, not {workers}", subject="workers", remedy="Use 1 or more processes"
            )
        self._ontology = ontology
        self._workers = workers
        self._model, self._version = find_model() if model is None else (model, find_model([model])[1] if model else "")
        self._reader: _Reader | None = None

    @property
    def name(self) -> str:
        """Versioned name."""
        return _NAME

    @property
    def fingerprint(self) -> str:
        """Changes with the rules' version, the ontology, the language model and the limits."""
        limits = (MAX_DESCRIPTION_CHARS, MAX_PARAMETER_CHARS, MAX_PARSED_PARAMETERS)
        said = repr((_NAME, self._ontology.digest, self._model, self._version, limits))
        return hashlib.sha256(said.encode()).hexdigest()

    def extract(self, tools: Sequence[Tool]) -> Iterator[Extraction]:
        """One Extraction for each tool, in order."""
        chunks = (tools[start : start + _CHUNK] for start in range(0, len(tools), _CHUNK))
        if self._workers == 1 or len(tools) <= _WORTH_SHARING:
            self._reader = self._reader or _Reader(self._ontology, self._model)
            for chunk in chunks:
                yield from self._reader.read(chunk)
            return
        yield from self._shared_out(chunks)

    def _shared_out(self, chunks: Iterator[Sequence[Tool]]) -> Iterator[Extraction]:
        pool = ProcessPoolExecutor(
            self._workers, mp_context=get_context("spawn"), initializer=_start, initargs=(self._ontology, self._model)
        )
        with pool:
            # Only a few chunks are under way at any time, so a slow consumer holds no more than those.
            running: deque[Future[list[Extraction]]] = deque(
                pool.submit(_work, chunk) for chunk in islice(chunks, 2 * self._workers)
            )
            try:
                while running:
                    done = running.popleft().result()
                    running.extend(pool.submit(_work, chunk) for chunk in islice(chunks, 1))
                    yield from done
            finally:
                for future in running:
                    future.cancel()


_worker: list[_Reader] = []


def _start(ontology: Ontology, model: str) -> None:
    _worker[:] = [_Reader(ontology, model)]


def _work(chunk: Sequence[Tool]) -> list[Extraction]:
    return list(_worker[0].read(chunk))


class _Reader:
    """Reads chunks of tools with one language model."""

    def __init__(self, ontology: Ontology, model: str) -> None:
        self.ontology = ontology
        self.language = Language(model)
        self.predicates = _lemma_index(ontology)

    def read(self, tools: Sequence[Tool]) -> Iterator[Extraction]:
        spoken = [list(_sentences(tool)) for tool in tools]
        found = self.language.read(sentence for listed in spoken for _, sentence in listed)
        for tool, listed in zip(tools, spoken, strict=True):
            said = [
                *structural_triples(tool, self.ontology, _NAME),
                *self._of_title(tool),
                *(
                    triple
                    for field, sentence in listed
                    for triple in self._of_sentence(tool, field, sentence, found[sentence.text, sentence.lead])
                ),
            ]
            yield finish(tool, said, self.ontology)

    def _of_title(self, tool: Tool) -> Iterator[Triple]:
        for field, title in self._titles(tool):
            for thing in (title.target, *title.others):
                if thing:
                    yield self._triple(tool, field, (tool.id, "tool", "has_entity", thing, "business_object"), _TITLE)
            for capability in title.capabilities:
                yield from self._capability(tool, field, capability, title.target, _CAPABILITY_IN_TITLE, (-1, -1))

    def _titles(self, tool: Tool) -> Iterator[tuple[str, Title]]:
        """The names written as code or as a path; those written as prose are parsed."""
        path = read_path(tool)
        if path is not None:
            yield "metadata.path", path
        elif " " not in tool.name.strip():
            yield "name", read_title(tool.name, self.ontology.abbreviations)
        title = tool.metadata.get("title")
        if isinstance(title, str) and title and title != tool.name and " " not in title.strip():
            yield "metadata.title", read_title(title, self.ontology.abbreviations)

    def _of_sentence(self, tool: Tool, field: str, sentence: Sentence, finding: Finding) -> Iterator[Triple]:
        sure = _PARAMETER if field.startswith("parameters.") else _DESCRIPTION if field == "description" else _TITLE
        at = sentence.start
        spelled = _humped(tool)
        for phrase in finding.phrases:
            if spelled.isdisjoint(phrase.name.lower().split()):
                yield from self._entity(tool, field, phrase, sure, at)
        if sure != _PARAMETER:
            for capability in finding.capabilities:
                yield from self._said_capability(tool, field, capability, at)
        for relation in finding.relations:
            if spelled.isdisjoint(f"{relation.head} {relation.tail}".lower().split()):
                yield self._relation(tool, field, relation, _PARAMETER_DISCOUNT if sure == _PARAMETER else 1.0, at)

    def _entity(self, tool: Tool, field: str, phrase: Phrase, sure: float, at: int) -> Iterator[Triple]:
        ends = (tool.id, "tool", "has_entity", phrase.name, "business_object")
        yield self._triple(tool, field, ends, sure, span=(at + phrase.start, at + phrase.end))
        if phrase.core != phrase.name:
            ends = (tool.id, "tool", "has_entity", phrase.core, "business_object")
            span = (at + phrase.core_start, at + phrase.end)
            yield self._triple(tool, field, ends, round(sure - _PART_DISCOUNT, 2), span=span)

    def _said_capability(self, tool: Tool, field: str, capability: Capability, at: int) -> Iterator[Triple]:
        span = (at + capability.start, at + capability.end)
        yield from self._capability(tool, field, capability.name, capability.target, _CAPABILITY_IN_TEXT, span)

    def _capability(
        self, tool: Tool, field: str, name: str, target: str, sure: float, span: tuple[int, int]
    ) -> Iterator[Triple]:
        yield self._triple(tool, field, (tool.id, "tool", "has_capability", name, "capability"), sure, span=span)
        yield self._triple(tool, field, (name, "capability", "acts_on", target, "business_object"), sure, span=span)

    def _relation(self, tool: Tool, field: str, relation: Relation, share: float, at: int) -> Triple:
        predicate = next(filter(None, map(self._predicate, relation.spoken)), "")
        sure = relation.confidence + _KNOWN_BONUS if predicate else relation.confidence - _KNOWN_BONUS
        ends = (relation.head, "business_object", predicate or self.ontology.fallback, relation.tail, "business_object")
        span = (at + relation.start, at + relation.end)
        return self._triple(tool, field, ends, round(sure * share, 2), span=span, phrase=relation.spoken[0])

    def _predicate(self, phrase: str) -> str:
        """The predicate that a phrase means, if it may stand between two business objects."""
        name = self.ontology.predicate_for(phrase) or self.predicates.get(_lemmas(phrase), "")
        return name if name and self.ontology.allows("business_object", name, "business_object") else ""

    def _triple(
        self,
        tool: Tool,
        field: str,
        ends: tuple[str, str, str, str, str],
        sure: float,
        *,
        span: tuple[int, int] = (-1, -1),
        phrase: str = "",
    ) -> Triple:
        head, head_type, predicate, tail, tail_type = ends
        return Triple(
            head=head,
            head_type=head_type,
            predicate=predicate,
            tail=tail,
            tail_type=tail_type,
            confidence=sure,
            provenance=Provenance(tool.id, field, _NAME, *span),
            phrase=phrase,
        )


def _sentences(tool: Tool) -> Iterator[tuple[str, Sentence]]:
    for field, text in (("name", tool.name), ("metadata.title", tool.metadata.get("title"))):
        if isinstance(text, str) and " " in text.strip():
            # "Service: Operation" - the service is metadata of its own.
            operation = text.rpartition(": ")[2]
            cut = len(text) - len(operation)
            for sentence in sentences(operation, MAX_PARAMETER_CHARS):
                yield field, replace(sentence, start=sentence.start + cut)
    for sentence in sentences(tool.description, MAX_DESCRIPTION_CHARS):
        yield "description", sentence
    for parameter in tool.parameters[:MAX_PARSED_PARAMETERS]:
        # The first sentence says what the input is, the others how to write it; a label is no sentence.
        for sentence in sentences(parameter.description, MAX_PARAMETER_CHARS, operation=False):
            yield f"parameters.{parameter.name}", sentence
            if len(sentence.text) >= _LABEL_CHARS:
                break


def _humped(tool: Tool) -> frozenset[str]:
    """Names of inputs written in camel case, in lower case: in prose they stand for the input, not for a thing."""
    return frozenset(p.name.lower() for p in tool.parameters if _HUMP.search(p.name))


def _lemma_index(ontology: Ontology) -> Mapping[str, str]:
    """Names and synonyms of predicates by the base forms of their words: "sent to" also answers for "sends to"."""
    index: dict[str, str] = {}
    for predicate in ontology.predicates.values():
        for phrase in (predicate.name, *predicate.synonyms):
            index.setdefault(_lemmas(phrase), predicate.name)
    return index


def _lemmas(phrase: str) -> str:
    return " ".join(verb_lemma(word) for word in words(phrase))
