"""The command ``egotools diff``: what changes when one snapshot is published in place of another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from ontology.errors import InvalidArgumentError, NotFoundError
from services.cli.console import compact_json, plain, print_json, say, show_lines
from services.cli.options import Json, Store
from services.jobs.plans import DEFAULT_STORE

if TYPE_CHECKING:
    from ingest.trust.finding import Finding
    from retrieval.snapshot.reader import Snapshot
    from retrieval.snapshot.snapshot_diff import Change, SnapshotDiff

__all__ = ["DIFFERENT", "diff"]

DIFFERENT = 17
"""The exit code when the snapshots differ. 1 and 2 are those of errors."""
_VALUE_CHARS = 60
_CHANGES = 8  # of one tool
_KNOWN = 10


def diff(
    old: Annotated[str, Argument(help="Before: a store, the folder of a snapshot, or its id in the store.")],
    new: Annotated[str | None, Argument(help="After. Without: OLD, after the published one.")] = None,
    store: Store = DEFAULT_STORE,
    limit: Annotated[int, Option(min=1, help="Lines for each kind of change.")] = 20,
    as_json: Json = False,
) -> None:
    """Show what changes from one snapshot to another: tools, edges between them, entities, context parameters, settings.

    The exit code is 0 when the snapshots are equal, and 17 when they differ.
    """
    from retrieval.snapshot.reader import open_snapshot
    from retrieval.snapshot.snapshot_diff import diff_snapshots

    if not old.strip() or (new is not None and not new.strip()):
        remedy = "A variable of the shell may not be set; name a store, the folder of a snapshot, or an id"
        raise InvalidArgumentError("the name of a snapshot is empty", subject="OLD and NEW", remedy=remedy)
    before = open_snapshot(store) if new is None else _open(old, store)
    after = _open(old if new is None else new, store)
    found = diff_snapshots(before, after)
    findings = _findings(before, after, found)
    if as_json:
        print_json({**found.to_json(), "findings": [finding.to_json() for finding in findings]})
    else:
        _show(found, findings, limit)
    if not found.same:
        raise typer.Exit(DIFFERENT)


def _findings(before: Snapshot, after: Snapshot, found: SnapshotDiff) -> list[Finding]:
    """The findings in tools that were added or changed, compared with the snapshot before."""
    from ingest.trust.examine import findings_of

    ids = {*found.tools.added, *(new for _, new in found.tools.renamed), *(tool.id for tool in found.tools.changed)}
    if not ids:
        return []
    tools = [after.tool(number) for number in range(after.tool_count)]
    old = (before.tool(number) for number in range(before.tool_count))
    new = [tool for tool in tools if tool.id in ids]
    return findings_of(new, {tool.id: tool for tool in old if tool.id in ids}, beside=tools)


def _open(name: str, store: Path) -> Snapshot:
    """Open a snapshot by the path of a store or of its folder, or by the beginning of its id in the store.

    :raises NotFoundError: when there is none; InvalidArgumentError when several ids begin so.
    """
    from retrieval.snapshot.publish import SNAPSHOTS
    from retrieval.snapshot.reader import open_snapshot

    if Path(name).is_dir():
        return open_snapshot(Path(name))
    ids = sorted(path.name for path in (store / SNAPSHOTS).glob("*") if path.is_dir())
    found = [id_ for id_ in ids if id_.startswith(name)]
    if not found:
        known = f"It has {', '.join(ids[-_KNOWN:])}" if ids else "Name a store or the folder of a snapshot"
        raise NotFoundError(f"no folder, and no snapshot of the store {store}", subject=name, remedy=known)
    if len(found) > 1:
        problem = f"{len(found)} snapshots of the store {store} begin so"
        remedy = f"Write more of the id: {', '.join(found[:_KNOWN])}"
        raise InvalidArgumentError(problem, subject=name, remedy=remedy)
    return open_snapshot(store / SNAPSHOTS / found[0])


def _show(found: SnapshotDiff, findings: Sequence[Finding], limit: int) -> None:
    say(f"snapshot [bold]{plain(found.old)}[/] → [bold]{plain(found.new)}[/]")
    if found.same:
        say("The snapshots are equal.")
        return
    parts: dict[str, Iterable[str]] = {
        "Settings": map(_changed, found.settings),
        "Tools added": (f"+ {id_}" for id_ in found.tools.added),
        "Tools removed": (f"- {id_}" for id_ in found.tools.removed),
        "Tools with another id": _arrows(found.tools.renamed),
        "Tools changed": (f"~ {tool.id}{_indented(tool.changes)}" for tool in found.tools.changed),
        "Edges between tools": _edges(found),
    }
    for kind, change in found.entities.items():
        signed = [*(f"+ {name}" for name in change.added), *(f"- {name}" for name in change.removed)]
        parts[f"Entities of type {kind}"] = [*_arrows(change.renamed), *signed]
    parts["Context parameters"] = (
        f"{row.namespace}: {row.name}: +{row.added} -{row.removed} tools" for row in found.context_parameters
    )
    parts["Counts"] = map(_changed, found.counts)
    parts["Findings in tools that were added or changed"] = (
        f"{each.severity}: {each.tool}: {each.kind} in {each.field}: {each.why}. “{each.quote}”" for each in findings
    )
    for title, lines in parts.items():
        show_lines(title, list(lines), limit)


def _arrows(pairs: Iterable[tuple[str, str]]) -> list[str]:
    return [f"{before} → {after}" for before, after in pairs]


def _edges(found: SnapshotDiff) -> list[str]:
    """How many edges between tools come and go, by predicate, and each of them."""
    signed = [*(("+", edge) for edge in found.edges_added), *(("-", edge) for edge in found.edges_removed)]
    counts = Counter((edge.predicate, sign) for sign, edge in signed)
    lines = [f"{name}: +{counts[name, '+']:,} -{counts[name, '-']:,}" for name in sorted({name for name, _ in counts})]
    for sign, edge in signed:
        value = f" ({edge.parameter} from {edge.output})" if edge.parameter and edge.output else ""
        lines.append(f"{sign} {edge.head} {edge.predicate} {edge.tail}{value}")
    return lines


def _indented(changes: Iterable[Change]) -> str:
    lines = [f"\n      {_changed(change)}" for change in changes]
    return "".join(lines[:_CHANGES]) + (f"\n      … {len(lines) - _CHANGES} more" if len(lines) > _CHANGES else "")


def _changed(change: Change) -> str:
    if change.before is None:
        return f"{change.field} added: {_short(change.after)}"
    if change.after is None:
        return f"{change.field} removed: {_short(change.before)}"
    return f"{change.field}: {_short(change.before)} → {_short(change.after)}"


def _short(value: Any) -> str:
    """Return a JSON value in one short line; of a parameter its type and whether it is required."""
    if isinstance(value, dict) and "type" in value:
        return f"{value['type']}, required" if value.get("required") else str(value["type"])
    line = " ".join(value.split()) if isinstance(value, str) else compact_json(value)
    return f"{line[:_VALUE_CHARS]}…" if len(line) > _VALUE_CHARS else line or '""'
