"""The words of a catalogue's documents, as lemmas, to find out what no tool mentions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from datagen.generation.common_words import is_plain_word
from datagen.profiled_catalogue import ProfiledCatalogue
from ontology.names import noun_lemma, verb_lemma, words
from ontology.stop_words import stop_words
from ontology.tool import Tool

__all__ = ["DocumentWords", "Signed", "lemmas"]

_READ_CHARS = 4_000
_MIN_CHARS = 3  # of an ASCII word: shorter ones are words of many languages
# Found on 35 documents in eight other languages, made for this, and on 15 open sets of English ones, those of real programs (4,621 tools)
# and the shipped company (312). The plain share of all of the first is below 0.35. Of the others with enough words six are: they are in
# Vietnamese, Spanish, Japanese and French. Shorter ones may be a name or an abbreviation ("Geocode", "WOs") or missing, and at most 1.3 %
# of a set are below 0.4.
_FOREIGN = 0.35
_FOREIGN_WORDS = 4
_DOUBTFUL = 0.4
_MAX_DOUBTFUL = 0.2
_FUNCTION_WORDS = stop_words("index")


def lemmas(text: str) -> frozenset[str]:
    """The words of a text as they stand, as nouns and as verbs."""
    return _lemmas(words(text))


def _lemmas(tokens: Iterable[str]) -> frozenset[str]:
    found = set(tokens)
    return frozenset({*found, *map(noun_lemma, found), *map(verb_lemma, found)})


def _nouns(tokens: Iterable[str]) -> frozenset[str]:
    found = set(tokens)
    return frozenset({*found, *map(noun_lemma, found)})


def _said(tool: Tool) -> list[str]:
    """The words of a description, or else of the name."""
    return _spelled(tool.description[:_READ_CHARS]) or _spelled(tool.name)


def _spelled(text: str) -> list[str]:
    return [word for word in words(text) if word.isalpha() and (len(word) >= _MIN_CHARS or not word.isascii())]


def _plain_share(said: Sequence[str]) -> float:
    """The share of plain English in words, by letters: some scripts put no space between words."""
    plain = sum(len(word) for word in said if word in _FUNCTION_WORDS or is_plain_word(word))
    return plain / (sum(map(len, said)) or 1)


def _is_foreign(said: Sequence[str], share: float) -> bool:
    return share < _FOREIGN and (len(said) >= _FOREIGN_WORDS or not all(map(str.isascii, said)))


class Signed(NamedTuple):
    """A tool whose document has a sign."""

    sign: str
    tool: str


class DocumentWords:
    """The words of each tool's name and of its whole document: description, inputs, their values, outputs, metadata."""

    def __init__(self, catalogue: ProfiledCatalogue) -> None:
        self._catalogue = catalogue
        self.names = {tool.id: lemmas(_name(tool)) for tool in catalogue.tools}
        """Map from tool to the lemmas of its name."""
        self.documents = {tool.id: _lemmas(_words(tool)) for tool in catalogue.tools}
        """Map from tool to the lemmas of its document."""

    @cached_property
    def unread(self) -> str:
        """Why the words of the documents do not tell what the tools are for, one sentence; empty where they do.

        The signs and words that documents are searched for are English. A document in another language, or of names that are
        no words, has none of them whatever its tool does.
        """
        said = {tool.id: _said(tool) for tool in self._catalogue.tools}
        shares = {tool: _plain_share(each) for tool, each in said.items()}
        foreign = next((tool for tool, share in shares.items() if _is_foreign(said[tool], share)), "")
        if foreign:
            return f"requests that no tool serves are left out: the document of {foreign} is not in plain English"
        doubtful = sum(share < _DOUBTFUL for share in shares.values())
        if doubtful > _MAX_DOUBTFUL * len(shares):
            return (
                f"requests that no tool serves are left out: the documents of {doubtful:,} of {len(shares):,} tools have few "
                "words of plain English"
            )
        return ""

    def hinted(self, hints: Iterable[str]) -> str:
        """Two hints in the document of one tool, with the tool; or empty."""
        wanted = frozenset(hints)
        for tool, document in self._nouns.items():
            if len(said := sorted(wanted & document)) > 1:
                return f"{said[0]!r} and {said[1]!r} in {tool}"
        return ""

    @cached_property
    def _nouns(self) -> Mapping[str, frozenset[str]]:
        return {tool.id: _nouns(_words(tool)) for tool in self._catalogue.tools}

    def sign(self, signs: Iterable[str]) -> str:
        """The first sign that a document has, or empty; see :meth:`signed`."""
        found = self.signed(signs)
        return found.sign if found else ""

    def signed(self, signs: Iterable[str]) -> Signed | None:
        """The first sign that a document has, with the first tool that has it; None for none.

        A sign is compared as a noun; one of several words must stand in one document, one word after the other.
        """
        return next((Signed(sign, tool) for sign in signs if (tool := self._first(sign)) is not None), None)

    def _first(self, sign: str) -> str | None:
        if " " not in sign:
            having = (tool for tool, nouns in self._nouns.items() if sign in nouns) if sign in self._all else iter(())
            return next(having, None)
        sought = _as_nouns(words(sign))
        return next((tool for tool, text in self._texts.items() if sought in text), None)

    @cached_property
    def _all(self) -> frozenset[str]:
        return frozenset[str]().union(*self._nouns.values())

    @cached_property
    def _texts(self) -> Mapping[str, str]:
        return {tool.id: _as_nouns(_words(tool)) for tool in self._catalogue.tools}


def _as_nouns(tokens: Sequence[str]) -> str:
    """The words as nouns in the singular, with a blank around each."""
    return f" {' '.join(map(noun_lemma, tokens))} "


def _name(tool: Tool) -> str:
    return f"{tool.id} {tool.name} {tool.title}"


def _words(tool: Tool) -> list[str]:
    """The words of a whole document, field by field: of one text only the beginning is split into words."""
    parts = [tool.id, tool.name, tool.title, tool.description, *map(str, tool.metadata.values())]
    for parameter in (*tool.parameters, *tool.returns):
        parts += [parameter.name, parameter.description, *parameter.enum]
    return [word for part in parts for word in words(part)]
