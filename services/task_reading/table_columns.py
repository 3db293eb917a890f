"""Columns and rows of a table as a question names them: found by their words, and only where one alone is meant."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ontology.names import noun_lemma, words
from planners.kgot.asked import TableShape, Unreadable
from services.task_reading.table_domain import key_columns, shown_columns

__all__ = ["column_of", "is_numeric", "lemmas", "row_nouns", "said_key", "shape_said"]

_NO_NAMES = frozenset({"number", "name", "id", "identifier"})
"""Words behind what a row is called that mean what tells it apart: "ticket numbers"."""


def lemmas(text: str) -> tuple[str, ...]:
    """Return the words of a text, nouns in the singular."""
    return tuple(noun_lemma(each) for each in re.findall(r"[a-z]+", text.casefold()))


def is_numeric(table: TableShape, column: str) -> bool:
    """Whether a column holds anything but words."""
    return not all(isinstance(each, str) for each in table.columns[column])


def row_nouns(table: TableShape) -> frozenset[str]:
    """Return the words by which a row is called: of its table, and ``row``."""
    return frozenset({*lemmas(" ".join(words(table.label))), "row"})


def said_key(text: str, table: TableShape) -> str:
    """Return the first column that tells rows apart whose name stands in a text, or empty."""
    said = {*lemmas(text)}
    return next((name for name in key_columns(table) if said >= {*_own(name)}), "")


def column_of(said: str, table: TableShape, *, numeric: bool = False) -> str | Unreadable:
    """Return the column that is meant by words: of the same words, else the only one that has all of them.

    What a row is called, or its "name" or "number", is the column that tells rows apart.

    :param numeric: whether only columns of numbers come into question.
    """
    wanted = lemmas(said)
    held = [name for name in shown_columns(table) if not numeric or is_numeric(table, name)]
    same = [name for name in held if _own(name) == wanted]
    found = same or [name for name in held if wanted and {*wanted} <= {*_own(name)}]
    if len(found) == 1:
        return found[0]
    if found:
        return Unreadable(reason=f"“{said}” may be any of the columns {', '.join(found)}")
    keys = key_columns(table)
    if keys and not numeric and wanted and {*wanted} <= row_nouns(table) | _NO_NAMES:
        return keys[0]
    kind = "column of numbers" if numeric else "column"
    return Unreadable(reason=f"no {kind} is called “{said}”")


def shape_said(table: TableShape, files: Iterable[str]) -> str:
    """Return what the rows and the columns of a table are called, for who used other words."""
    held = {str(each).partition("#")[0] for each in table.columns.get("of", ())} or {*files}
    nouns = dict.fromkeys([" ".join(words(table.label)).casefold(), *key_columns(table)])
    return f"the rows of {', '.join(sorted(held))} are called {' or '.join(nouns)}; their columns are {', '.join(shown_columns(table))}"


def _own(name: str) -> tuple[str, ...]:
    return lemmas(" ".join(words(name)))
