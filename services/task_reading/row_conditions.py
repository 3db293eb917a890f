"""Conditions on columns that the parser does not read: comparisons with numbers, and values of several words. They are taken out of the text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import PurePath

from ontology.names import words
from planners.kgot.asked import AskedFilter, Comparison, TableShape
from services.task_reading.table_domain import shown_columns

__all__ = ["conditions_of", "without_files"]

_MORE = r"more than|over|above|greater than|higher than|longer than|at least|less than|fewer than|under|below|lower than|shorter than|at most|exactly"
_OPERATORS: dict[str, Comparison] = {"at least": ">=", "at most": "<=", "exactly": "="}
_LESS = ("less than", "fewer than", "under", "below", "lower than", "shorter than")
_NUMBER = r"(-?\d[\d,]*(?:\.\d+)?)"
_SHORTEST = 4
"""Letters of a value whose plural is read; "As" is no plural of the hall A."""


def conditions_of(request: str, table: TableShape) -> tuple[str, tuple[AskedFilter, ...]]:
    """Return what is left of a request, and the conditions."""
    text, filters = request, list[AskedFilter]()
    for name in shown_columns(table):
        values, said = table.columns[name], " ".join(words(name))
        if all(isinstance(each, str) for each in values):
            texts = {str(each) for each in values}
            text = _with_phrases(_in_singular(text, texts), said, texts, filters)
        else:
            text = _with_numbers(text, said, filters)
    return text, tuple(filters)


def _in_singular(text: str, values: set[str]) -> str:
    """Write values of one word in the singular, as the table has them."""
    for value in values:
        if value.isalpha() and len(value) >= _SHORTEST and f"{value}s".casefold() not in map(str.casefold, values):
            text = re.sub(rf"\b({re.escape(value)})s\b", r"\1", text, flags=re.I)
    return text


def without_files(text: str, files: Sequence[str]) -> str:
    """Return a text without what names a file: the question is about these anyway."""
    names = {
        word for file in files for word in [*words(PurePath(file).stem), PurePath(file).name] if not word.isdigit()
    }
    named = "|".join(
        map(re.escape, [*sorted(names, key=len, reverse=True), "file", "table", "list", "sheet", "document"])
    )
    return re.sub(
        rf",? (?:in|of|on|from|according to) the (?:attached )?(?:{named})(?=[ ,.?]|$)(?! (?:of|from|in|with)\b)",
        "",
        text,
    )


def _with_phrases(text: str, said: str, values: Iterable[str], filters: list[AskedFilter]) -> str:
    """Take a value of several words out of a text, with the words that lead to it, and add its condition."""
    for value in sorted({each for each in values if re.search(r"\W", each)}, key=len, reverse=True):
        lead = rf"(?:,? (?:with|of|for|from|in|to|on))?(?: the)?(?: {re.escape(said)})?(?: of)?"
        found = re.search(rf"{lead} [\"“']?{re.escape(value)}s?[\"”']?(?=[ ,.?]|$)", text, re.I)
        if found:
            filters.append(AskedFilter(variable="", field=said, operator="=", value=value))
            return text[: found.start()] + text[found.end() :]
    return text


def _with_numbers(text: str, said: str, filters: list[AskedFilter]) -> str:
    """Take a comparison of a field with a number out of a text, and add its condition."""
    lead = r"(?:,? (?:that |which )?(?:with|of|has|have|having|had))?(?: an?| the)?"
    field = rf"{re.escape(said)}s?"
    before = rf"{lead} ({_MORE}) {_NUMBER} {field}(?=[ ,.?]|$)"
    after = rf"{lead} {field}(?: of| is| was)? ({_MORE}) {_NUMBER}(?=[ ,.?]|$)"
    equal = rf"(?:,? (?:on|in|with|of))?(?: the)? {field} ()(\d+(?:\.\d+)?)(?=[ ,.?]|$)"
    for pattern in (before, after, equal):
        found = re.search(pattern, text, re.I)
        if found:
            word = found[1].casefold()
            operator: Comparison = "=" if not word else _OPERATORS.get(word, "<" if word in _LESS else ">")
            number = float(found[2].replace(",", ""))
            value = int(number) if number.is_integer() else number
            filters.append(AskedFilter(variable="", field=said, operator=operator, value=value))
            return text[: found.start()] + text[found.end() :]
    return text
