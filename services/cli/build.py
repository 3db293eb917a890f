"""The command ``egotools build``: tool documents in, a published snapshot out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.markup import escape

from services.cli.console import counts_table, print_json, progress_bars, stderr, stdout, table
from services.cli.options import Json
from services.jobs.plans import BuildPlan

if TYPE_CHECKING:
    from ingest.build_report import BuildReport

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
    _show_words(report)
    if report.merges.by_kind:
        stdout.print(counts_table("Names merged", report.merges.by_kind))
    for warning in report.merges.warnings[:_SHOWN]:
        stdout.print(f"[yellow]note[/] {escape(warning)}", soft_wrap=True)
    _show_overlay(report)
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


def _show_overlay(report: BuildReport) -> None:
    if report.overlay is None:
        return
    changes = {**report.overlay.changes, "hidden": len(report.overlay.hidden)}
    stdout.print(counts_table("Overlay: tools", changes))
    for warning in report.overlay.warnings[:_SHOWN]:
        stdout.print(f"[yellow]overlay[/] {escape(warning)}", soft_wrap=True)
    if len(report.overlay.warnings) > _SHOWN:
        stdout.print(f"… {len(report.overlay.warnings) - _SHOWN} more warnings are in the report")


def _show_words(report: BuildReport) -> None:
    if report.boilerplate.sentences:
        example = report.boilerplate.examples[0]
        stdout.print(
            f"{report.boilerplate.sentences:,} sentences of many documents were not extracted from: boilerplate such as "
            f"“{escape(example.text)}” ({example.tools:,} tools of {escape(example.namespace)})",
            soft_wrap=True,
        )
    if report.hubs:
        rows = [(hub.entity, hub.namespace, hub.tools, f"{hub.share:.0%}") for hub in report.hubs[:_SHOWN]]
        stdout.print(table("Objects of most tools", ("object", "namespace", "tools", "share"), rows))


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
