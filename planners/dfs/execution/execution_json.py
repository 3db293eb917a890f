"""Events and executions as JSON values, for a journal, a page, and a command."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from typing import Any

from planners.dfs.execution.execution import Execution, Missing, words_of
from planners.dfs.execution.execution_events import BranchFailed, Event, Filtered, Intersected, Pruned, SetResolved
from planners.dfs.resolver import Entity

__all__ = ["event_json", "execution_json"]

_MOST_CHARS = 500


def event_json(event: Event) -> dict[str, Any]:
    """Return an event as an object: ``event`` is the name of its class, the rest its fields; long texts of entities are cut."""
    name = {"event": type(event).__name__}
    match event:
        case BranchFailed():
            return {**name, "missing": _missing(event.missing)}
        case SetResolved() | Intersected() | Filtered():
            sizes = {each.name: getattr(event, each.name) for each in fields(event)}
            return {**name, **sizes, "first": [_cut(each) for each in event.first]}
        case Pruned():
            first = {var: [_cut(each) for each in found] for var, found in event.first.items()}
            return {**name, "sizes": dict(event.sizes), "first": first}
        case _:
            return {**name, **asdict(event)}


def execution_json(execution: Execution) -> dict[str, Any]:
    """Return an execution as an object with the names of its fields; constraints are written as a person writes them."""
    return {
        "answer": [_entity(each) for each in execution.answer],
        "count": execution.count,
        "candidates": {var: [_entity(each) for each in found] for var, found in execution.candidates.items()},
        "missing": [_missing(each) for each in execution.missing],
        "calls": [asdict(each) for each in execution.calls],
        "totals": asdict(execution.totals),
        "exact": execution.exact,
    }


def _cut(entity: Entity) -> dict[str, Any]:
    return {"id": entity.id, "fields": {name: _shortened(value) for name, value in entity.fields.items()}}


def _shortened(value: Any) -> Any:
    text = value if isinstance(value, str) else None if isinstance(value, int | float | None) else json.dumps(value)
    return value if text is None or len(text) <= _MOST_CHARS else f"{text[: _MOST_CHARS - 1]}…"


def _entity(entity: Entity) -> dict[str, Any]:
    return {"id": entity.id, "fields": dict(entity.fields)}


def _missing(missing: Missing) -> dict[str, Any]:
    return {
        "var": missing.var,
        "constraints": [words_of(each) for each in missing.constraints],
        "reason": missing.reason,
    }
