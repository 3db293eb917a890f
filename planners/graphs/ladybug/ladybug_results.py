"""Rows of a Ladybug query as JSON values, without what Ladybug and the store keep for themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from planners.graphs.ladybug.ladybug_process import CypherRows
from planners.graphs.ladybug.ladybug_rows import properties_of
from planners.graphs.ladybug.ladybug_statement import HIDDEN_EDGE
from planners.graphs.ladybug.ladybug_tables import EXACT, KEY, LABEL, LadybugTables, own_name
from planners.graphs.property_graph import QueryRows
from planners.graphs.result_rows import json_value

__all__ = ["ladybug_results"]


def ladybug_results(found: CypherRows, titles: Sequence[str] | None, tables: LadybugTables) -> QueryRows:
    """Return the rows of a result.

    :param titles: of its columns; None: those that Ladybug gives.
    """
    names = [own_name(name) for name in found.columns]
    kept = [at for at, name in enumerate(names) if not name.startswith(HIDDEN_EDGE)]
    columns = tuple(titles) if titles is not None and len(titles) == len(kept) else tuple(names[at] for at in kept)
    rows = tuple(tuple(_value(row[at], tables) for at in kept) for row in found.rows)
    return QueryRows(columns=columns, rows=rows, cut=found.cut)


def _value(value: Any, tables: LadybugTables) -> object:
    if isinstance(value, list | tuple):
        return [_value(member, tables) for member in value]
    if not isinstance(value, Mapping):
        return own_name(value) if isinstance(value, str) else json_value(value)
    if "_SRC" in value and "_LABEL" in value:
        return {"type": own_name(value["_LABEL"]), "properties": _plain(properties_of(value, tables, "REL"))}
    if "_LABEL" in value:
        return {"label": value.get(LABEL), "properties": _plain(properties_of(value, tables, "NODE"))}
    if "_NODES" in value and "_RELS" in value:
        return {"nodes": _value(value["_NODES"], tables), "edges": _value(value["_RELS"], tables)}
    return {
        own_name(str(name)): _value(member, tables) for name, member in value.items() if name not in (KEY, EXACT, LABEL)
    }


def _plain(properties: Mapping[str, Any]) -> dict[str, object]:
    return {name: json_value(value) for name, value in properties.items()}
