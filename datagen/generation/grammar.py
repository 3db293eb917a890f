"""Grammar: articles, plurals, verb forms and the edges of sentences, as far as requests need them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from datagen.generation.data_files import word_classes

__all__ = [
    "article",
    "capital",
    "gerund",
    "joined",
    "lowered",
    "participle",
    "plural",
    "possessive",
    "sentence_end",
    "tidy",
]

_WORDS = word_classes("grammar")
_IRREGULAR = {"person": "people", "man": "men", "woman": "women", "child": "children", "shelf": "shelves"}
_PARTICIPLES = (
    {"send": "sent", "pay": "paid", "hold": "held", "leave": "left", "buy": "bought", "undo": "undone"}
    | {verb: verb for verb in ("put", "set", "split", "reset", "cut", "shut", "run")}
    | {"give": "given", "make": "made", "take": "taken", "withdraw": "withdrawn"}
)
_VOWELS = "aeiou"
_SPELLED_WITH_VOWEL = "AEFHILMNORSX"
"""Letters whose names begin with a vowel: an F, an NDA."""
_SPACE_BEFORE_STOP = re.compile(r"\s+([,.?!;:])")
_STOP_BEFORE_STOP = re.compile(r"([,;:])(?=\s*[,.?!;:])")
_PREPOSITION_TWICE = re.compile(r"\b(on|in|for|to|at|of|up|out|from|with|by) \1\b")
_SEVERAL_ENDS = re.compile(r"[.?!]{2,}$")


@lru_cache(maxsize=20_000)
def article(phrase: str) -> str:
    """The phrase with ``a`` or ``an`` before it, by its first sound.

    >>> article("hour"), article("NDA"), article("user"), article("PO")
    ('an hour', 'an NDA', 'a user', 'a PO')
    """
    return f"{'an' if _starts_with_vowel(phrase) else 'a'} {phrase}"


def _starts_with_vowel(phrase: str) -> bool:
    first = phrase.split(" ", 1)[0].lstrip("'\"")
    if first.isupper() and len(first) > 1 and not first.isalpha():
        return first[0] in f"{_SPELLED_WITH_VOWEL}8"
    if first.isupper() and first.isalpha() and 1 < len(first) <= 4:
        return first[0] in _SPELLED_WITH_VOWEL
    lower = first.lower()
    if lower.startswith(("hour", "honest", "heir")):
        return True
    if lower.startswith(("eu", "uni", "use", "usa", "usi", "uti", "one", "once")):
        return lower.startswith(("unin", "unim", "unid"))
    return bool(lower) and (lower[0] in _VOWELS or lower.startswith(("8", "11", "18")))


@lru_cache(maxsize=20_000)
def plural(noun: str) -> str:
    """The plural of a noun phrase; its head is the word before the first preposition.

    >>> plural("line of a purchase request"), plural("delivery"), plural("person")
    ('lines of a purchase request', 'deliveries', 'people')
    """
    words = noun.split()
    head = next((i for i, word in enumerate(words) if i and word in _WORDS["prepositions"]), len(words)) - 1
    return " ".join([*words[:head], _plural_word(words[head]), *words[head + 1 :]])


def _plural_word(word: str) -> str:
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    regular_s = word.endswith("s") and not word.endswith(("ss", "us", "is"))
    if word in _WORDS["same_in_plural"] or word.endswith("ings") or regular_s:
        return word
    if word.endswith(("s", "x", "z", "ch", "sh")):
        return f"{word}es"
    if word.endswith("y") and word[-2:-1] not in _VOWELS:
        return f"{word[:-1]}ies"
    return f"{word}s"


@lru_cache(maxsize=20_000)
def gerund(phrase: str) -> str:
    """A verb phrase with its first verb in -ing: ``put in a claim`` → ``putting in a claim``."""
    verb, _, rest = phrase.partition(" ")
    first, hyphen, second = verb.partition("-")
    form = f"{first}-{_ing(second)}" if hyphen and first in ("double", "green") else f"{_ing(first)}{hyphen}{second}"
    return f"{form} {rest}".strip()


def _ing(verb: str) -> str:
    if verb.endswith("ie"):
        return f"{verb[:-2]}ying"
    if verb.endswith("e") and not verb.endswith(("ee", "oe", "ye")) and verb != "be":
        return f"{verb[:-1]}ing"
    return f"{verb}{verb[-1]}ing" if verb in _WORDS["doubled_in_gerund"] else f"{verb}ing"


@lru_cache(maxsize=2_000)
def participle(verb: str) -> str:
    """The past participle of a verb: ``cancel`` → ``cancelled``, ``send`` → ``sent``."""
    if verb in _PARTICIPLES:
        return _PARTICIPLES[verb]
    if verb.endswith("e"):
        return f"{verb}d"
    if verb.endswith("y") and verb[-2:-1] not in _VOWELS:
        return f"{verb[:-1]}ied"
    return (
        f"{verb}{verb[-1]}ed" if verb in _WORDS["doubled_in_gerund"] | _WORDS["doubled_in_participle"] else f"{verb}ed"
    )


def possessive(phrase: str) -> str:
    """``Jan`` → ``Jan's``; a plural in -s gets the apostrophe alone."""
    return f"{phrase}'" if phrase.endswith("s") and phrase[:1].islower() else f"{phrase}'s"


def joined(parts: Sequence[str], last: str = "and") -> str:
    """``a, b and c``."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} {last} {parts[-1]}"


def capital(text: str) -> str:
    """With a capital first letter."""
    return text[:1].upper() + text[1:]


def lowered(text: str) -> str:
    """With a small first letter, unless its first word is a name, a number or ``I``."""
    first = text.split(" ", 1)[0].rstrip(",")
    keep = first in ("I", "I'm", "I'd", "I've", "I'll") or any(sign.isupper() or sign.isdigit() for sign in first[1:])
    return text if keep else text[:1].lower() + text[1:]


def sentence_end(text: str) -> str:
    """The full stop that a text lacks, or empty."""
    return "" if text.endswith((".", "?", "!")) else "."


def tidy(text: str) -> str:
    """With one space between words, none before a stop, and no stop twice."""
    text = _SPACE_BEFORE_STOP.sub(r"\1", " ".join(text.split()))
    text = _PREPOSITION_TWICE.sub(r"\1", _STOP_BEFORE_STOP.sub("", text))
    return _SEVERAL_ENDS.sub(lambda ends: "?" if "?" in ends[0] else ends[0][0], text)
