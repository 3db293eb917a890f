"""The command ``egotools sync``: the sources are read again, and what changed is built and published, once or as it happens."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ontology.errors import EgotoolsError
from services.audited import audited
from services.cli.console import plain, print_json, show_error, stdout
from services.cli.findings import show_findings_of
from services.cli.lost_signature import told_of_lost_signature
from services.cli.options import Json, Store
from services.jobs.plans import DEFAULT_KEEP, DEFAULT_STORE, AllowedModels, BuildPlan, SigningKey
from services.threads import pin_threads

if TYPE_CHECKING:
    from services.jobs.source_sync import SyncReport

__all__ = ["sync"]

_SHOWN = 20
_UNREAD = 4  # the exit code of a catalogue error


def _gone(value: str) -> str:
    """Refuse an option of earlier versions."""
    if value:
        raise typer.BadParameter(
            "changes are no longer sent to a server, and no state of them is kept: sync builds and publishes in --store; a server that "
            "watches it serves that, any other after `egotools admin publish`"
        )
    return value


def sync(
    addresses: Annotated[list[str], typer.Argument(metavar="ADDRESS", help="Sources files, or NAME=ADDRESS.")],
    store: Store = DEFAULT_STORE,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict",
            help="Publish nothing when a source or a record cannot be read. Default: such a source keeps its tools.",
        ),
    ] = False,
    findings: Annotated[
        str | None, typer.Option("--findings", help="As of `egotools build`: report, quarantine or refuse.")
    ] = None,
    keep: Annotated[
        int, typer.Option(min=0, envvar="EGOTOOLS_KEEP", help="How many snapshots the store keeps; 0: all.")
    ] = DEFAULT_KEEP,
    signing_key: SigningKey = None,
    allowed_models: AllowedModels = (),
    workers: Annotated[int, typer.Option(min=1, help="As of `egotools build`.")] = 2,
    keep_watching: Annotated[
        bool,
        typer.Option(
            "--watch",
            help="Go on: sync when a file changes, when an MCP server says list_changed, and after the shortest refresh interval.",
        ),
    ] = False,
    as_json: Json = False,
    _server: Annotated[str, typer.Option("--server", hidden=True, callback=_gone)] = "",
    _state: Annotated[str, typer.Option("--state", hidden=True, callback=_gone)] = "",
    _tenant: Annotated[str, typer.Option("--tenant", hidden=True, callback=_gone)] = "",
    _token_file: Annotated[str, typer.Option("--token-file", hidden=True, callback=_gone)] = "",
    _ca_file: Annotated[str, typer.Option("--ca-file", hidden=True, callback=_gone)] = "",
) -> None:
    """Read the sources again, build what changed, and publish it as one snapshot.

    The snapshot has the tools of these sources and no others. A source that cannot be read keeps its published tools; the exit code is then 4.
    """
    pin_threads()  # before a numeric library is imported
    from ingest.trust.quarantine import read_record
    from services.jobs.source_sync import sources_of, sync_sources, watch

    plan = BuildPlan(
        addresses=tuple(addresses),
        store=store,
        strict=strict,
        keep=keep,
        signing_key=signing_key,
        workers=workers,
        findings=findings or read_record(store).policy,
    )

    def run() -> SyncReport:
        with told_of_lost_signature(store), audited("publish", str(store)) as change:
            report = sync_sources(plan, allowed_models=allowed_models)
            change.published(report.snapshot_id if report.snapshot_id != report.previous_id else "")
        return report

    if not keep_watching:
        report = run()
        _show(report, store, as_json=as_json)
        if report.kept:
            raise typer.Exit(_UNREAD)
        return
    sources_of(plan.addresses)
    stopped = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopped.set())
    for done in watch(plan.addresses, run, stopped):
        if isinstance(done, EgotoolsError):
            show_error(done, as_json=as_json)
        else:
            _show(done, store, as_json=as_json)


def _show(report: SyncReport, store: Path, *, as_json: bool) -> None:
    if as_json:
        print_json(report.to_json())
        return
    unchanged = report.snapshot_id == report.previous_id
    outcome = "Unchanged" if unchanged else "[bold green]Published[/]"
    counts = f"{len(report.added):,} added, {len(report.changed):,} changed, {len(report.removed):,} removed"
    stdout.print(
        f"{outcome}: snapshot [bold]{plain(report.snapshot_id)}[/]: {report.tools:,} tools, {counts}",
        soft_wrap=True,
        highlight=False,
    )
    for sign, ids in (("+", report.added), ("~", report.changed), ("-", report.removed)):
        _lines(f"{sign} {id_}" for id_ in ids[:_SHOWN])
        if len(ids) > _SHOWN:
            _lines([f"{sign} … {len(ids) - _SHOWN:,} more (--json)"])
    _lines(f"{each.name}: left as it is, {each.tools:,} tools kept: {each.problem}" for each in report.kept)
    found = report.build.findings
    show_findings_of(store, found.tools, found.severe, len(found.quarantined))


def _lines(texts: Iterable[str]) -> None:
    for text in texts:
        stdout.print(f"  {plain(text)}", soft_wrap=True, highlight=False)
