"""Noun phrases: the objects that a sentence of a tool's document names, without words that name nothing."""

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
    """A noun phrase as written, without words that name nothing.

    :param name: its words, up to four.
    :param core: the nouns at its end (``email reminder`` of ``automated email reminder``); the name where it has no adjective.
    :param start: first character in the text it was found in.
    :param end: one past its last character.
    :param core_start: first character of the core.
    """

    name: str
    core: str
    start: int
    end: int
    core_start: int

    def moved(self, by: int) -> Phrase:
        """The phrase at other positions."""
        return Phrase(
            name=self.name, core=self.core, start=self.start + by, end=self.end + by, core_start=self.core_start + by
        )


class PlainPhrase(NamedTuple):
    """A noun phrase and its place in the text."""

    name: str
    start: int
    end: int


class _Word(NamedTuple):
    """A word with its hyphenated parts, its place in the text and its tag."""

    text: str
    start: int
    end: int
    tag: str


def noun_phrases(doc: Any, lead: int) -> dict[int, Phrase]:
    """Head token → phrase, for a parsed sentence.

    :param doc: a spaCy Doc with tags and a parse.
    :param lead: characters of the subject that was put before the sentence; its tokens are no phrases.
    """
    found: dict[int, Phrase] = {}
    text = doc.text
    for token in doc:
        if token.idx < lead or token.tag_ not in _NOUN_TAGS or _inside_compound(token, doc):
            continue
        if token.lower_ == "order" and token.dep_ == "pobj" and token.i and doc[token.i - 1].lower_ == "in":
            continue  # "in order to"
        if _quoted(token, text):
            continue
        phrase = _phrase(doc, text, _leftmost(token, doc, lead), token)
        if phrase is not None:
            found[token.i] = phrase
    return found


def resolve(token: Any, phrases: dict[int, Phrase], depth: int = _MAX_DEPTH) -> Phrase | None:
    """The phrase that a token heads; for a head that only counts or contains ("a list of orders"), the phrase behind it."""
    if token.i in phrases:
        return phrases[token.i]
    if depth and (noun_lemma(token.lower_) in TRANSPARENT_HEADS or token.lower_ in TRANSPARENT_HEADS):
        for child in token.children:
            if child.dep_ == "prep" and child.lower_ in _ABOUT:
                for held in child.children:
                    if held.dep_ == "pobj":
                        return resolve(held, phrases, depth - 1)
    return None


def clean_phrase(tokens: Sequence[str]) -> tuple[int, int]:
    """The part ``[start, end)`` of a noun phrase's words that names something; ``start == end`` when none does."""
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
    """Noun phrases found without a parser: runs of words between stop words and verbs that end in a known noun."""
    for run in _RUN.finditer(text):
        group: list[re.Match[str]] = []
        for word in [*re.finditer(r"\S+", run[0]), None]:
            if word is not None and word[0].lower() not in STOP_WORDS and not action(word[0]):
                group.append(word)
                continue
            start, end = clean_phrase([member[0] for member in group])
            if end > start and is_noun(noun_lemma(group[end - 1][0].lower())):
                a, b = run.start() + group[start].start(), run.start() + group[end - 1].end()
                yield PlainPhrase(text[a:b], a, b)
            group = []


def _names_nothing(tokens: Sequence[str]) -> bool:
    """Whether the words name no business object: all are generic, or a single one is neither a known noun nor capitalised."""
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
    """Whether a single word stands in quotes: a literal such as 'JFK', not an object."""
    end = token.idx + len(token.text)
    return text[token.idx - 1 : token.idx] in _QUOTES and text[end : end + 1] in _QUOTES


def _inside_compound(token: Any, doc: Any) -> bool:
    """Whether a following noun of the same phrase is the head."""
    following = token.i + 1
    while following < len(doc) and doc[following].tag_ == "HYPH":
        following += 1
    if following >= len(doc) or doc[following].tag_ not in _NOUN_TAGS:
        return False
    if following > token.i + 1:
        return True  # "sub-region"
    return token.dep_ in ("compound", "nmod", "amod", "nummod", "npadvmod") and token.head.i > token.i


def _leftmost(head: Any, doc: Any, lead: int) -> int:
    first: int = head.i
    while first > 0:
        previous = doc[first - 1]
        if previous.idx < lead:
            break
        if previous.tag_ == "HYPH" and first > 1 and doc[first - 2].idx >= lead:
            first -= 2
            continue
        governed = previous.head.i == head.i or first <= previous.head.i < head.i
        modifies = previous.tag_ in _MODIFIER_TAGS or previous.dep_ == "compound"
        if not modifies or not governed or previous.dep_ in ("appos", "nsubj", "conj", "dobj"):
            break
        first -= 1
    return first


def _phrase(doc: Any, text: str, first: int, head: Any) -> Phrase | None:
    words = _joined(doc, first, head.i)
    start, end = clean_phrase([word.text for word in words])
    while end > start and words[end - 1].tag not in _NOUN_TAGS:
        end -= 1  # "external" of "external identifier records": the rest when the empty heads are removed
    if end <= start or _names_nothing([word.text for word in words[start:end]]):
        return None
    if all(_in(word.text.lower(), GENERIC_HEADS) for word in words[start:end] if word.tag in _NOUN_TAGS):
        return None  # "immediate attention": an adjective makes no object of a word that names none
    core = end - 1
    while core > start and _in_core(words[core - 1]):
        core -= 1
    core_start, core_end = clean_phrase([word.text for word in words[core:end]])
    # "open orders" has a core, "live result" none of its own.
    inner = core + core_start if core_end > core_start else start
    begin, until = words[start].start, words[end - 1].end
    return Phrase(
        name=" ".join(text[begin:until].split()),
        core=" ".join(text[words[inner].start : until].split()),
        start=begin,
        end=until,
        core_start=words[inner].start,
    )


def _in_core(word: _Word) -> bool:
    """Whether a modifier belongs to the name: a noun, or an adjective that is one too (rental service, human agent)."""
    text = word.text.lower()
    return text not in STOP_WORDS and (word.tag in _NOUN_TAGS or (word.tag == "JJ" and is_noun(text)))


def _joined(doc: Any, first: int, last: int) -> list[_Word]:
    """The words of a phrase, hyphenated ones in one piece."""
    joined: list[_Word] = []
    for token in doc[first : last + 1]:
        until = token.idx + len(token.text)
        hyphen = token.tag_ == "HYPH"
        before = joined[-1] if joined else None
        if before is not None and before.end == token.idx and (hyphen or before.text.endswith("-")):
            tag = before.tag if hyphen else token.tag_
            joined[-1] = _Word(before.text + token.text, before.start, until, tag)
        else:
            # "to team members": the parser takes "team" for a verb.
            tag = "NN" if token.dep_ == "compound" else token.tag_
            joined.append(_Word(token.text, token.idx, until, tag))
    # "high-priority" is a modifier whatever its last part is.
    return [word._replace(tag="JJ") if "-" in word.text else word for word in joined[:-1]] + joined[-1:]


def _is_word(text: str) -> bool:
    return _WORD.match(text) is not None and "_" not in text and len(text) <= _MAX_WORD_CHARS and not text[0].isdigit()


def _in(word: str, words: frozenset[str]) -> bool:
    """Whether a word is in a list, as it is or in its base form."""
    return word in words or noun_lemma(word) in words


def _is_proper(word: str) -> bool:
    return word[0].isupper() and word.isalpha() and len(word) > 2
