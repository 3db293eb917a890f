"""The commands ``egotools build`` and ``egotools sync``: tool documents in, a published snapshot out."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ontology.errors import EgotoolsError
from services.audited import AuditedChange, audited
from services.cli.console import (
    ProgressDisplay,
    counted,
    plain,
    print_json,
    say,
    show_error,
    show_facts,
    show_lines,
    tell,
)
from services.cli.options import Json, On, Store
from services.cluster.ray_cluster import on_ray
from services.jobs.plans import DEFAULT_KEEP, DEFAULT_STORE, AllowedModels, BuildPlan, SigningKey

if TYPE_CHECKING:
    from ingest.build_report import BuildReport
    from ingest.trust.quarantine import FindingsReport
    from services.jobs.source_sync import SyncReport

__all__ = ["build", "sync", "told_of_lost_signature"]

_EXAMPLES = 3
_SHOWN = 20  # lines of a kind of change
_UNREAD = 4  # the exit code of a catalogue error


@contextmanager
def told_of_lost_signature(store: Path) -> Iterator[None]:
    """Warn on the error channel when the block publishes a snapshot that nobody has signed, and the one before was signed."""
    was_signed = _is_signed(store)
    yield
    if was_signed and not _is_signed(store):
        tell(
            "[bold yellow]Warning[/]: the snapshot that was published before is signed, this one is not. Servers that trust keys "
            "(EGOTOOLS_TRUSTED_KEYS) refuse it, and do not start with it. Publish it again with --signing-key or "
            "EGOTOOLS_SIGNING_KEY, or take it back with: egotools admin rollback"
        )


def _is_signed(store: Path) -> bool:
    from retrieval.snapshot.publish import current_snapshot
    from retrieval.snapshot.signing import is_signature

    try:
        return any(is_signature(path.name) for path in current_snapshot(store).iterdir())
    except (EgotoolsError, OSError):  # there is none; what is damaged, others say
        return False


def build(plan: BuildPlan, on: On = "local", as_json: Json = False) -> None:
    """Read tool documents, build the tool graph and publish a snapshot.

    Give credentials by reference, in a sources file (docs/sources.md): arguments of a command can be read by others.
    """
    from ingest.build_report import report_file
    from services.jobs.build import build as run

    with told_of_lost_signature(plan.store), ProgressDisplay(as_json=as_json) as progress, _cluster(on) as pool:
        with audited("publish", str(plan.store)) if plan.published else nullcontext(AuditedChange("")) as change:
            report = run(plan, progress, pool=pool)
            change.published(report.snapshot_id)
    if as_json:
        print_json(report.to_json())
        return
    file = report_file(plan.store, f"{report.snapshot_id}.json")
    _show_build(report, plan, str(file) if file.is_file() else "")


def _cluster(on: str) -> AbstractContextManager[Callable[..., Executor] | None]:
    if not on_ray(on):
        return nullcontext()
    from services.cluster.ray_cluster import ray_pool

    return ray_pool()


def _show_build(report: BuildReport, plan: BuildPlan, file: str) -> None:
    """Print at most twelve lines; the report has the rest."""
    rejected = [f"{subject} ({reason})" for subject, reason, _ in report.rejected_tools.all]
    documents = f"{len(report.documents):,} with {counted(report.tools, 'tool')}"
    show_facts(
        {
            "Documents": documents,
            "[yellow]Rejected[/]": _some(rejected),
            **_secrets(report),
            "For the owners of the tools": _health(report),
            "Overlay": _overlay(report),
            "Phrases": _phrases(report),
            **_findings(report.findings, plan.store),
            "Ranking weights": report.weights,
            "Time": f"{sum(report.seconds.values()):.1f} s; {report.reused.extractions:,} of {report.reused.of_extractions:,} "
            f"extractions and {report.reused.vectors:,} of {report.reused.of_vectors:,} vectors are those of the last build",
            "Report": file,
        }
    )
    outcome = "[bold green]Published[/]" if plan.published else "[bold yellow]Not published[/]:"
    sizes = f"{report.tools:,} tools, {report.graph.nodes:,} nodes, {report.graph.edges:,} edges"
    say(f"{outcome} snapshot [bold]{report.snapshot_id}[/]: {sizes}")


def _some(values: Sequence[str]) -> str:
    """The first values, and how many more there are."""
    if not values:
        return ""
    more = f", … {len(values) - _EXAMPLES:,} more" if len(values) > _EXAMPLES else ""
    return f"{len(values):,}: {', '.join(values[:_EXAMPLES])}{more}"


def _secrets(report: BuildReport) -> dict[str, str]:
    """How many keys and passwords were taken out of tools, and where they stand; never a value. Examples are mostly made up."""
    from ingest.sources.sanitize import is_example

    places = [f"{document.address}: {place}" for document in report.documents for place in document.secrets]
    return {
        "[yellow]Secrets taken out, revoke them[/]": _some([place for place in places if not is_example(place)]),
        "Examples taken out as possible secrets": _some([place for place in places if is_example(place)]),
    }


def _health(report: BuildReport) -> str:
    """How many tools have faults that only their owners can mend."""
    counts = {
        "without a description": sum(len(each.without_description) for each in report.health),
        "without outputs": sum(len(each.without_outputs) for each in report.health),
        "near-duplicates": sum(len(group) for each in report.health for group in each.near_duplicates),
        "deprecated": sum(len(each.deprecated) for each in report.health),
        "cut": sum(len(each.cut) for each in report.health),
    }
    return ", ".join(f"{count:,} {name}" for name, count in counts.items() if count)


def _overlay(report: BuildReport) -> str:
    if report.overlay is None:
        return ""
    changes = {**report.overlay.changes, "hidden": len(report.overlay.hidden)}
    said = [f"{change} {counted(tools, 'tool')}" for change, tools in changes.items() if tools]
    return "; ".join([", ".join(said), *report.overlay.warnings[:_EXAMPLES]])


def _phrases(report: BuildReport) -> str:
    """How many phrases there are, what was dropped, and what a model did not write."""
    found = report.phrases
    if found is None:
        return ""
    dropped = ", ".join(f"{reason} {count:,}" for reason, count in sorted(found.dropped.items()))
    told = f"{found.phrases:,} of {counted(found.tools, 'tool')}" + (f"; dropped: {dropped}" if dropped else "")
    if not (found.failed or found.stopped):
        return told
    why = f": {found.stopped}" if found.stopped else ""
    return f"{told}; {counted(found.failed, 'tool')} without an answer of the model{why}; the next build asks for them again"


def _findings(found: FindingsReport, store: Path) -> dict[str, str]:
    """How many tools have findings, and which were held back or released."""
    held = found.quarantined
    left_out = [f"{tool} ({held[tool]})" for tool in held if tool not in found.kept]
    outcome = f"{len(held):,} held back" if held else "none held back"
    look = f"{found.tools:,} tools ({found.severe:,} severe), {outcome}; see `egotools admin findings list --store {store}`"
    return {
        "Findings": look if found.tools else "",
        "[yellow]Quarantined[/], not in the snapshot": _some(left_out),
        "[yellow]Quarantined[/], in the snapshot as published before": _some(list(found.kept)),
        "Released by approvals": _some(list(found.approved)),
    }


def sync(
    addresses: Annotated[list[str], typer.Argument(metavar="ADDRESS", help="Sources files, or NAME=ADDRESS.")],
    store: Store = DEFAULT_STORE,
    strict: Annotated[
        bool, typer.Option("--strict", help="Publish nothing when a source or a record cannot be read.")
    ] = False,
    findings: Annotated[
        str | None, typer.Option("--findings", help="As of build: report, quarantine or refuse.")
    ] = None,
    keep: Annotated[
        int, typer.Option(min=0, envvar="EGOTOOLS_KEEP", help="How many snapshots the store keeps; 0: all.")
    ] = DEFAULT_KEEP,
    signing_key: SigningKey = None,
    allowed_models: AllowedModels = (),
    workers: Annotated[int, typer.Option(min=1, help="As of build.")] = 2,
    keep_watching: Annotated[
        bool,
        typer.Option("--watch", help="Go on: sync when a file changes, an MCP server says so, or an interval ends."),
    ] = False,
    as_json: Json = False,
) -> None:
    """Read the sources again, build what changed, and publish it as one snapshot.

    The snapshot has the tools of these sources and no others. A source that cannot be read keeps its published tools; the exit code is then 4.
    """
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
        _show_sync(report, store, as_json=as_json)
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
            _show_sync(done, store, as_json=as_json)


def _show_sync(report: SyncReport, store: Path, *, as_json: bool) -> None:
    if as_json:
        print_json(report.to_json())
        return
    outcome = "Unchanged" if report.snapshot_id == report.previous_id else "[bold green]Published[/]"
    counts = f"{len(report.added):,} added, {len(report.changed):,} changed, {len(report.removed):,} removed"
    say(f"{outcome}: snapshot [bold]{plain(report.snapshot_id)}[/]: {report.tools:,} tools, {counts}")
    for name, sign, ids in (
        ("Added", "+", report.added),
        ("Changed", "~", report.changed),
        ("Removed", "-", report.removed),
    ):
        show_lines(name, [f"{sign} {id_}" for id_ in ids], _SHOWN)
    for each in report.kept:
        say(plain(f"  {each.name}: left as it is, {each.tools:,} tools kept: {each.problem}"))
    show_facts(_findings(report.build.findings, store))
