"""Write a report; every file is replaced atomically, so a reader sees the old or the new file."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from eval.abstention_rates import abstains
from eval.analysis.failures import Failure
from eval.gold_slots import row_tools
from eval.measured_set import MeasuredSet
from eval.metrics import answered_tools, complete_at, gold_ranks, ranks_of
from eval.report.blocks import Document
from eval.report.failure_page import failures_document
from eval.report.html import document_to_html
from eval.report.markdown import document_to_markdown, pictures_of
from eval.report.page import report_document
from eval.summary import Summary, summary_to_json
from ontology.files import write_file, write_rows

__all__ = ["per_query_rows", "write_document", "write_report"]


def write_report(
    folder: Path, summary: Summary, sets: Sequence[MeasuredSet], *, failures: Sequence[Failure] = (), title: str = ""
) -> tuple[Path, ...]:
    """Write ``report.md`` and ``.html`` with their pictures, ``summary.json``, ``per_query.jsonl``, ``failures.md``
    and ``.html``.

    :param sets: the measured sets of the summary.
    :param failures: result of :func:`eval.analysis.failures.analyse_failures`.
    :returns: the written files.
    :raises StorageError: when a file cannot be written; existing files are then old or new, never incomplete.
    """
    figures = json.dumps(summary_to_json(summary), ensure_ascii=False, indent=1) + "\n"
    return (
        *write_document(folder, "report", report_document(summary, sets, title=title)),
        *write_document(
            folder, "failures", failures_document(failures, sets, title=f"Failures: {title}" if title else "")
        ),
        write_file(folder / "summary.json", figures),
        write_rows(folder / "per_query.jsonl", per_query_rows(sets)),
    )


def write_document(folder: Path, name: str, document: Document) -> tuple[Path, ...]:
    """Write a document as Markdown with its pictures beside it, and as HTML with its pictures in it.

    :raises StorageError: when a file cannot be written.
    """
    return (
        *(write_file(folder / picture.name, picture.png) for picture in pictures_of(document.sections)),
        write_file(folder / f"{name}.md", document_to_markdown(document)),
        write_file(folder / f"{name}.html", document_to_html(document)),
    )


def per_query_rows(sets: Sequence[MeasuredSet]) -> Iterator[dict[str, Any]]:
    """A row for each request: the rank of each gold tool in each system's answer, the least k that completes it, and, in a set with
    unanswerable requests, whether the system abstains.
    """
    for measured in sets:
        for query in measured.queries.asked:
            systems = {}
            for run in measured.runs:
                ranks = gold_ranks(answered_tools(run, query.id), query.tools)
                systems[run.system] = {
                    "ranks": dict(zip(query.tools, ranks, strict=True)),
                    "complete_at": complete_at(ranks_of(run, query)) if query.slots else None,
                    **({"abstains": abstains(run, query.id)} if measured.queries.unanswerable else {}),
                }
            yield {
                "id": query.id,
                "set": measured.queries.name,
                "class": query.request_class,
                "gold": row_tools(query.slots),
                "systems": systems,
            }
