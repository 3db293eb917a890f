"""The command ``egotools build``: tool documents in, a published snapshot out."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Annotated

import typer

from services.audited import AuditedChange, audited
from services.cli.build_summary import show_build_summary
from services.cli.console import print_json
from services.cli.lost_signature import told_of_lost_signature
from services.cli.options import Json, On
from services.cli.progress_display import shown_progress
from services.cluster.ray_cluster import on_ray
from services.jobs.plans import BuildPlan

if TYPE_CHECKING:
    from ingest.sources.catalog import DocumentReport

__all__ = ["build"]


def _gone(value: str) -> str:
    """Refuse an option of earlier versions."""
    if value:
        raise typer.BadParameter(
            "usage lines are no longer made, as the ranking did not gain from them: leave it out. Say when a tool is used in its description, "
            "or in append_description of an overlay (docs/overlay.md)"
        )
    return value


def build(
    plan: BuildPlan,
    on: On = "local",
    as_json: Json = False,
    _usage: Annotated[str, typer.Option("--usage", hidden=True, callback=_gone)] = "",
    _usage_max_tools: Annotated[str, typer.Option("--usage-max-tools", hidden=True, callback=_gone)] = "",
) -> None:
    """Read tool documents, build the tool graph and publish a snapshot.

    Give credentials by reference, in a sources file: see docs/sources.md. Arguments of a command can be read by others.
    """
    from ingest.build_report import report_file
    from services.jobs.build import build as run

    cluster = _cluster(on)
    with told_of_lost_signature(plan.store), shown_progress(as_json=as_json) as progress, cluster as pool:
        with audited("publish", str(plan.store)) if plan.published else nullcontext(AuditedChange("")) as change:
            report = run(
                plan,
                progress,
                finished=lambda document: progress.finish(document.address, _counts(document)),
                pool=pool,
            )
            change.published(report.snapshot_id)
    if as_json:
        print_json(report.to_json())
        return
    file = report_file(plan.store, f"{report.snapshot_id}.json")
    show_build_summary(report, plan.store, file if file.is_file() else None, published=plan.published)


def _cluster(on: str) -> AbstractContextManager[Callable[..., Executor] | None]:
    if not on_ray(on):
        return nullcontext()
    from services.cluster.ray_pool import ray_pool

    return ray_pool()


def _counts(document: DocumentReport) -> str:
    rejected = f"{document.rejected:,} rejected, " if document.rejected else ""
    return f"{document.tools:,} tools, {rejected}{document.seconds:.1f} s"
