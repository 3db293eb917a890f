"""The schema of a table as a domain of the DFS planner, so that its parser reads questions about the rows."""

from __future__ import annotations

import re

from ontology.names import words
from planners.dfs.domain import Domain, EntityType, FieldType
from planners.graphs.property_graph import Scalar
from planners.kgot.asked import TableShape

__all__ = ["key_columns", "shown_columns", "table_domain"]

_MOST_VALUES = 2_000
_NO_FIELDS = ("of", "row")  # these say where a row stands
_NAMES = re.compile(r"^[A-Za-z_][A-Za-z0-9_]{0,63}$")


def table_domain(table: TableShape) -> Domain:
    """Return the domain of one type: a row, with a field for each column.

    A row is called as its table is, or as a column that tells rows apart (``ticket``). Words in a column are values by themselves.
    """
    columns = {name: values for name, values in table.columns.items() if name not in _NO_FIELDS and _NAMES.match(name)}
    nouns = list(dict.fromkeys([" ".join(words(table.label)), *(_said(name) for name in key_columns(table))]))
    fields = {name: _field(name, values) for name, values in columns.items()}
    row = EntityType(variable="r", words=tuple([*nouns, "row"]), fields=fields)
    return Domain(name="table", description="A table of a file.", types={table.label: row})


def key_columns(table: TableShape) -> tuple[str, ...]:
    """Return the columns of words whose values are all different, in their order."""
    rows = max((len(values) for name, values in table.columns.items() if name == "row"), default=0)
    held = [(name, values) for name, values in table.columns.items() if name not in _NO_FIELDS]
    return tuple(
        name
        for name, values in held
        if len(values) == len(set(values)) and len(values) >= rows and all(isinstance(each, str) for each in values)
    )


def shown_columns(table: TableShape) -> tuple[str, ...]:
    """Return the columns without those that only say where a row stands."""
    return tuple(name for name in table.columns if name not in _NO_FIELDS)


def _field(name: str, values: tuple[Scalar, ...]) -> FieldType:
    texts = [each for each in values if isinstance(each, str)]
    if len(texts) < len(values):
        return FieldType(operators=("=", "<", ">"), kind="number", words=(_said(name),))
    single = tuple(dict.fromkeys(each.casefold() for each in texts[:_MOST_VALUES] if re.fullmatch(r"\w+", each)))
    return FieldType(operators=("=",), words=(_said(name),), values=single)


def _said(name: str) -> str:
    return " ".join(words(name)).casefold()
