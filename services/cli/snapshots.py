"""The commands ``egotools snapshots`` and ``egotools rollback``: what a store has published, and the way back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ontology.errors import InvalidArgumentError
from services.audited import audited
from services.cli.console import plain, print_json, stdout, table
from services.cli.options import Json, Store
from services.jobs.plans import DEFAULT_KEEP, DEFAULT_STORE

if TYPE_CHECKING:
    from retrieval.snapshot.history import Publication, StoredSnapshot

__all__ = ["rollback", "snapshots"]

_SHOWN = 10


def snapshots(
    store: Store = DEFAULT_STORE,
    collect: Annotated[
        bool, typer.Option("--collect", help="Remove old snapshots, and what processes left that were killed.")
    ] = False,
    keep: Annotated[
        int,
        typer.Option(
            min=0,
            envvar="EGOTOOLS_KEEP",
            help="With --collect: how many snapshots stay, the published one included. One that a process serves always "
            "stays. 0: all.",
        ),
    ] = DEFAULT_KEEP,
    as_json: Json = False,
) -> None:
    """List the snapshots of a store and its last publications, newest first."""
    from retrieval.snapshot.collect import collect as run
    from retrieval.snapshot.history import history, list_snapshots
    from retrieval.snapshot.publish import no_snapshot

    collected = run(store, keep) if collect else None
    found, entries = list_snapshots(store), history(store)
    if not found and not entries:
        raise no_snapshot(store)
    if as_json:
        row: dict[str, Any] = {
            "snapshots": [each.to_json() for each in found],
            "history": [each.to_json() for each in reversed(entries)],
        }
        print_json(row if collected is None else {**row, "collected": collected.to_json()})
        return
    if collected is not None:
        in_use = f"; {len(collected.in_use)} more are in use" if collected.in_use else ""
        stdout.print(f"Removed {len(collected.removed)} snapshots ({collected.bytes / 1e6:,.1f} MB){in_use}")
    stdout.print(_snapshot_table(found))
    _show_history(entries)


def rollback(
    snapshot_id: Annotated[
        str | None,
        typer.Argument(metavar="[ID]", help="Snapshot to publish again. Default: the one before the current one."),
    ] = None,
    store: Store = DEFAULT_STORE,
    as_json: Json = False,
) -> None:
    """Publish an earlier snapshot again, without a build. Every file of it is checked first.

    Rolling back twice goes back two publications. Servers that watch the store serve it from then on.
    """
    from retrieval.snapshot.history import history
    from retrieval.snapshot.history import rollback as run

    if snapshot_id is not None and not snapshot_id.strip():
        remedy = "A variable of the shell may not be set; leave it out for the snapshot before the current one"
        raise InvalidArgumentError("the id is empty", subject="ID", remedy=remedy)
    with audited("rollback", str(store)) as change:
        publication = run(store, snapshot_id or "")
        change.published(publication.snapshot_id)
    entries = history(store)
    if as_json:
        print_json({**publication.to_json(), "history": [each.to_json() for each in reversed(entries)]})
        return
    stdout.print(f"Published {publication.snapshot_id} again, in place of {publication.previous_id}", highlight=False)
    _show_history(entries)


def _snapshot_table(found: Sequence[StoredSnapshot]) -> Any:
    rows = [
        (
            each.snapshot_id,
            f"{each.tool_count:,}",
            f"{each.bytes / 1e6:,.1f}",
            _time(each.published) if each.published else "never",
            each.problem or ("current" if each.current else ""),
        )
        for each in found
    ]
    return table("Snapshots", ("id", "tools", "MB", "last published (UTC)", ""), rows)


def _show_history(entries: Sequence[Publication]) -> None:
    rows = [
        (each.sequence, _time(each.time), each.action, each.snapshot_id, each.previous_id, each.actor)
        for each in reversed(entries[-_SHOWN:])
    ]
    stdout.print(table("History", ("", "UTC", "action", "id", "before", "by"), rows))
    if len(entries) > _SHOWN:
        stdout.print(plain(f"… and {len(entries) - _SHOWN:,} earlier ones (--json shows all)"))


def _time(time: Any) -> str:
    return f"{time:%Y-%m-%d %H:%M:%S}"
