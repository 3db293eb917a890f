"""Noun phrases: the things that a sentence of a tool's document speaks of, cleaned of what names nothing."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from ingest.extract.word_lists import GENERIC_HEADS, STOP_WORDS, TRANSPARENT_HEADS, action
from ontology.names import canonical_name, is_noun, noun_lemma

__all__ = ["Phrase", "clean_phrase", "noun_phrases", "plain_phrases", "resolve", "says_nothing"]

_NOUN_TAGS = frozenset(("NN", "NNS", "NNP", "NNPS"))
_MODIFIER_TAGS = _NOUN_TAGS | frozenset(("JJ", "JJR", "JJS", "VBN", "VBG", "AFX"))
_ABOUT = frozenset(("of", "about", "for", "on", "regarding", "containing"))
_WORD = re.compile(r"[^\W_][\w.+]*(?:[-/&'’][\w.+]+)*\Z")
_MAX_WORDS = 4
_QUOTES = ("'", '"', "’", "‘")
_HTTP_METHODS = frozenset(("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"))
_MAX_WORD_CHARS = 30
_LONGEST_ACRONYM = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Phrase:
    """A noun phrase as written, without what names nothing.

    :param name: its words, up to four.
    :param core: the nouns at its end (``email reminder`` of ``automated email reminder``); equals the name where it has no adjective.
    :param start: first character in the text it was found in.
    :param end: one past its last character.
    :param core_start: first character of the core.
    """

    name: str
    core: str
    start: int
    end: int
    core_start: int


def noun_phrases(doc: Any, lead: int) -> dict[int, Phrase]:
    """Head token → phrase, for a parsed sentence; tokens of the lead (a subject we put there) are none.

    :param doc: a spaCy Doc with tags and a parse.
    :param lead: characters of the lead.
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


def resolve(token: Any, phrases: dict[int, Phrase], depth: int = 3) -> Phrase | None:
    """The phrase that a token heads; through a head that only counts or contains ("a list of orders"), what it holds."""
    if token.i in phrases:
        return phrases[token.i]
    if depth and (noun_lemma(token.lower_) in TRANSPARENT_HEADS or token.lower_ in TRANSPARENT_HEADS):
        for child in token.children:
            if child.dep_ == "prep" and child.lower_ in _ABOUT:
                for held in child.children:
                    if held.dep_ == "pobj":
                        return resolve(held, phrases, depth - 1)
    return None


def clean_phrase(tokens: list[str]) -> tuple[int, int]:
    """The part ``[start, end)`` of a noun phrase's words that names something; ``start == end`` when none does."""
    start, end = 0, len(tokens)
    while start < end and (tokens[start].lower() in STOP_WORDS or not _is_word(tokens[start])):
        start += 1
    for position in range(start, end):
        if not _is_word(tokens[position]):
            end = position if position > start else start
            break
    while end - start > 1 and _empties(tokens[end - 1].lower()):
        end -= 1
    start = max(start, end - _MAX_WORDS)
    return (0, 0) if says_nothing(tokens[start:end]) else (start, end)


def says_nothing(tokens: list[str]) -> bool:
    """Whether the words name nothing of the business: all generic, or one that neither a dictionary nor a capital vouches for."""
    said = [token.lower() for token in tokens if token not in _HTTP_METHODS]
    if all(word in GENERIC_HEADS or noun_lemma(word) in GENERIC_HEADS or word in STOP_WORDS for word in said):
        return True
    if len(said) > 1:
        return False
    if tokens[-1].isupper() and len(said[0]) > _LONGEST_ACRONYM:
        return True  # a literal to be written so
    known = len(said[0]) > 2 and is_noun(canonical_name(said[0]).rpartition(" ")[2])
    return not known and not _is_proper(tokens[-1])


def plain_phrases(text: str) -> list[tuple[str, int, int]]:
    """Noun phrases found without a parser: runs of words between stop words and verbs that end in a known noun.

    :returns: ``(name, start, end)``.
    """
    found: list[tuple[str, int, int]] = []
    for run in re.finditer(r"[^\W\d_][\w-]*(?:[ \t]+[^\W\d_][\w-]*)*", text):
        group: list[re.Match[str]] = []
        for word in [*re.finditer(r"\S+", run[0]), None]:
            if word is not None and word[0].lower() not in STOP_WORDS and not action(word[0]):
                group.append(word)
                continue
            start, end = clean_phrase([member[0] for member in group])
            if end > start and is_noun(noun_lemma(group[end - 1][0].lower())):
                a, b = run.start() + group[start].start(), run.start() + group[end - 1].end()
                found.append((text[a:b], a, b))
            group = []
    return found


def _quoted(token: Any, text: str) -> bool:
    """Whether a word alone stands in quotes: a literal such as 'JFK', not a thing."""
    end = token.idx + len(token.text)
    return text[token.idx - 1 : token.idx] in _QUOTES and text[end : end + 1] in _QUOTES


def _inside_compound(token: Any, doc: Any) -> bool:
    """Whether a following noun of the same phrase is the head."""
    following = token.i + 1
    while following < len(doc) and doc[following].tag_ == "HYPH":
        following += 1
    if following >= len(doc):
        return False
    other = doc[following]
    if other.tag_ not in _NOUN_TAGS:
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
    tokens = _joined(doc, first, head.i)
    start, end = clean_phrase([text for text, _, _, _ in tokens])
    while end > start and tokens[end - 1][3] not in _NOUN_TAGS:
        end -= 1  # "external" of "external identifier records": what is left when the empty heads are gone
    if end <= start or says_nothing([text for text, _, _, _ in tokens[start:end]]):
        return None
    nouns = [text.lower() for text, _, _, tag in tokens[start:end] if tag in _NOUN_TAGS]
    if all(noun_lemma(noun) in GENERIC_HEADS or noun in GENERIC_HEADS for noun in nouns):
        return None  # "immediate attention": an adjective makes no thing of a word that names none
    core = end - 1
    while core > start and _of_core(tokens[core - 1][0].lower(), tokens[core - 1][3]):
        core -= 1
    core_start, core_end = clean_phrase([text for text, _, _, _ in tokens[core:end]])
    # "open orders" has a core, "live result" none of its own.
    inner = core + core_start if core_end > core_start else start
    begin, until = tokens[start][1], tokens[end - 1][2]
    return Phrase(
        name=" ".join(text[begin:until].split()),
        core=" ".join(text[tokens[inner][1] : until].split()),
        start=begin,
        end=until,
        core_start=tokens[inner][1],
    )


def _of_core(word: str, tag: str) -> bool:
    """Whether a modifier belongs to the name: a noun, or an adjective that is one too (rental service, human agent)."""
    return word not in STOP_WORDS and (tag in _NOUN_TAGS or (tag == "JJ" and is_noun(word)))


def _joined(doc: Any, first: int, last: int) -> list[tuple[str, int, int, str]]:
    """``(text, start, end, tag)`` with hyphenated words in one piece."""
    joined: list[tuple[str, int, int, str]] = []
    for token in doc[first : last + 1]:
        begin, until = token.idx, token.idx + len(token.text)
        tag = "NN" if token.dep_ == "compound" else token.tag_  # "to team members": the parser took team for a verb
        if joined and joined[-1][2] == begin and (token.tag_ == "HYPH" or joined[-1][0].endswith("-")):
            joined[-1] = (
                joined[-1][0] + token.text,
                joined[-1][1],
                until,
                token.tag_ if token.tag_ != "HYPH" else joined[-1][3],
            )
        else:
            joined.append((token.text, begin, until, tag))
    # "high-priority" qualifies, whatever its last part is.
    return [
        (t, a, b, "JJ" if "-" in t and position < len(joined) - 1 else tag)
        for position, (t, a, b, tag) in enumerate(joined)
    ]


def _is_word(text: str) -> bool:
    if _WORD.match(text) is None or "_" in text or len(text) > _MAX_WORD_CHARS:
        return False
    return not text[0].isdigit()


def _empties(word: str) -> bool:
    """Whether a head only says that there is something of what stands before it: ``order details``."""
    return word in _EMPTY_HEADS or noun_lemma(word) in _EMPTY_HEADS


def _is_proper(word: str) -> bool:
    return word[0].isupper() and word.isalpha() and len(word) > 2


_EMPTY_HEADS = frozenset(
    "list set collection array detail information info datum data record object result instance entry content name value id identifier uuid "
    "guid api endpoint string json xml parameter param field tool metadata overview resource element url uri "
    "response output input".split()
)
