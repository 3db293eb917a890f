"""Sentences of the descriptions of tools, prepared for a parser that was trained on news.

The parser takes the verb at the front of an operation's description for a noun ("Fetches the books", "List orders"), so a subject
is put before such a sentence. Nothing else changes length: markup is replaced by blanks character by character, so that a position
in the prepared sentence minus its lead is a position in the original text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ingest.extract.vocabulary import ALSO_NOUNS, LINKING_VERBS, MOSTLY_NOUNS, action
from ontology.names import is_noun, noun_lemma, verb_lemma

__all__ = ["MAX_DESCRIPTION_CHARS", "MAX_PARAMETER_CHARS", "Sentence", "is_english", "sentences"]

MAX_DESCRIPTION_CHARS = 600
MAX_PARAMETER_CHARS = 200
_MAX_SENTENCE_CHARS = 300
_MIN_LETTERS = 3

# Blanked, in this order: table rows, fenced and inline code marks, HTML, link targets, addresses, placeholders, markdown signs.
_MARKUP = (
    re.compile(r"^[ \t]*\|[^\n]*$", re.M),
    re.compile(r"<[^<>\n]{1,200}>"),
    re.compile(r"\]\([^()\s]{0,300}\)"),
    re.compile(r"(?:https?://|www\.)[^\s)\]}>\"']+"),
    re.compile(r"[^\s@]+@[^\s@]+\.[a-z]+"),
    re.compile(r"\{[^{}\n]{0,80}\}"),
    re.compile(r"&[a-z]{2,6};"),
    re.compile(r"^[ \t]*(?:[-*+#>|]+|\d+[.)])[ \t]+", re.M),
    re.compile(r"[*_`#|~\[\]<>\\={}^\"“”«»]+(?=\W|$)|(?<!\w)[*_`#|~\[\]<>\\={}^\"“”«»]+"),
)
_BREAK = re.compile(r"(?<=[.!?。;])\s+|\n\s*\n|\n(?=\s*[-*•\d#|])|\s*[\r\n]+(?=[A-Z])|(?<=[a-z]):\s*\n")
_FIRST = re.compile(r"\s*([A-Za-z]+)\b(?![-/'.])")
_SUBJECT_S, _SUBJECT_BASE, _SUBJECT_ING, _SUBJECT_ED = "It ", "You can ", "It is ", "It is "
_DETERMINERS = re.compile(
    r"\s+(?:a|an|the|all|any|one|your|this|each|some|specific|new|current|existing|multiple|for|up)\b", re.I
)
_NOUN_FOLLOWS = re.compile(r"\s+(?:of|results?|is|are|was|will|can|must|should|has|to)\b", re.I)
_TITLE_CASE = re.compile(r"(?<![A-Za-z])[A-Z][a-z]+(?![A-Za-z])")
_USED = re.compile(r"\s*used\s+(?:to|for)\b", re.I)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """A sentence ready to be parsed.

    :param text: the input of the parser.
    :param start: first character of the original sentence in its field's text.
    :param lead: characters of the subject put before it; 0 for none.
    """

    text: str
    start: int
    lead: int = 0


def sentences(text: str, limit: int, *, operation: bool = True) -> Iterator[Sentence]:
    """The sentences of the first ``limit`` characters; one that the limit cuts is left out, unless it is the first.

    :param operation: whether the text describes what a tool does, so that "Search products" is no kind of product.
    """
    window = text[:limit] if len(text) <= limit else text[:limit].rpartition(" ")[0] or text[:limit]
    for pattern in _MARKUP:
        window = pattern.sub(_blank, window)
    start, first = 0, True
    for end, following in [*((m.start(), m.end()) for m in _BREAK.finditer(window)), (len(window), len(window))]:
        cut = end == len(window) and len(text) > limit
        if not (cut and not first):
            prepared = _prepare(window[start:end], start, operation)
            if prepared is not None:
                yield prepared
                first = False
        start = following


def is_english(text: str) -> bool:
    """Whether most letters are of the Latin script, the only one that the parser knows."""
    letters = [character for character in text if character.isalpha()]
    return bool(letters) and sum(character < "ɐ" for character in letters) * 2 > len(letters)


def _blank(match: re.Match[str]) -> str:
    return " " * (match.end() - match.start())


def _prepare(raw: str, offset: int, operation: bool) -> Sentence | None:
    stripped = raw.lstrip()
    start = offset + len(raw) - len(stripped)
    body = stripped.rstrip()
    if len(body) > _MAX_SENTENCE_CHARS:
        body = body[:_MAX_SENTENCE_CHARS].rpartition(" ")[0] or body[:_MAX_SENTENCE_CHARS]
    if sum(map(str.isalpha, body)) < _MIN_LETTERS or not is_english(body):
        return None
    lead, body = _lead(_quiet(body), MOSTLY_NOUNS if operation else ALSO_NOUNS)
    return Sentence(text=lead + body, start=start, lead=len(lead))


def _quiet(body: str) -> str:
    """Title case in lower case: the parser reads a capitalised noun as a proper name. Camel case and acronyms stay."""
    longer = [word for word in body.split() if len(word) > 3 and word.isalpha()]
    capitals = sum(word[0].isupper() for word in longer)
    if len(longer) < 2 or capitals < 0.7 * len(longer):
        return body
    return _TITLE_CASE.sub(lambda word: word[0].lower(), body)


def _lead(body: str, nouns: frozenset[str]) -> tuple[str, str]:
    """The subject to put before a sentence that begins with an operation's verb, and the sentence to put it before."""
    match = _FIRST.match(body)
    if match is None:
        return "", body
    word = match[1].lower()
    following = body[match.end() :]
    base = verb_lemma(word)
    if not (action(word) or (base in LINKING_VERBS and base != "be")) or not following.strip(" .!?"):
        return "", body
    # "You can get played tracks": to the parser that is a passive; "see" has the same length and is none.
    spoken = {"get": "see", "gets": "sees"}.get(word, word)
    lowered = body[: match.start(1)] + spoken + following
    if word == base:
        # "Order status", "Search results", "Report date": a noun, unless what follows shows that it governs an object.
        doubtful = word in nouns and not _DETERMINERS.match(following)
        doubtful = doubtful or (word in ALSO_NOUNS and _NOUN_FOLLOWS.match(following) is not None)
        return ("", body) if doubtful else (_SUBJECT_BASE, lowered)
    if word.endswith("ing"):
        return ("", body) if is_noun(word) and not _DETERMINERS.match(following) else (_SUBJECT_ING, lowered)
    if word.endswith("s") and noun_lemma(word) == base:
        # "Tracks lease dates" tells what a tool does; "Orders to return" in a parameter tells what it holds.
        doubtful = base in ALSO_NOUNS and not _DETERMINERS.match(following)
        doubtful = doubtful and (nouns is ALSO_NOUNS or _NOUN_FOLLOWS.match(following) is not None)
        return ("", body) if doubtful else (_SUBJECT_S, lowered)
    if _USED.match(body):
        return _SUBJECT_ED, lowered
    return "", body
