"""Whether an answer is the expected one: numbers by value, lists by their members, other texts by their letters and digits.

The rules are those of a benchmark of short answers: a currency or a unit beside a number says nothing where the expected answer has none,
nor do case, articles, marks and spaces in a text. A word beside a number is a unit only where it is one of a short list, or stands in the
question. What makes another number of it, as in ``3 million``, is none.
"""

from __future__ import annotations

import math
import re
import unicodedata
from functools import partial
from typing import NamedTuple

__all__ = ["answer_is_close", "answer_matches"]

_NUMBER = re.compile(r"[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:e[-+]?\d+)?|[-+]?\.\d+", re.IGNORECASE)
_SEPARATORS = re.compile(r"\s*[;\n]\s*|,\s+|,(?=\D)|\s+and\s+(?=\S+$)")
_ARTICLES = frozenset({"a", "an", "the"})
_PERCENT = "percent"
_SAME_UNITS = {
    "$": "usd",
    "us": "usd",
    "us$": "usd",
    "dollar": "usd",
    "€": "eur",
    "euro": "eur",
    "£": "gbp",
    "pound": "gbp",
    "¥": "jpy",
    "yen": "jpy",
    "franc": "chf",
    "%": _PERCENT,
    "percentage": _PERCENT,
}
_CURRENCIES = frozenset({"usd", "eur", "gbp", "jpy", "chf"})
_UNITS = _CURRENCIES | frozenset("km cm mm kg g l °c °f piece pc item".split())
"""Units that an answer may add: those of the shipped tasks (euros, kilometres, pieces), and symbols whose full word a question has instead."""
_MULTIPLIERS = frozenset(
    "k m mn bn b tn hundred thousand million billion trillion dozen score half halve quarter third double twice pair couple".split()
)
"""What makes another number of one; ``m`` is a million as often as a metre. Words of English, collected before any answer was seen."""
_CLOSE = 0.01  # share of the expected number: what a wrong rounding or a missed small row makes
_REL = 1e-9  # of two numbers that are one: more than what a conversion to decimal text loses


def answer_matches(given: str, expected: str, *, in_order: bool = False, question: str = "") -> bool:
    """Return whether an answer is the expected one.

    :param expected: a number, a list with commas or semicolons, or another text.
    :param in_order: whether the order of a list counts.
    :param question: its words may stand beside a number, as in ``9 invoices``.
    """
    asked = frozenset(map(_unit, re.findall(r"%|[^\W\d_]+", question))) - _MULTIPLIERS
    wanted = _quantity(expected, _UNITS | {_PERCENT} | asked)
    if wanted is not None:
        found = _quantity(given, wanted.units or _UNITS | asked)
        return found is not None and math.isclose(found.value, wanted.value, rel_tol=_REL, abs_tol=_REL)
    if _plain(given) == _plain(expected):
        return True
    items, found_items = _items(expected), _items(given)
    if len(items) < 2 or len(items) != len(found_items):
        return False
    if in_order:
        return all(map(partial(answer_matches, question=question), found_items, items))
    return _paired(found_items, items, question)


def answer_is_close(given: str, expected: str) -> bool:
    """Return whether an answer that is not the expected one is near it: it has it among other words, or a number within 1 % of it, or a
    list of which more than half is right.
    """
    wanted = _quantity(expected, _UNITS | {_PERCENT})
    if wanted is not None:
        return any(_near(found, wanted.value) for found in _numbers(given))
    if f" {_plain(expected)} " in f" {_plain(given)} ":
        return bool(_plain(expected))
    items, found_items = _items(expected), _items(given)
    right = sum(any(answer_matches(found, item) for found in found_items) for item in items)
    return len(items) > 1 and 2 * right > max(len(items), len(found_items))


def _near(found: float, wanted: float) -> bool:
    return abs(found - wanted) <= _CLOSE * abs(wanted)


def _paired(found: list[str], wanted: list[str], question: str) -> bool:
    """Whether each member has one of its own among the others."""
    left = list(found)
    for item in wanted:
        match = next((each for each in left if answer_matches(each, item, question=question)), None)
        if match is None:
            return False
        left.remove(match)
    return True


def _items(text: str) -> list[str]:
    return [item for item in _SEPARATORS.split(text.strip().rstrip(".")) if item.strip()]


class _Quantity(NamedTuple):
    """A number, and what its unit is called: one name, none, or two of one currency written twice that are one."""

    value: float
    units: frozenset[str]


def _quantity(text: str, known: frozenset[str]) -> _Quantity | None:
    """Return the number that a text is, with a known unit or a currency at most; None for other texts."""
    plain = unicodedata.normalize("NFKC", text).strip().rstrip(".")
    found = _NUMBER.search(plain)
    if found is None:
        return None
    before, after = plain[: found.start()].strip(), plain[found.end() :].strip()
    units = frozenset(_unit(each) for each in (before, after) if each)
    if len(units) > 1 or not units <= known or (before and not units <= _CURRENCIES):
        return None
    return _Quantity(float(found[0].replace(",", "")), units)


def _unit(word: str) -> str:
    """Return the name of a unit: one for its sign, its word and its plural."""
    name = word.casefold()
    name = name.removesuffix("s") if len(name) > 2 else name
    return _SAME_UNITS.get(name, name)


def _numbers(text: str) -> list[float]:
    return [float(found.replace(",", "")) for found in _NUMBER.findall(unicodedata.normalize("NFKC", text))]


def _plain(text: str) -> str:
    """Return the words of a text: lower case, without accents, marks and articles."""
    apart = unicodedata.normalize("NFKD", text).casefold()
    letters = "".join(each if each.isalnum() else " " for each in apart if not unicodedata.combining(each))
    return " ".join(word for word in letters.split() if word not in _ARTICLES)
