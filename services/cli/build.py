"""The command ``egotools build``: tool documents in, a published snapshot out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.markup import escape

from services.cli.console import counts_table, print_json, progress_bars, stderr, stdout, table
from services.cli.options import Json
from services.jobs.plans import BuildPlan

if TYPE_CHECKING:
    from ingest.build_report import BuildReport, UsageReport

__all__ = ["build"]

_SHOWN = 12


def build(plan: BuildPlan, as_json: Json = False) -> None:
    """Read tool documents, build the tool graph and publish a snapshot.

    Give credentials by reference, in a sources file: see docs/sources.md. Arguments of a command can be read by others.
    """
    from services.jobs.build import build as run

    with progress_bars(hidden=as_json or not stderr.is_terminal) as progress:
        report = run(plan, progress)
    if as_json:
        print_json(report.to_json())
    else:
        _show(report)


def _show(report: BuildReport) -> None:
    _show_documents(report)
    stdout.print(counts_table("Triples kept", report.triples.kept))
    if report.triples.rejected_by_predicate_and_reason:
        rows = report.triples.rejected_by_predicate_and_reason
        stdout.print(table("Triples rejected", ("predicate", "reason", "count"), rows))
    if report.merges.by_kind:
        stdout.print(counts_table("Names merged", report.merges.by_kind))
    for warning in report.merges.warnings[:_SHOWN]:
        stdout.print(f"[yellow]note[/] {escape(warning)}", soft_wrap=True)
    if report.usage.maker:
        _show_usage(report.usage)
    reused = report.reused
    stdout.print(
        f"Reused {reused.extractions:,} of {reused.of_extractions:,} extractions and "
        f"{reused.vectors:,} of {reused.of_vectors:,} vectors. "
        + ", ".join(f"{stage} {spent:.1f} s" for stage, spent in report.seconds.items())
    )
    stdout.print(
        f"[bold green]Published[/] snapshot [bold]{report.snapshot_id}[/]: {report.tools:,} tools, "
        f"{report.graph.nodes:,} nodes, {report.graph.edges:,} edges"
    )


def _show_usage(usage: UsageReport) -> None:
    text = f"Usage lines by {usage.maker}: {usage.without_when_to_use:,} of {usage.tools:,} documents do not say when to use the tool"
    if usage.by_model or usage.stopped or usage.failed:
        dropped = sum(usage.dropped_by_reason.values())
        text += f"; {usage.by_model:,} answers of the model, {len(usage.failed):,} unusable, {dropped:,} lines dropped"
    stdout.print(escape(f"{text}; {usage.stopped}, the rest by rules" if usage.stopped else text), soft_wrap=True)


def _show_documents(report: BuildReport) -> None:
    shown, rest = report.documents[:_SHOWN], report.documents[_SHOWN:]
    rows = [(document.address, document.format, document.tools, document.rejected) for document in shown]
    if rest:
        counts = sum(document.tools for document in rest), sum(document.rejected for document in rest)
        rows.append((f"… {len(rest)} more", "", *counts))
    stdout.print(table("Documents", ("document", "format", "tools", "rejected"), rows))
    rejected = report.rejected_tools.all
    for subject, reason, detail in rejected[:_SHOWN]:
        stdout.print(f"[yellow]rejected[/] {escape(subject)} ({escape(reason)}): {escape(detail)}", soft_wrap=True)
    if len(rejected) > _SHOWN:
        stdout.print(f"… {len(rejected) - _SHOWN} more rejected records are in the report")
