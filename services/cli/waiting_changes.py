"""How many tools of a store have changes that a merge has yet to bring into its snapshot."""

from __future__ import annotations

from pathlib import Path

from services.cli.console import stdout

__all__ = ["show_waiting", "waiting_changes"]


def waiting_changes(store: Path, snapshot_id: str) -> int:
    """Return the number of tools that the log of a snapshot changes: a command that reads the snapshot does not see them.

    :raises SnapshotCorruptError: when the log is damaged.
    """
    from retrieval.snapshot.change_records import waiting_tools

    return len(waiting_tools(store, snapshot_id))


def show_waiting(count: int) -> None:
    """Print a line where there are any."""
    if count:
        stdout.print(
            f"[yellow]{count:,} changed tools wait for a merge[/] and are not considered here; a server has them"
        )
