"""Whether an answer is the expected one: numbers by value, lists by their members, other texts by their letters and digits.

The rules are those of a benchmark of short answers: a currency or a unit beside a number says nothing, nor do case, articles, marks and
spaces in a text.
"""

from __future__ import annotations

import math
import re
import unicodedata

__all__ = ["answer_is_close", "answer_matches"]

_NUMBER = re.compile(r"[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:e[-+]?\d+)?|[-+]?\.\d+", re.IGNORECASE)
_SEPARATORS = re.compile(r"\s*[;\n]\s*|,\s+|,(?=\D)|\s+and\s+(?=\S+$)")
_ARTICLES = frozenset({"a", "an", "the"})
_UNITS = "$€£¥%°"
_CLOSE = 0.01  # share of the expected number: what a wrong rounding or a missed small row makes
_REL = 1e-9  # of two numbers that are one: more than what a conversion to decimal text loses


def answer_matches(given: str, expected: str, *, in_order: bool = False) -> bool:
    """Return whether an answer is the expected one.

    :param expected: a number, a list with commas or semicolons, or another text.
    :param in_order: whether the order of a list counts.
    """
    wanted = _number(expected)
    if wanted is not None:
        found = _number(given)
        return found is not None and math.isclose(found, wanted, rel_tol=_REL, abs_tol=_REL)
    if _plain(given) == _plain(expected):
        return True
    items, found_items = _items(expected), _items(given)
    if len(items) < 2 or len(items) != len(found_items):
        return False
    if in_order:
        return all(map(answer_matches, found_items, items))
    return _paired(found_items, items)


def answer_is_close(given: str, expected: str) -> bool:
    """Return whether an answer that is not the expected one is near it: it has it among other words, or a number within 1 % of it, or a
    list of which more than half is right.
    """
    wanted = _number(expected)
    if wanted is not None:
        return any(_near(found, wanted) for found in _numbers(given))
    if f" {_plain(expected)} " in f" {_plain(given)} ":
        return bool(_plain(expected))
    items, found_items = _items(expected), _items(given)
    right = sum(any(answer_matches(found, item) for found in found_items) for item in items)
    return len(items) > 1 and 2 * right > max(len(items), len(found_items))


def _near(found: float, wanted: float) -> bool:
    return abs(found - wanted) <= _CLOSE * abs(wanted)


def _paired(found: list[str], wanted: list[str]) -> bool:
    """Whether each member has one of its own among the others."""
    left = list(found)
    for item in wanted:
        match = next((each for each in left if answer_matches(each, item)), None)
        if match is None:
            return False
        left.remove(match)
    return True


def _items(text: str) -> list[str]:
    return [item for item in _SEPARATORS.split(text.strip().rstrip(".")) if item.strip()]


def _number(text: str) -> float | None:
    """Return the number that a text is, with a unit or currency at most; None for other texts."""
    plain = unicodedata.normalize("NFKC", text).strip().rstrip(".")
    found = _NUMBER.search(plain)
    if found is None:
        return None
    before, after = plain[: found.start()].strip(_UNITS + " "), plain[found.end() :].strip(_UNITS + " ")
    if before.upper() not in _CURRENCIES or not _is_unit(after):
        return None
    return float(found[0].replace(",", ""))


_CURRENCIES = frozenset({"", "USD", "EUR", "GBP", "CHF", "JPY", "US"})


def _is_unit(text: str) -> bool:
    """Whether what stands after a number is one short word: ``km``, ``euros``, ``kg/m3``."""
    return text == "" or (len(text) <= 12 and re.fullmatch(r"[^\W\d_][^\s,;]*", text) is not None)


def _numbers(text: str) -> list[float]:
    return [float(found.replace(",", "")) for found in _NUMBER.findall(unicodedata.normalize("NFKC", text))]


def _plain(text: str) -> str:
    """Return the words of a text: lower case, without accents, marks and articles."""
    apart = unicodedata.normalize("NFKD", text).casefold()
    letters = "".join(each if each.isalnum() else " " for each in apart if not unicodedata.combining(each))
    return " ".join(word for word in letters.split() if word not in _ARTICLES)
