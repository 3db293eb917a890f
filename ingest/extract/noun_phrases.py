"""Noun phrases of a sentence in a tool's document, without words that do not name an object."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ingest.extract.vocabulary import GENERIC_HEADS, STOP_WORDS, TRANSPARENT_HEADS, action, vocabulary
from ontology.names import canonical_name, is_noun, noun_lemma

__all__ = ["Phrase", "clean_phrase", "noun_phrases", "plain_phrases", "resolve"]

_NOUN_TAGS = frozenset(("NN", "NNS", "NNP", "NNPS"))
_MODIFIER_TAGS = _NOUN_TAGS | frozenset(("JJ", "JJR", "JJS", "VBN", "VBG", "AFX"))
_ABOUT = frozenset(("of", "about", "for", "on", "regarding", "containing"))
_EMPTY_HEADS = vocabulary("empty_heads")
_WORD = re.compile(r"[^\W_][\w.+]*(?:[-/&'’][\w.+]+)*\Z")
_RUN = re.compile(r"[^\W\d_][\w-]*(?:[ \t]+[^\W\d_][\w-]*)*")
_MAX_WORDS = 4
_QUOTES = ("'", '"', "’", "‘")
_HTTP_METHODS = frozenset(("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"))
_MAX_WORD_CHARS = 30
_LONGEST_ACRONYM = 6
_MAX_DEPTH = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Phrase:
    """A noun phrase in its original spelling, without words that do not name an object.

    :param name: its words, at most four.
    :param core: the nouns at its end (``email reminder`` of ``automated email reminder``); the name where it has no adjective.
    :param start: index of its first character in the text.
    :param end: one past the index of its last character.
    :param core_start: index of the first character of the core.
    """

    name: str
    core: str
    start: int
    end: int
    core_start: int

    def shifted(self, by: int) -> Phrase:
        """Return the phrase with its positions shifted by a number of characters."""
        return Phrase(
            name=self.name, core=self.core, start=self.start + by, end=self.end + by, core_start=self.core_start + by
        )


class PlainPhrase(NamedTuple):
    """A noun phrase and its span ``[start, end)`` in the text."""

    name: str
    start: int
    end: int


class _Word(NamedTuple):
    """A word with its hyphenated parts, its span ``[start, end)`` in the text and its part-of-speech tag."""

    text: str
    start: int
    end: int
    tag: str


def noun_phrases(doc: Any, prefix_chars: int) -> dict[int, Phrase]:
    """Map from the index of the head token to its phrase, for a parsed sentence.

    :param doc: a spaCy Doc with tags and a dependency parse.
    :param prefix_chars: length of the subject inserted before the sentence; its tokens are no phrases.
    """
    found: dict[int, Phrase] = {}
    text = doc.text
    for token in doc:
        if token.idx < prefix_chars or token.tag_ not in _NOUN_TAGS or _inside_compound(token, doc):
            continue
        if token.lower_ == "order" and token.dep_ == "pobj" and token.i and doc[token.i - 1].lower_ == "in":
            continue  # "in order to"
        if _quoted(token, text):
            continue
        phrase = _phrase(doc, text, _leftmost(token, doc, prefix_chars), token)
        if phrase is not None:
            found[token.i] = phrase
    return found


def resolve(token: Any, phrases: dict[int, Phrase], depth: int = _MAX_DEPTH) -> Phrase | None:
    """Return the phrase with this head token; for a container noun ("a list of orders") the phrase after it; else None."""
    if token.i in phrases:
        return phrases[token.i]
    if depth and (noun_lemma(token.lower_) in TRANSPARENT_HEADS or token.lower_ in TRANSPARENT_HEADS):
        for child in token.children:
            if child.dep_ == "prep" and child.lower_ in _ABOUT:
                for grandchild in child.children:
                    if grandchild.dep_ == "pobj":
                        return resolve(grandchild, phrases, depth - 1)
    return None


def clean_phrase(tokens: Sequence[str]) -> tuple[int, int]:
    """Return the range ``[start, end)`` of a noun phrase's words that name an object; an empty range when none do."""
    start, end = 0, len(tokens)
    while start < end and (tokens[start].lower() in STOP_WORDS or not _is_word(tokens[start])):
        start += 1
    for position in range(start, end):
        if not _is_word(tokens[position]):
            end = position if position > start else start
            break
    while end - start > 1 and _in(tokens[end - 1].lower(), _EMPTY_HEADS):
        end -= 1
    start = max(start, end - _MAX_WORDS)
    return (0, 0) if _names_nothing(tokens[start:end]) else (start, end)


def plain_phrases(text: str) -> Iterator[PlainPhrase]:
    """Yield noun phrases without a parser: sequences of words between stop words and verbs that end in a known noun."""
    for run in _RUN.finditer(text):
        group: list[re.Match[str]] = []
        for word in [*re.finditer(r"\S+", run[0]), None]:
            if word is not None and word[0].lower() not in STOP_WORDS and not action(word[0]):
                group.append(word)
                continue
            start, end = clean_phrase([member[0] for member in group])
            if end > start and is_noun(noun_lemma(group[end - 1][0].lower())):
                first, last = run.start() + group[start].start(), run.start() + group[end - 1].end()
                yield PlainPhrase(text[first:last], first, last)
            group = []


def _names_nothing(tokens: Sequence[str]) -> bool:
    """Whether the words name no business object: all are generic, or the only word is neither a known noun nor capitalised."""
    words = [token.lower() for token in tokens if token not in _HTTP_METHODS]
    if all(_in(word, GENERIC_HEADS) or word in STOP_WORDS for word in words):
        return True
    if len(words) > 1:
        return False
    if tokens[-1].isupper() and len(words[0]) > _LONGEST_ACRONYM:
        return True  # a literal
    known = len(words[0]) > 2 and is_noun(canonical_name(words[0]).rpartition(" ")[2])
    return not known and not _is_proper(tokens[-1])


def _quoted(token: Any, text: str) -> bool:
    """Whether a single word is in quotes: a literal such as 'JFK', not an object."""
    end = token.idx + len(token.text)
    return text[token.idx - 1 : token.idx] in _QUOTES and text[end : end + 1] in _QUOTES


def _inside_compound(token: Any, doc: Any) -> bool:
    """Whether a later noun of the same phrase is the head."""
    following = token.i + 1
    while following < len(doc) and doc[following].tag_ == "HYPH":
        following += 1
    if following >= len(doc) or doc[following].tag_ not in _NOUN_TAGS:
        return False
    if following > token.i + 1:
        return True  # "sub-region"
    return token.dep_ in ("compound", "nmod", "amod", "nummod", "npadvmod") and token.head.i > token.i


def _leftmost(head: Any, doc: Any, prefix_chars: int) -> int:
    first: int = head.i
    while first > 0:
        previous = doc[first - 1]
        if previous.idx < prefix_chars:
            break
        if previous.tag_ == "HYPH" and first > 1 and doc[first - 2].idx >= prefix_chars:
            first -= 2
            continue
        governed = previous.head.i == head.i or first <= previous.head.i < head.i
        modifies = previous.tag_ in _MODIFIER_TAGS or previous.dep_ == "compound"
        if not modifies or not governed or previous.dep_ in ("appos", "nsubj", "conj", "dobj"):
            break
        first -= 1
    return first


def _phrase(doc: Any, text: str, first: int, head: Any) -> Phrase | None:
    words = _words(doc, first, head.i)
    start, end = clean_phrase([word.text for word in words])
    while end > start and words[end - 1].tag not in _NOUN_TAGS:
        end -= 1  # "external identifier records" without its empty heads is "external", which is no noun
    if end <= start or _names_nothing([word.text for word in words[start:end]]):
        return None
    if all(_in(word.text.lower(), GENERIC_HEADS) for word in words[start:end] if word.tag in _NOUN_TAGS):
        return None  # "immediate attention": a generic noun with an adjective names no object either
    core = end - 1
    while core > start and _in_core(words[core - 1]):
        core -= 1
    core_start, core_end = clean_phrase([word.text for word in words[core:end]])
    # "open orders" has the core "orders"; "live result" has no core, because "result" is generic.
    inner = core + core_start if core_end > core_start else start
    first_char, end_char = words[start].start, words[end - 1].end
    return Phrase(
        name=" ".join(text[first_char:end_char].split()),
        core=" ".join(text[words[inner].start : end_char].split()),
        start=first_char,
        end=end_char,
        core_start=words[inner].start,
    )


def _in_core(word: _Word) -> bool:
    """Whether a modifier is part of the core: a noun, or an adjective that is also a noun (rental service, human agent)."""
    text = word.text.lower()
    return text not in STOP_WORDS and (word.tag in _NOUN_TAGS or (word.tag == "JJ" and is_noun(text)))


def _words(doc: Any, first: int, last: int) -> list[_Word]:
    """Return the words of a phrase; the parts of a hyphenated word are one word."""
    words: list[_Word] = []
    for token in doc[first : last + 1]:
        end = token.idx + len(token.text)
        hyphen = token.tag_ == "HYPH"
        previous = words[-1] if words else None
        if previous is not None and previous.end == token.idx and (hyphen or previous.text.endswith("-")):
            tag = previous.tag if hyphen else token.tag_
            words[-1] = _Word(previous.text + token.text, previous.start, end, tag)
        else:
            # "to team members": the parser tags "team" as a verb.
            tag = "NN" if token.dep_ == "compound" else token.tag_
            words.append(_Word(token.text, token.idx, end, tag))
    # "high-priority" is a modifier, whatever the tag of its last part.
    return [word._replace(tag="JJ") if "-" in word.text else word for word in words[:-1]] + words[-1:]


def _is_word(text: str) -> bool:
    return _WORD.match(text) is not None and "_" not in text and len(text) <= _MAX_WORD_CHARS and not text[0].isdigit()


def _in(word: str, words: frozenset[str]) -> bool:
    """Whether a word or its singular is in a list."""
    return word in words or noun_lemma(word) in words


def _is_proper(word: str) -> bool:
    return word[0].isupper() and word.isalpha() and len(word) > 2
