"""Split descriptions of tools into sentences, and prepare them for a parser that was trained on news.

The parser tags the first verb of an operation's description as a noun ("Fetches the books", "List orders"). So a subject is inserted
before such a sentence. Every other change keeps the length: each character of markup becomes a blank. So a position in the prepared
sentence minus ``prefix_chars`` is the position in the original text.
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
_LINKING_VERBS = vocabulary("linking_verbs")
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
    """A sentence prepared for the parser."""

    text: str  # the input of the parser
    start: int  # index of the first character of the original sentence in its field's text
    prefix_chars: int = 0  # length of the inserted subject; 0 for none


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
        # The parser knows no other script.
        is_latin = len(letters) >= _MIN_LETTERS and sum(character < "ɐ" for character in letters) * 2 > len(letters)
        if (first or not is_cut) and is_latin:
            longer = [word for word in body.split() if len(word) > 3 and word.isalpha()]
            if len(longer) > 1 and sum(word[0].isupper() for word in longer) >= 0.7 * len(longer):
                # The parser tags capitalised nouns as proper names; camel case and acronyms are kept.
                body = _TITLE_CASE.sub(lambda word: word[0].lower(), body)
            subject, body = _add_subject(body, _MOSTLY_NOUNS if operation else _ALSO_NOUNS)
            yield Sentence(text=subject + body, start=end - len(raw), prefix_chars=len(subject))
            first = False


def _cut(text: str, limit: int) -> str:
    """Return the words in the first characters of a text."""
    return text if len(text) <= limit else text[:limit].rpartition(" ")[0] or text[:limit]


def _add_subject(body: str, nouns: frozenset[str]) -> tuple[str, str]:
    """Return the subject to insert before a sentence that begins with an operation's verb, or empty, and the sentence.
    ``nouns`` are verbs that are nouns at the front, unless the next word shows an object ("Order status")."""
    match = _FIRST.match(body)
    if match is None:
        return "", body
    word, following = match[1].lower(), body[match.end() :]
    base = verb_lemma(word)
    if not (action(word) or (base in _LINKING_VERBS and base != "be")) or not following.strip(" .!?"):
        return "", body
    has_object, is_noun_here = _DETERMINERS.match(following), _NOUN_FOLLOWS.match(following)
    if word == base:
        subject = "" if (word in nouns and not has_object) or (word in _ALSO_NOUNS and is_noun_here) else "You can "
    elif word.endswith("ing"):
        subject = "" if is_noun(word) and not has_object else "It is "
    elif word.endswith("s") and noun_lemma(word) == base:
        # "Tracks lease dates" describes an operation; "Orders to return" describes the value of a parameter.
        is_value = base in _ALSO_NOUNS and not has_object and (nouns is _ALSO_NOUNS or is_noun_here)
        subject = "" if is_value else "It "
    else:
        subject = "It is " if _USED.match(body) else ""
    if not subject:
        return "", body
    # The parser reads "You can get played tracks" as a passive; "see" has the same length and does not cause this.
    verb = {"get": "see", "gets": "sees"}.get(word, word)
    return subject, body[: match.start(1)] + verb + following
