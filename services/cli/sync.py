"""The command ``egotools sync``: what changed in the sources goes to a catalogue, once or as it happens."""

from __future__ import annotations

import hashlib
import signal
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from services.cli.admin_connection import AdminConnection, admin_errors
from services.cli.console import print_json, stdout
from services.cli.findings import show_findings_of
from services.cli.options import Json, Store
from services.cli.server_options import CaFile, TokenFile
from services.jobs.plans import DEFAULT_STORE
from services.jobs.user_folders import state_folder
from services.threads import pin_threads

if TYPE_CHECKING:
    from services.jobs.change_sinks import ServerSink, StoreSink
    from services.jobs.source_sync import SourceSync

__all__ = ["sync"]


def sync(
    addresses: Annotated[list[str], typer.Argument(metavar="ADDRESS", help="Sources files, or NAME=ADDRESS.")],
    store: Store = DEFAULT_STORE,
    server: Annotated[
        str,
        typer.Option(help="Address of a server's admin service, HOST:PORT. Without it the store itself is changed."),
    ] = "",
    tenant: Annotated[str, typer.Option(help="With --server: the catalogue.")] = "",
    token_file: TokenFile = None,
    ca_file: CaFile = None,
    state: Annotated[
        Path | None,
        typer.Option(
            help="File that keeps what was sent. Default: sync.json in the store; with --server a file in "
            "$XDG_STATE_HOME/egotools (~/.local/state/egotools)."
        ),
    ] = None,
    keep_watching: Annotated[
        bool,
        typer.Option(
            "--watch",
            help="Go on: sync a source when its files change, when its MCP server says list_changed, and after its refresh "
            "interval.",
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Read sources again, and add, replace and remove the tools that differ, without a build.

    The exit code is that of the first source or tool that was left out; the others are sent.
    """
    pin_threads()  # before a numeric library is imported
    from ingest.trust.quarantine import read_record
    from services.jobs.source_sync import Sync
    from services.jobs.sync_watch import watch

    connection = AdminConnection(target=server, tenant=tenant, token_file=token_file, ca_file=ca_file)
    with admin_errors(server):
        sink = _sink(connection, store)
    try:
        runs = Sync(addresses, sink, state or (_server_state(sink) if server else store / "sync.json"))
        if keep_watching:
            stopped = threading.Event()
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, lambda *_: stopped.set())
            done = watch(runs, stopped)
        else:
            done = runs.run([source.name for source in runs.sources()])
        codes = [one.exit_code for one in _shown(done, as_json=as_json)]
    finally:
        sink.close()
    if not server and not as_json:
        record = read_record(store)
        show_findings_of(store, len(record.hashes), record.severe(), len(record.quarantined))
    if not keep_watching and any(codes):
        raise typer.Exit(next(filter(None, codes)))


def _sink(connection: AdminConnection, store: Path) -> ServerSink | StoreSink:
    from services.jobs.change_sinks import ServerSink, StoreSink

    if not connection.target:
        return StoreSink(store)
    return ServerSink(connection.open(), connection.target, connection.tenant)


def _server_state(sink: ServerSink | StoreSink) -> Path:
    """The file for the catalogue of a server: one for each, of this user."""
    digest = hashlib.sha256(f"{sink.tenant}@{sink.target}".encode()).hexdigest()[:16]
    return state_folder() / f"sync-{digest}.json"


def _shown(done: Iterable[SourceSync], *, as_json: bool) -> Iterator[SourceSync]:
    for one in done:
        _show(one, as_json=as_json)
        yield one


def _show(one: SourceSync, *, as_json: bool) -> None:
    if as_json:
        print_json(
            {
                "source": one.name,
                "tools": one.tools,
                "upserted": one.upserted,
                "deleted": one.deleted,
                "refused": [{"id": id_, "problem": why} for id_, why in one.refused],
                "problem": one.problem,
            }
        )
        return
    problem = f"; left as it is: {one.problem}" if one.problem else ""
    stdout.print(
        escape(f"{one.name}: {one.tools:,} tools, {one.upserted:,} sent, {one.deleted:,} removed{problem}"),
        soft_wrap=True,
    )
    for id_, why in one.refused:
        stdout.print(escape(f"  refused: {id_}: {why}"), soft_wrap=True)
