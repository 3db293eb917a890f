"""The commands ``egotools admin …``: publish, roll back, list and compare the catalogues of a running server."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from services.cli.admin_connection import LOCAL, AdminConnection
from services.cli.console import plain, print_json, stdout, table
from services.cli.options import Json, command

if TYPE_CHECKING:
    from egotools.admin import PublishedSnapshot

__all__ = ["admin_app"]

admin_app = typer.Typer(
    help="Publish, roll back, list and compare the catalogues of a running server.", no_args_is_help=True
)
_LINES = 20


@command(admin_app)
def publish(
    snapshot_id: Annotated[
        str, typer.Argument(help="Id of a snapshot of the store. Default: the one that it names as current.")
    ] = "",
    connection: AdminConnection = LOCAL,
    as_json: Json = False,
) -> None:
    """Serve a snapshot of the store, and make it the published one. A bad one is refused, and the old one serves on."""
    with connection.client() as client:
        _show_published(client.publish(snapshot_id), as_json)


@command(admin_app)
def rollback(
    snapshot_id: Annotated[
        str, typer.Argument(help="Id of an earlier snapshot. Default: the one before the current one.")
    ] = "",
    connection: AdminConnection = LOCAL,
    as_json: Json = False,
) -> None:
    """Serve an earlier snapshot again, and make it the published one."""
    with connection.client() as client:
        _show_published(client.rollback(snapshot_id), as_json)


@command(admin_app)
def snapshots(connection: AdminConnection = LOCAL, as_json: Json = False) -> None:
    """List the snapshots of the store, newest publication first."""
    with connection.client() as client:
        found = client.snapshots()
    if as_json:
        print_json([_row(each) for each in found])
        return
    rows = [
        (
            each.snapshot_id,
            f"{each.tool_count:,}",
            f"{each.bytes:,}",
            _shown(each.published),
            " ".join(word for word, true in (("served", each.served), ("current", each.current)) if true),
            each.problem,
        )
        for each in found
    ]
    stdout.print(table("Snapshots", ("id", "tools", "bytes", "published", "state", "problem"), rows))


@command(admin_app)
def diff(
    old_id: Annotated[str, typer.Argument(help="Id of the old snapshot. Default: the one that is served.")] = "",
    new_id: Annotated[str, typer.Argument(help="Id of the new one. Default: the one that the store publishes.")] = "",
    connection: AdminConnection = LOCAL,
    as_json: Json = False,
) -> None:
    """Compare two snapshots of the store. The whole comparison is in --json."""
    with connection.client() as client:
        found = client.diff(old_id, new_id)
    if as_json:
        print_json(found.details)
        return
    stdout.print(f"snapshot [bold]{plain(found.old_id)}[/] → [bold]{plain(found.new_id)}[/]", highlight=False)
    for sign, ids in (("+", found.added), ("-", found.removed), ("~", found.changed)):
        for each in ids[:_LINES]:
            stdout.print(plain(f"  {sign} {each}"), soft_wrap=True, highlight=False)
        if len(ids) > _LINES:
            stdout.print(f"  {sign} … {len(ids) - _LINES:,} more (--json)", highlight=False)


@command(admin_app)
def catalogs(connection: AdminConnection = LOCAL, as_json: Json = False) -> None:
    """List the catalogues of the server, and what each serves."""
    with connection.client() as client:
        found = client.catalogs()
    if as_json:
        print_json([_row(each) for each in found])
        return
    rows = [
        (each.tenant, each.snapshot_id, f"{each.tool_count:,}", _shown(each.since), each.draining, each.problem)
        for each in found
    ]
    stdout.print(table("Catalogues", ("tenant", "snapshot", "tools", "since", "draining", "problem"), rows))


def _show_published(found: PublishedSnapshot, as_json: bool) -> None:
    if as_json:
        print_json(asdict(found))
        return
    before = f" (before: {found.previous_id})" if found.previous_id != found.snapshot_id else " (as before)"
    stdout.print(plain(f"Serving {found.snapshot_id}{before}"), highlight=False)


def _row(value: Any) -> dict[str, Any]:
    return {key: each.isoformat() if isinstance(each, datetime) else each for key, each in asdict(value).items()}


def _shown(at: datetime | None) -> str:
    return at.strftime("%Y-%m-%d %H:%M:%S UTC") if at else ""
