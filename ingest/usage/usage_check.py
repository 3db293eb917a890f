"""Check a line of a model against the document of its tool: what the line names must be there."""

from __future__ import annotations

import re
from functools import cache, lru_cache

from ingest.extract.document_fields import document_texts
from ingest.extract.vocabulary import action
from ingest.linking.tool_subjects import action_of
from ingest.usage.usage_rules import bound_text, general_words, synonyms, verb_words
from ontology.names import is_noun, is_word, noun_lemma, verb_lemma, words
from ontology.stop_words import stop_words
from ontology.tool import Tool

__all__ = ["MAX_LINE_CHARS", "DocumentVocabulary"]

MAX_LINE_CHARS = 240
_WRITES = frozenset(("create", "update", "delete"))
_IDENTIFIER = re.compile(r"\b(?:\w+_\w+|[a-z]+[a-z0-9]*[A-Z]\w*)\b|`[^`]+`|\{[^{}]*\}")
_NAME = re.compile(r"(?<=[\w,;:)] )[A-Z][\w-]+")  # a capital inside a sentence
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


class DocumentVocabulary:
    """The words of one document, and what they support."""

    def __init__(self, tool: Tool) -> None:
        self._text = "\n".join(_texts(tool))
        self._folded = self._text.lower()
        found = set(words(self._text))
        lemmas = {form for word in found for form in _forms(word)}
        self._words = lemmas.union(*(synonyms(lemma) | verb_words(lemma) for lemma in lemmas))

    def fault(self, line: str) -> str:
        """Return why the document does not support a line, or empty: ``KIND: WORD``.

        A line may have the words of the document, their synonyms, and plain English. It may not name other parameters, names,
        numbers or things, and no other change than those of the document.
        """
        if not line.strip() or len(line) > MAX_LINE_CHARS or not words(line):
            return "bad-length"
        for kind, pattern in (("unknown-parameter", _IDENTIFIER), ("unknown-number", _NUMBER)):
            for match in pattern.finditer(line):
                if match[0].strip("`{}").lower() not in self._folded:
                    return f"{kind}: {match[0]}"
        for match in _NAME.finditer(line):
            if match[0] != "I" and not self._has(match[0].lower()):
                return f"unknown-name: {match[0]}"
        for word in words(line):
            if not self._has(word) and (kind := _unsupported(word)):
                return f"{kind}: {word}"
        return ""

    def _has(self, word: str) -> bool:
        return not self._words.isdisjoint(_forms(word)) or all(part in self._words for part in word.split("-"))


def _texts(tool: Tool) -> list[str]:
    """The texts of the document, and the bounds of its inputs."""
    bounds = [bound_text(value) for parameter in tool.parameters for _, value in parameter.bounds]
    return [*document_texts(tool), *bounds]


@lru_cache(maxsize=1 << 16)
def _forms(word: str) -> frozenset[str]:
    return frozenset((word, noun_lemma(word), verb_lemma(word)))


@lru_cache(maxsize=1 << 14)
def _unsupported(word: str) -> str:
    """Return the kind of a word that a document must have, or empty for plain English."""
    if _is_general(word):
        return ""
    if action_of(action(word)) in _WRITES:
        return "other-action"
    if is_word(word) and not is_noun(noun_lemma(word)):
        return ""
    return "unknown-thing"


def _is_general(word: str) -> bool:
    """Whether a word is one of requests in general, whatever they are about."""
    return not _general().isdisjoint(_forms(word))


@cache
def _general() -> frozenset[str]:
    return general_words().union(*(stop_words(use) for use in ("index", "validation", "plain_words", "name_edges")))
