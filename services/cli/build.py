"""The commands ``egotools build`` and ``egotools sync``: tool documents in, a published snapshot out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from ontology.errors import EgotoolsError
from services.audited import AuditedChange, audited
from services.cli.console import (
    ProgressDisplay,
    counted,
    plain,
    print_json,
    say,
    show_facts,
    show_result,
    tell,
)
from services.cli.options import Json, On, Store
from services.cluster.ray_cluster import on_ray, ray_pool
from services.jobs.plans import DEFAULT_KEEP, DEFAULT_STORE, AllowedModels, BuildPlan, SigningKey

if TYPE_CHECKING:
    from ingest.build_report import BuildReport
    from ingest.trust.quarantine import FindingsReport
    from services.jobs.source_sync import SyncReport

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

    cluster = ray_pool() if on_ray(on) else nullcontext(None)
    with told_of_lost_signature(plan.store), ProgressDisplay(as_json=as_json) as progress, cluster as pool:
        with audited("publish", str(plan.store)) if plan.published else nullcontext(AuditedChange("")) as change:
            report = run(plan, progress, pool=pool)
            change.published(report.snapshot_id)
    if as_json:
        return print_json(report.to_json())
    file = report_file(plan.store, f"{report.snapshot_id}.json")
    _show_build(report, plan, str(file) if file.is_file() else "")


def _show_build(report: BuildReport, plan: BuildPlan, file: str) -> None:
    """Print what a person must know, at most twelve lines; the report has the rest."""
    from ingest.sources.sanitize import is_example

    secrets = [f"{document.address}: {place}" for document in report.documents for place in document.secrets]
    reused = report.reused
    show_facts(
        {
            "Documents": f"{len(report.documents):,} with {counted(report.tools, 'tool')}",
            "[yellow]Rejected[/]": _some([f"{subject} ({why})" for subject, why, _ in report.rejected_tools.all]),
            "[yellow]Secrets taken out, revoke them[/]": _some([each for each in secrets if not is_example(each)]),
            "Overlay": "; ".join(report.overlay.warnings[:_EXAMPLES]) if report.overlay else "",
            "Phrases": _phrases(report),
            **_findings(report.findings, plan.store),
            "Ranking weights": report.weights,
            "Time": f"{sum(report.seconds.values()):.1f} s; {reused.extractions:,} of {reused.of_extractions:,} extractions "
            f"and {reused.vectors:,} of {reused.of_vectors:,} vectors were there already",
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


def _phrases(report: BuildReport) -> str:
    """How many phrases there are, which rows and phrases were dropped, and what a model did not write."""
    found = report.phrases
    if found is None:
        return ""
    told = f"{found.phrases:,} of {counted(found.tools, 'tool')}"
    if found.dropped:
        told += "; dropped, see the report: " + ", ".join(f"{count:,} {why}" for why, count in found.dropped.items())
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
    addresses: Annotated[list[str], Argument(metavar="ADDRESS", help="Sources files, or NAME=ADDRESS.")],
    store: Store = DEFAULT_STORE,
    strict: Annotated[bool, Option("--strict", help="Publish nothing when a record cannot be read.")] = False,
    findings: Annotated[str | None, Option("--findings", help="As of build.")] = None,
    keep: Annotated[int, Option(min=0, envvar="EGOTOOLS_KEEP", help="Snapshots that stay; 0: all.")] = DEFAULT_KEEP,
    signing_key: SigningKey = None,
    allowed_models: AllowedModels = (),
    workers: Annotated[int, Option(min=1, help="As of build.")] = 2,
    as_json: Json = False,
) -> None:
    """Read the sources again, build what changed, and publish it as one snapshot.

    The snapshot has the tools of these sources and no others. A source that cannot be read keeps its published tools; the exit code is then 4.
    """
    from ingest.trust.quarantine import read_record
    from services.jobs.source_sync import sync_sources

    plan = BuildPlan(
        addresses=tuple(addresses),
        store=store,
        strict=strict,
        keep=keep,
        signing_key=signing_key,
        workers=workers,
        findings=findings or read_record(store).policy,
    )
    with told_of_lost_signature(store), audited("publish", str(store)) as change:
        report = sync_sources(plan, allowed_models=allowed_models)
        change.published(report.snapshot_id if report.snapshot_id != report.previous_id else "")
    _show_sync(report, store, as_json=as_json)
    if report.kept:
        raise typer.Exit(_UNREAD)


def _show_sync(report: SyncReport, store: Path, *, as_json: bool) -> None:
    told = report.to_json()
    if as_json:
        return print_json(told)
    outcome = "Unchanged" if report.snapshot_id == report.previous_id else "[bold green]Published[/]"
    counts = f"{len(report.added):,} added, {len(report.changed):,} changed, {len(report.removed):,} removed"
    say(f"{outcome}: snapshot [bold]{plain(report.snapshot_id)}[/]: {report.tools:,} tools, {counts}")
    show_result({name: told[name] for name in ("added", "changed", "removed", "kept")}, _SHOWN)
    show_facts(_findings(report.build.findings, store))
