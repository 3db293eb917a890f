"""The command ``egotools diff``: what changes when one snapshot is published in place of another."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from ontology.errors import InvalidArgumentError, NotFoundError
from services.cli.console import print_json, say, show_result
from services.cli.options import Json, Store
from services.jobs.plans import DEFAULT_STORE

if TYPE_CHECKING:
    from ingest.trust.examine import Finding
    from retrieval.snapshot.reader import Snapshot
    from retrieval.snapshot.snapshot_diff import SnapshotDiff

__all__ = ["DIFFERENT", "diff"]

DIFFERENT = 17
"""The exit code when the snapshots differ. 1 and 2 are those of errors."""
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
    told = {**found.to_json(), "findings": [finding.to_json() for finding in findings]}
    if as_json:
        print_json(told)
    elif found.same:
        say("The snapshots are equal.")
    else:
        show_result(told, limit)
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
