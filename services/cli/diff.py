"""The command ``egotools diff``: what changes when one snapshot is published in place of another."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ontology.errors import InvalidArgumentError, NotFoundError
from services.cli.console import plain, print_json, stdout, table
from services.cli.options import Json, Store
from services.jobs.plans import DEFAULT_STORE

if TYPE_CHECKING:
    from ingest.trust.finding import Finding
    from retrieval.snapshot.reader import Snapshot
    from retrieval.snapshot.snapshot_diff import Change, SnapshotDiff, ToolEdge

__all__ = ["DIFFERENT", "diff"]

DIFFERENT = 17
"""The exit code when the snapshots differ. 1 and 2 are those of errors."""
_VALUE_CHARS = 60
_EDGE_EXAMPLES = 3  # of a predicate and a sign
_CHANGES = 8  # of one tool
_KNOWN = 10


def diff(
    old: Annotated[
        str,
        typer.Argument(help="The snapshot before: a store, the folder of a snapshot, or its id in the store."),
    ],
    new: Annotated[
        str | None,
        typer.Argument(
            help="The snapshot after, likewise. Without it, OLD is this one, and the published one is before."
        ),
    ] = None,
    store: Store = DEFAULT_STORE,
    limit: Annotated[int, typer.Option(min=1, help="Maximum number of lines for each kind of change.")] = 20,
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
    if new is None:
        before, after = open_snapshot(store), _open(old, store)
    else:
        before, after = _open(old, store), _open(new, store)
    found = diff_snapshots(before, after)
    findings = _findings(before, after, found)
    if as_json:
        print_json({**found.to_json(), "findings": [finding.to_json() for finding in findings]})
    else:
        _show(found, limit)
        _show_findings(findings, limit)
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


def _show_findings(findings: Sequence[Finding], limit: int) -> None:
    lines = (
        f"{each.severity}: {each.tool}: {each.kind} in {each.field}: {each.why}. “{each.quote}”" for each in findings
    )
    _lines("Findings in tools that were added or changed", lines, limit)


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
        raise InvalidArgumentError(
            f"{len(found)} snapshots of the store {store} begin so",
            subject=name,
            remedy=f"Write more of the id: {', '.join(found[:_KNOWN])}",
        )
    return open_snapshot(store / SNAPSHOTS / found[0])


def _show(found: SnapshotDiff, limit: int) -> None:
    stdout.print(f"snapshot [bold]{found.old}[/] → [bold]{found.new}[/]", highlight=False)
    if found.same:
        stdout.print("The snapshots are equal.")
        return
    tools, entities = found.tools, found.entities
    _lines("Settings", map(_changed, found.settings), limit)
    _lines("Tools added", (f"+ {id_}" for id_ in tools.added), limit)
    _lines("Tools removed", (f"- {id_}" for id_ in tools.removed), limit)
    _lines("Tools with another id", (f"{before} → {after}" for before, after in tools.renamed), limit)
    _lines("Tools changed", (f"~ {tool.id}\n{_indented(tool.changes)}" for tool in tools.changed), limit)
    _show_edges(found.edges_added, found.edges_removed)
    for kind, change in entities.items():
        signed = [
            *(f"{before} → {after}" for before, after in change.renamed),
            *(f"+ {name}" for name in change.added),
            *(f"- {name}" for name in change.removed),
        ]
        _lines(f"Entities of type {kind}", signed, limit)
    _lines(
        "Context parameters",
        (f"{row.namespace}: {row.name}: +{row.added} -{row.removed} tools" for row in found.context_parameters),
        limit,
    )
    _lines("Counts", map(_changed, found.counts), limit)


def _show_edges(added: Sequence[ToolEdge], removed: Sequence[ToolEdge]) -> None:
    """Print how many edges between tools come and go, by predicate, with a few of each."""
    counts = Counter(edge.predicate for edge in added), Counter(edge.predicate for edge in removed)
    if not added and not removed:
        return
    rows = [(name, counts[0][name], counts[1][name]) for name in sorted({*counts[0], *counts[1]})]
    stdout.print(table("Edges between tools", ("predicate", "added", "removed"), rows))
    for sign, edges in (("+", added), ("-", removed)):
        for edge in _examples(edges):
            value = f" ({edge.parameter} from {edge.output})" if edge.parameter and edge.output else ""
            _print(f"  {sign} {edge.head} {edge.predicate} {edge.tail}{value}")


def _examples(edges: Iterable[ToolEdge]) -> Iterator[ToolEdge]:
    shown: Counter[str] = Counter()
    for edge in edges:
        shown[edge.predicate] += 1
        if shown[edge.predicate] <= _EDGE_EXAMPLES:
            yield edge


def _lines(title: str, lines: Iterable[str], limit: int) -> None:
    """Print a title with the number of its lines, and the first of them; nothing where there are none."""
    found = list(lines)
    if not found:
        return
    stdout.print(f"[bold]{plain(title)}[/]: {len(found):,}", highlight=False)
    for line in found[:limit]:
        _print(f"  {line}")
    if len(found) > limit:
        _print(f"  … {len(found) - limit:,} more (--limit, --json)")


def _indented(changes: Iterable[Change]) -> str:
    lines = [f"      {_changed(change)}" for change in changes]
    return "\n".join(lines[:_CHANGES] + [f"      … {len(lines) - _CHANGES} more"] * (len(lines) > _CHANGES))


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
    line = " ".join(value.split()) if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
    return f"{line[:_VALUE_CHARS]}…" if len(line) > _VALUE_CHARS else line or '""'


def _print(text: str) -> None:
    stdout.print(plain(text), soft_wrap=True, highlight=False)
