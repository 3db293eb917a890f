"""Split descriptions of tools into sentences without markup, and tell which begin with the verb of an operation.

Each character of markup becomes a blank, so that positions in a sentence are those of the original text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from ingest.word_lists import word_list
from ontology.names import is_noun, noun_lemma, stop_words, verb_lemma

# From the name of a list of ``extract_words.yaml`` to its words; KeyError for an unknown list
vocabulary = partial(word_list, "extract")
_ACTIONS = vocabulary("actions")
_ALSO_NOUNS = vocabulary("also_nouns")
LINKING_VERBS = vocabulary("linking_verbs")
_MOSTLY_NOUNS = vocabulary("mostly_nouns")
STOP_WORDS = stop_words("name_edges")


def action(word: str) -> str:
    """Return the base form of an operation's verb (``fetch`` for ``Fetches``), or empty for another word."""
    base = verb_lemma(word.lower())
    return base if base in _ACTIONS else ""


def is_listed(word: str, listed: frozenset[str]) -> bool:
    """Whether a word or its singular is in a list."""
    return word in listed or noun_lemma(word) in listed


MAX_DESCRIPTION_CHARS = 600
MAX_PARAMETER_CHARS = 200
MIN_SENTENCE_CHARS = 30  # a shorter text is a label ("Customer number"), no sentence
_MAX_SENTENCE_CHARS = 300
_MIN_LETTERS = 3

# Replaced by blanks, in this order: table rows, HTML, link targets, URLs, e-mail addresses, placeholders, entities, Markdown marks.
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
# A line that a capital follows is looked for where white space begins, or after a match that ends in a line, and without backtracking: with
# `\s*[\r\n]+` the work grew with the cube of a run of carriage returns.
_BREAK = re.compile(
    r"(?<=[.!?。;])\s+|\n\s*\n|\n(?=\s*[-*•\d#|])|(?:(?<!\s)|(?<=\n))\s++(?<=[\r\n])(?=[A-Z])|(?<=[a-z]):\s*\n"
)
_FIRST = re.compile(r"\s*([A-Za-z]+)\b(?![-/'.])")
_DETERMINERS = re.compile(
    r"\s+(?:a|an|the|all|any|one|your|this|each|some|specific|new|current|existing|multiple|for|up)\b", re.I
)
_NOUN_FOLLOWS = re.compile(r"\s+(?:of|results?|is|are|was|will|can|must|should|has|to)\b", re.I)
_TITLE_CASE = re.compile(r"(?<![A-Za-z])[A-Z][a-z]+(?![A-Za-z])")
_USED = re.compile(r"\s*used\s+(?:to|for)\b", re.I)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """A sentence without markup."""

    text: str
    start: int  # index of its first character in its field's text
    verb_first: bool = False  # whether it begins with the verb of an operation ("Fetches the books", "List orders")


def sentences(text: str, limit: int, *, operation: bool = True) -> Iterator[Sentence]:
    """Yield the sentences of the first ``limit`` characters; a sentence cut by the limit is left out, unless it is the
    first. In the text of an ``operation`` "Search" in "Search products" is a verb."""
    window = _cut(text, limit)
    for pattern in _MARKUP:
        window = pattern.sub(lambda match: " " * len(match[0]), window)
    breaks = [match.span() for match in _BREAK.finditer(window)]
    starts, ends = [0, *(end for _, end in breaks)], [*(start for start, _ in breaks), len(window)]
    first = True
    for start, end in zip(starts, ends, strict=True):
        raw = window[start:end].lstrip()
        body = _cut(raw.rstrip(), _MAX_SENTENCE_CHARS)
        is_cut = end == len(window) and len(text) > limit
        letters = [character for character in body if character.isalpha()]
        # The rules know no other script.
        is_latin = len(letters) >= _MIN_LETTERS and sum(character < "ɐ" for character in letters) * 2 > len(letters)
        if (first or not is_cut) and is_latin:
            longer = [word for word in body.split() if len(word) > 3 and word.isalpha()]
            if len(longer) > 1 and sum(word[0].isupper() for word in longer) >= 0.7 * len(longer):
                # A headline: its capitals make no proper names; camel case and acronyms are kept.
                body = _TITLE_CASE.sub(lambda word: word[0].lower(), body)
            verb_first = _begins_with_verb(body, _MOSTLY_NOUNS if operation else _ALSO_NOUNS)
            yield Sentence(text=body, start=end - len(raw), verb_first=verb_first)
            first = False


def _cut(text: str, limit: int) -> str:
    """Return the words in the first characters of a text."""
    return text if len(text) <= limit else text[:limit].rpartition(" ")[0] or text[:limit]


def _begins_with_verb(body: str, nouns: frozenset[str]) -> bool:
    """Whether a sentence begins with an operation's verb. ``nouns`` are verbs that are nouns at the front, unless the next
    word shows an object ("Order status")."""
    match = _FIRST.match(body)
    if match is None:
        return False
    word, following = match[1].lower(), body[match.end() :]
    base = verb_lemma(word)
    if not (action(word) or (base in LINKING_VERBS and base != "be")) or not following.strip(" .!?"):
        return False
    has_object, is_noun_here = _DETERMINERS.match(following), _NOUN_FOLLOWS.match(following)
    if word == base:
        return not ((word in nouns and not has_object) or (word in _ALSO_NOUNS and is_noun_here))
    if word.endswith("ing"):
        return bool(has_object) or not is_noun(word)
    if word.endswith("s") and noun_lemma(word) == base:
        # "Tracks lease dates" describes an operation; "Orders to return" describes the value of a parameter.
        return not (base in _ALSO_NOUNS and not has_object and (nouns is _ALSO_NOUNS or is_noun_here))
    return _USED.match(body) is not None
