"""The difference between two snapshots: what publishing the second in place of the first changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from retrieval.index.records import refuse_invalid
from retrieval.snapshot.reader import Snapshot


@dataclass(frozen=True)
class Change:
    """One difference: its place (``inputs.order_id.type``), the JSON value before, and the value now; None where there is none."""

    field: str
    before: Any
    after: Any


def json_changes(before: Any, after: Any, field: str = "") -> Iterator[Change]:
    """Yield the innermost differences of two JSON values, in the order of the second.

    Objects are compared by key; lists of objects with names by these, and their order too; all else as a whole.

    :param field: the place of the two values.
    """
    old, new = _by_name(before), _by_name(after)
    if not (isinstance(old, Mapping) and isinstance(new, Mapping)):
        if old != new:
            yield Change(field, before, after)
        return
    prefix = f"{field}." if field else ""
    for key in [*new, *(key for key in old if key not in new)]:
        if key not in old:
            yield Change(f"{prefix}{key}", None, new[key])
        elif key not in new:
            yield Change(f"{prefix}{key}", old[key], None)
        else:
            yield from json_changes(old[key], new[key], f"{prefix}{key}")
    if isinstance(before, list) and old.keys() == new.keys() and [*old] != [*new]:
        yield Change(f"{field} order", [*old], [*new])


def _by_name(value: Any) -> Any:
    """Return a list of objects with different names as an object; any other value as it is."""
    if not isinstance(value, list) or not all(isinstance(item, Mapping) and "name" in item for item in value):
        return value
    named = {str(item["name"]): {key: inner for key, inner in item.items() if key != "name"} for item in value}
    return named if len(named) == len(value) else value


_NOT_SETTINGS = ("files", "counts", "format_version")
_FLAT = {"parameters": "inputs", "returns": "outputs"}  # as tools' documents name them, and as people do
_REPEATING = ("input_schema", "output_schema", "call")  # what repeats much of inputs and outputs


@dataclass(frozen=True)
class ToolChange:
    """A tool whose document changed, and what in it."""

    id: str
    changes: tuple[Change, ...]


@dataclass(frozen=True, order=True)
class ToolEdge:
    """An edge between two tools; ``parameter`` and ``output`` are empty where it is not about values."""

    head: str
    predicate: str
    tail: str
    parameter: str
    output: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolDiff:
    """Ids of tools, sorted."""

    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[ToolChange, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotDiff:
    """The difference between two snapshots.

    :param old: id of the first.
    :param new: id of the second; equal ids mean equal snapshots, as an id is a hash of the content.
    :param settings: changes in the manifest: encoder, extractor, ontology, abbreviations, weights, sources.
    :param counts: changed numbers of nodes by type and of edges by predicate.
    :param edges_added: edges between tools, sorted.
    """

    old: str
    new: str
    settings: tuple[Change, ...]
    counts: tuple[Change, ...]
    tools: ToolDiff
    edges_added: tuple[ToolEdge, ...]
    edges_removed: tuple[ToolEdge, ...]

    @property
    def same(self) -> bool:
        """Whether the snapshots are equal."""
        return self.old == self.new

    def to_json(self) -> dict[str, Any]:
        """Return the difference as JSON values."""
        return {"same": self.same, **asdict(self)}


def diff_snapshots(old: Snapshot, new: Snapshot) -> SnapshotDiff:
    """Return what changes from one snapshot to another. Time is linear in their size.

    :raises SnapshotCorruptError: when a record has another form than is written.
    """
    with refuse_invalid(f"{old.folder} or {new.folder}"):
        rows = _differing_tools(old, new)
        changed = (ToolChange(id_, tuple(_row_changes(*row))) for id_, row in sorted(rows.items()) if all(row))
        contents = old.manifest.content(), new.manifest.content()
        was, now = ({key: each[key] for key in each if key not in _NOT_SETTINGS} for each in contents)
        before, after = _tool_edges(old), _tool_edges(new)
        return SnapshotDiff(
            old=old.id,
            new=new.id,
            settings=tuple(json_changes(was, now)),
            counts=tuple(json_changes(contents[0]["counts"], contents[1]["counts"])),
            tools=ToolDiff(
                added=tuple(sorted(id_ for id_, (before_, _) in rows.items() if before_ is None)),
                removed=tuple(sorted(id_ for id_, (_, after_) in rows.items() if after_ is None)),
                changed=tuple(changed),
            ),
            edges_added=tuple(sorted(after - before)),
            edges_removed=tuple(sorted(before - after)),
        )


def _differing_tools(old: Snapshot, new: Snapshot) -> dict[str, tuple[Any, Any]]:
    """The JSON rows, before and after, of the tools that differ, by id; None where one is not there. Equal lines are
    not decoded."""
    at = {old.tool_id(number): number for number in range(old.tool_count)}
    rows: dict[str, tuple[Any, Any]] = {}
    for number in range(new.tool_count):
        id_ = new.tool_id(number)
        known = at.pop(id_, None)
        if known is None or old.tools.text(known) != new.tools.text(number):
            rows[id_] = (None if known is None else old.tools.read(known, dict), new.tools.read(number, dict))
    return rows | {id_: (old.tools.read(number, dict), None) for id_, number in at.items()}


def _row_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Change]:
    """What changed in a tool; in its schemas and its call only where nothing else did, which they repeat."""
    was, now = ({_FLAT.get(key, key): each[key] for key in each if key not in _REPEATING} for each in (before, after))
    return [*json_changes(was, now)] or [*json_changes(before, after)]


def _tool_edges(snapshot: Snapshot) -> set[ToolEdge]:
    adjacency, tools = snapshot.adjacency, snapshot.tool_count
    ids = [snapshot.tool_id(number) for number in range(tools)]
    edges = set()
    for number in np.flatnonzero((adjacency.heads < tools) & (adjacency.tails < tools)).tolist():
        row = snapshot.edges[number]
        head, tail = ids[adjacency.heads[number]], ids[adjacency.tails[number]]
        predicate = snapshot.predicates[adjacency.predicates[number]]
        edges.add(ToolEdge(head, predicate, tail, row.parameter, row.output))
    return edges
