"""The command ``egotools build``: tool documents in, a published snapshot out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer
from rich.markup import escape

from services.audited import AuditedChange, audited
from services.cli.console import plain, print_json, stdout, table
from services.cli.findings import show_findings_of
from services.cli.lost_signature import told_of_lost_signature
from services.cli.options import Json, On
from services.cli.progress_display import shown_progress
from services.cluster.ray_cluster import on_ray
from services.jobs.plans import BuildPlan

if TYPE_CHECKING:
    from ingest.build_report import BuildReport, NamespaceHealth
    from ingest.phrases import PhraseReport
    from ingest.sources.catalog import DocumentReport
    from ingest.trust.quarantine import FindingsReport

__all__ = ["build"]

_ROWS = 8  # of a table
_EXAMPLES = 3


class _Finding(NamedTuple):
    """A kind of finding: the head of its column, the number of tools of a namespace, and these tools as examples."""

    name: str
    count: Callable[[NamespaceHealth], int]
    examples: Callable[[NamespaceHealth], Sequence[str]]


_FINDINGS = (
    _Finding("no description", lambda own: len(own.without_description), lambda own: own.without_description),
    _Finding("no outputs", lambda own: len(own.without_outputs), lambda own: own.without_outputs),
    _Finding(
        "near-duplicates",
        lambda own: sum(map(len, own.near_duplicates)),
        lambda own: [" ≈ ".join(group[:_EXAMPLES]) for group in own.near_duplicates],
    ),
    _Finding("deprecated", lambda own: len(own.deprecated), lambda own: own.deprecated),
    _Finding("cut", lambda own: len(own.cut), lambda own: own.cut),
)


def show_build_summary(report: BuildReport, store: Path, file: Path | None, *, published: bool) -> None:
    """Print the end report of a build.

    :param store: where the snapshot is.
    :param file: where the whole report is, or None where it could not be written.
    :param published: whether the snapshot is now the published one of its store.
    """
    _show_documents(report)
    _show_health(report.health)
    _show_secrets(report.documents)
    _show_findings(report.findings, store)
    _show_line("Context parameters", [f"{name} ({_counted(count, 'tool')})" for name, count in _context(report)])
    _show_words(report)
    _show_overlay(report)
    _show_phrases(report.phrases)
    _show_graph(report)
    if report.weights:
        _print("Ranking weights", report.weights)
    _show_line("Time", [f"{stage} {spent:.1f} s" for stage, spent in report.seconds.items()], most=len(report.seconds))
    reused = report.reused
    _print(
        "Reused",
        f"{reused.extractions:,} of {reused.of_extractions:,} extractions, "
        f"{reused.vectors:,} of {reused.of_vectors:,} vectors",
    )
    if file is not None:
        _print("Report", str(file))
    outcome = "[bold green]Published[/]" if published else "[bold yellow]Not published[/]:"
    stdout.print(
        f"{outcome} snapshot [bold]{report.snapshot_id}[/]: {report.tools:,} tools, "
        f"{report.graph.nodes:,} nodes, {report.graph.edges:,} edges",
        soft_wrap=True,
    )


def _show_documents(report: BuildReport) -> None:
    shown, rest = report.documents[:_ROWS], report.documents[_ROWS:]
    rows = [(document.address, document.format, document.tools, document.rejected) for document in shown]
    if rest:
        counts = sum(document.tools for document in rest), sum(document.rejected for document in rest)
        rows.append((f"… {len(rest)} more", "", *counts))
    stdout.print(table("Documents", ("document", "format", "tools", "rejected"), rows))
    rejected = report.rejected_tools.all
    for subject, reason, detail in rejected[:_ROWS]:
        stdout.print(f"[yellow]rejected[/] {escape(subject)} ({escape(reason)}): {escape(detail)}", soft_wrap=True)
    if len(rejected) > _ROWS:
        stdout.print(f"… {len(rejected) - _ROWS} more rejected records are in the report")


def _show_health(healths: Sequence[NamespaceHealth]) -> None:
    """Print the namespaces with the most findings, and a few tools of each kind of finding that there is."""
    there = [finding for finding in _FINDINGS if any(map(finding.count, healths))]
    counted = [(health, [finding.count(health) for finding in there]) for health in healths]
    found = sorted((row for row in counted if any(row[1])), key=lambda row: (-sum(row[1]), row[0].namespace))
    if not found:
        return
    rows = [(_named(health), health.tools, *counts) for health, counts in found[:_ROWS]]
    if found[_ROWS:]:
        rest = [(health.tools, *counts) for health, counts in found[_ROWS:]]
        rows.append((f"… {len(rest)} more", *map(sum, zip(*rest, strict=True))))
    columns = ("namespace", "tools", *(finding.name for finding in there))
    stdout.print(table("For the owners of the tools", columns, rows))
    for finding in there:
        _show_line(finding.name.capitalize(), [example for health, _ in found for example in finding.examples(health)])


def _named(health: NamespaceHealth) -> str:
    return f"{health.namespace} ({health.owner})" if health.owner else health.namespace


def _show_secrets(documents: Iterable[DocumentReport]) -> None:
    """Print how many keys and passwords were taken out of tools, and where they stand; never a value. Examples are mostly made up."""
    from ingest.sources.sanitize import is_example

    places = [f"{document.address}: {place}" for document in documents for place in document.secrets]
    examples = [place for place in places if is_example(place)]
    secrets = [place for place in places if not is_example(place)]
    if secrets:
        what = f"[yellow]{_counted(len(secrets), 'secret')} taken out[/] of the documents"
        _show_line(f"{what}; revoke {'it' if len(secrets) == 1 else 'them'}", secrets)
    if examples:
        _show_line(f"{_counted(len(examples), 'example')} taken out as possible secrets; revoke what is real", examples)


def _show_phrases(found: PhraseReport | None) -> None:
    """Print how many phrases there are, what was dropped, and what a model did not write."""
    if found is None:
        return
    dropped = ", ".join(f"{reason} {count:,}" for reason, count in sorted(found.dropped.items()))
    stdout.print(
        f"Phrases: {found.phrases:,} of {_counted(found.tools, 'tool')}" + (f"; dropped: {dropped}" if dropped else "")
    )
    if found.failed or found.stopped:
        why = f": {escape(found.stopped)}" if found.stopped else ""
        stdout.print(
            f"[yellow]{_counted(found.failed, 'tool')} without an answer of the model{why}[/]; the next build asks for them again"
        )


def _show_findings(found: FindingsReport, store: Path) -> None:
    """Print how many tools have findings, and which were held back."""
    show_findings_of(store, found.tools, found.severe, len(found.quarantined))
    for outcome, tools in (
        ("not in the snapshot", [tool for tool in found.quarantined if tool not in found.kept]),
        ("in the snapshot as published before", found.kept),
    ):
        _show_line(
            f"[yellow]Quarantined[/]: {_counted(len(tools), 'tool')} {outcome}",
            [f"{plain(tool)} ({plain(found.quarantined[tool])})" for tool in tools],
        )
    _show_line("Released by approvals", [plain(tool) for tool in found.approved])


def _context(report: BuildReport) -> list[tuple[str, int]]:
    rows = sorted(report.context_parameters, key=lambda row: (-row[2], row[0], row[1]))
    return [(f"{namespace}: {name}" if namespace else name, count) for namespace, name, count in rows]


def _show_words(report: BuildReport) -> None:
    boilerplate = report.boilerplate
    examples = [f"“{one.text}” ({_counted(one.tools, 'tool')} of {one.namespace})" for one in boilerplate.examples]
    _show_line(f"Boilerplate, not extracted from: {_counted(boilerplate.sentences, 'sentence')}", examples, most=1)
    _show_line("Hubs", [f"{hub.entity} ({hub.share:.0%} of the tools of {hub.namespace})" for hub in report.hubs])


def _show_overlay(report: BuildReport) -> None:
    if report.overlay is None:
        return
    changes = {**report.overlay.changes, "hidden": len(report.overlay.hidden)}
    _show_line(
        "Overlay", [f"{change} {_counted(tools, 'tool')}" for change, tools in changes.items() if tools], most=_ROWS
    )
    for warning in report.overlay.warnings[:_ROWS]:
        stdout.print(f"[yellow]overlay[/] {escape(warning)}", soft_wrap=True)
    if len(report.overlay.warnings) > _ROWS:
        stdout.print(f"… {len(report.overlay.warnings) - _ROWS} more warnings are in the report")


def _show_graph(report: BuildReport) -> None:
    triples, merges = report.triples, report.merges
    _show_counts("Triples kept", triples.kept)
    rejected = {f"{row.predicate} {row.reason}": row.triples for row in triples.rejected_by_predicate_and_reason}
    _show_counts("Triples rejected", rejected)
    _show_counts("Names merged", merges.by_kind)
    for warning in merges.warnings[:_EXAMPLES]:
        stdout.print(f"[yellow]note[/] {escape(warning)}", soft_wrap=True)
    if len(merges.warnings) > _EXAMPLES:
        stdout.print(f"… {len(merges.warnings) - _EXAMPLES} more notes are in the report")


def _counted(number: int, noun: str) -> str:
    """``1 tool``, ``2 tools``."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _show_counts(title: str, counts: Mapping[str, int]) -> None:
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    if ordered:
        _show_line(f"{title}: {sum(counts.values()):,}", [f"{name} {count:,}" for name, count in ordered], most=_ROWS)


def _show_line(title: str, values: Sequence[str], *, most: int = _EXAMPLES) -> None:
    """Print the first values in one paragraph; nothing where there are none."""
    if values:
        more = f", … {len(values) - most:,} more" if len(values) > most else ""
        _print(title, ", ".join(values[:most]) + more)


def _print(title: str, text: str) -> None:
    """Print one paragraph; the title is markup, the text is printed as it is."""
    stdout.print(f"[bold]{title}[/]: {escape(text)}", soft_wrap=True, highlight=False)


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
    from services.cluster.ray_cluster import ray_pool

    return ray_pool()


def _counts(document: DocumentReport) -> str:
    rejected = f"{document.rejected:,} rejected, " if document.rejected else ""
    return f"{document.tools:,} tools, {rejected}{document.seconds:.1f} s"
