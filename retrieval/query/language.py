"""The language of a request, where it is plainly not English.

The embedded encoders, the stop words and the lemmas are English, so an answer to a request in another language says that it may be
worse. Scripts and lists of function words tell the language; in doubt nothing is said: names of places and people, quoted texts and
requests for a translation have foreign words too.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import cache
from pathlib import Path

from inference.encoder import Encoder
from ontology.yaml_data import read_yaml

__all__ = ["foreign_language", "unread_language"]

_WORDS = Path(__file__).with_name("language_words.yaml")
_ENGLISH = "english"
_MAX_CHARS = 2_000
_QUOTED = re.compile(r"\"[^\"]*\"|“[^”]*”|«[^»]*»|„[^“”]*[“”]|(?<!\w)[‘'][^'’]*['’](?!\w)")
_WORD = re.compile(r"[^\W\d_]+")
_LATIN = "LATIN"
# Chosen, not tuned: a script is the language of a request where two thirds of its letters are of it; a list of words, where two of its
# words occur, more than twice as many as of the English ones, and one of them among the first five words.
_SCRIPT_SHARE = 2 / 3
_LEAST_LETTERS = 3
_LEAST_WORDS = 2
_FACTOR = 2
_BEGINNING = 5
_SCRIPTS = {"CJK": "Chinese or Japanese characters"}


def foreign_language(text: str) -> str:
    """The language of a request, such as ``German``, or its script, such as ``Cyrillic``; empty for English and where in doubt.

    It takes time in proportion to the first 2,000 characters.
    """
    said = _QUOTED.sub(" ", text[:_MAX_CHARS])
    script = _script(said)
    return _SCRIPTS.get(script, script.capitalize()) if script else _by_words(_WORD.findall(said.lower()))


def unread_language(text: str, encoder: Encoder) -> list[str]:
    """The fallback of an answer to a request in a language that the encoder does not know; none where it knows it, or says nothing.

    An encoder says by ``languages``, a collection of names such as ``English``, which it knows.
    """
    known = getattr(encoder, "languages", ())
    language = foreign_language(text) if known else ""
    if not language or language in known:
        return []
    return [f"matched poorly: the request seems to be in {language}, and {encoder.name} knows {', '.join(known)}"]


def _script(text: str) -> str:
    """The script of most letters, upper-case; empty where it is Latin or no script has two thirds of them."""
    if text.isascii():
        return ""
    letters = Counter(_script_of(letter) for letter in text if letter.isalpha())
    total = letters.total()
    script, count = letters.most_common(1)[0] if letters else (_LATIN, 0)
    return script if script != _LATIN and total >= _LEAST_LETTERS and count >= _SCRIPT_SHARE * total else ""


def _script_of(letter: str) -> str:
    return _LATIN if letter.isascii() else unicodedata.name(letter, _LATIN).split()[0]


def _by_words(words: list[str]) -> str:
    found = {language: distinct & set(words) for language, distinct in _word_lists().items()}
    english = len(found.pop(_ENGLISH))
    language, hits = max(found.items(), key=lambda item: len(item[1]))
    plain = len(hits) >= _LEAST_WORDS and len(hits) > _FACTOR * english and not hits.isdisjoint(words[:_BEGINNING])
    return language.capitalize() if plain else ""


@cache
def _word_lists() -> dict[str, frozenset[str]]:
    """Language → its words; those of the others without the English ones."""
    lists = {language: frozenset(words.split()) for language, words in read_yaml(_WORDS).items()}
    return {language: words if language == _ENGLISH else words - lists[_ENGLISH] for language, words in lists.items()}
