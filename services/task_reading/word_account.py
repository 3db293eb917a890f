"""Every word of a question about a table is accounted for: by a condition, a column, the rows, or a list of words that say nothing more.

A word that is not accounted for may change what is meant ("outside", "each", "before"), so that the question is not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ontology.names import noun_lemma, words
from planners.kgot.asked import AskedFilter, TableShape
from services.task_reading.table_columns import lemmas, row_nouns
from services.task_reading.table_domain import key_columns

__all__ = ["names_rows", "two_of_one_column", "unaccounted"]

_HARMLESS = frozenset(
    "the a an of in on at from with for to and is are was were be been being have has had do does did that which what who how many there "
    "it they these those all please me find show give list count get tell still also make made sold sell come comes came stand stands "
    "stood lie lies sit sits belong belongs hold holds contain contains registered stored counted offered cost costs take took taken".split()
)
"""Found on the shipped tasks and on the verbs that the parser takes for light. No word that excludes, compares, orders or groups is here."""
_AND = re.compile(
    r"\band\b(?! (?:are|is|have|has|with|that|which|stand|come|in|of|on|from|made|sold|was|were)\b)", re.I
)
"""An "and" before anything else may join two kinds of rows, of which both are meant."""


def two_of_one_column(filters: Iterable[AskedFilter]) -> str:
    """Return why no row meets two conditions, where a column is to have two values; else empty."""
    held = dict[str, str]()
    for each in filters:
        if each.operator == "=" and held.setdefault(each.field, str(each.value)) != str(each.value):
            return f"{held[each.field]} and {each.value} are two values of {each.field}, and either-or is not read"
    return ""


def names_rows(text: str, table: TableShape) -> bool:
    """Whether a text says what it is about: the rows by what they are called, or by a column that tells them apart."""
    said = {*lemmas(text)}
    return bool(said & row_nouns(table)) or any(said >= {*lemmas(" ".join(words(key)))} for key in key_columns(table))


def unaccounted(text: str, table: TableShape, filters: Sequence[AskedFilter], *, count: bool) -> list[str]:
    """Return the words of a request that nothing accounts for.

    :param filters: the conditions that were read from this text.
    :param count: whether rows are counted, so that "number" says that.
    """
    left = _columns_said(filters)
    keys = [lemmas(" ".join(words(key))) for key in key_columns(table)]
    own = row_nouns(table) | {part for key in keys[:1] for part in key} | {part for key in keys for part in key}
    values = {part for each in filters for part in (str(each.value).casefold(), *lemmas(str(each.value)))}
    lost = [*_joined(text, own), *_short_values(text, table, filters)]
    for word in re.findall(r"[^\W_]+(?:[-.,'’/][^\W_]+)*", text):
        plain, lemma = word.casefold(), noun_lemma(word.casefold())
        if plain in _HARMLESS or lemma in own or plain in values or (count and plain == "number"):
            continue
        if left.get(plain, 0):
            left[plain] -= 1
        else:
            lost.append(word)
    return list(dict.fromkeys(lost))


def _columns_said(filters: Sequence[AskedFilter]) -> dict[str, int]:
    """Return how often each word of a column may stand beside the values of that column."""
    found = dict[str, int]()
    for each in filters:
        for word in words(each.field):
            found[word.casefold()] = found.get(word.casefold(), 0) + 1
    return found


def _joined(text: str, own: frozenset[str]) -> list[str]:
    rows = sum(each in own for each in lemmas(text))
    return ["and"] if _AND.search(text) or (rows > 1 and re.search(r"\band\b", text, re.I)) else []


def _short_values(text: str, table: TableShape, filters: Sequence[AskedFilter]) -> list[str]:
    """Return values that are plain words as well ("a", "no") where they do not stand as the table has them, or without their column."""
    lost = []
    for each in filters:
        value = str(each.value)
        held = {str(one) for one in table.columns.get(each.field, ()) if str(one).casefold() == value.casefold()}
        plain = value.casefold() in _HARMLESS or (len(value) == 1 and value.isalpha())
        if plain and not any(re.search(rf"\b{re.escape(one)}\b", text) for one in held):
            lost.append(value)
        if value.casefold() in ("yes", "no") and not {*lemmas(" ".join(words(each.field)))} <= {*lemmas(text)}:
            lost.append(value)
    return lost
