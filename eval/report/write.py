"""Writing a report: every file aside, then renamed, so that a reader sees the old or the new one, whole."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from eval.analysis.changes import complete_at, ranks_of
from eval.analysis.failures import Failure
from eval.report.document import Block, Document, Picture, Section
from eval.report.failure_page import failures_document
from eval.report.html import document_to_html
from eval.report.markdown import document_to_markdown
from eval.report.page import report_document
from eval.summary import MeasuredSet, Summary, summary_to_json
from ontology.files import write_file

__all__ = ["per_query_rows", "pictures_of", "write_document", "write_report"]


def write_report(
    folder: Path, summary: Summary, sets: Sequence[MeasuredSet], *, failures: Sequence[Failure] = (), title: str = ""
) -> tuple[Path, ...]:
    """Write ``report.md``, ``report.html`` and their pictures, ``summary.json``, ``per_query.jsonl``, ``failures.md`` and ``.html``.

    :param sets: what the summary was made from.
    :param failures: what :func:`eval.analysis.failures.look_into` found.
    :returns: the files written.
    :raises StorageError: when the disk refuses; files that were there before are then untouched or new, never torn.
    """
    written = [*write_document(folder, "report", report_document(summary, sets, title=title))]
    page = failures_document(failures, sets, title=f"Failures: {title}" if title else "")
    written += write_document(folder, "failures", page)
    figures = json.dumps(summary_to_json(summary), ensure_ascii=False, indent=1) + "\n"
    written.append(write_file(folder / "summary.json", figures))
    rows = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in per_query_rows(sets))
    written.append(write_file(folder / "per_query.jsonl", rows))
    return tuple(written)


def write_document(folder: Path, name: str, document: Document) -> tuple[Path, ...]:
    """Write a document as Markdown with its pictures beside it, and as HTML with its pictures in it.

    :raises StorageError: when the disk refuses.
    """
    return (
        *(write_file(folder / picture.name, picture.png) for picture in pictures_of(document.sections)),
        write_file(folder / f"{name}.md", document_to_markdown(document)),
        write_file(folder / f"{name}.html", document_to_html(document)),
    )


def per_query_rows(sets: Sequence[MeasuredSet]) -> Iterator[dict[str, Any]]:
    """A row for each request: the rank of each gold tool in each system's answer, and the least k that completes it."""
    for measured in sets:
        for query in measured.queries.queries:
            systems = {}
            for run in measured.runs:
                ranks = ranks_of(run, query)
                systems[run.system] = {
                    "ranks": dict(zip(query.tools, ranks, strict=True)),
                    "complete_at": complete_at(ranks),
                }
            yield {
                "id": query.id,
                "set": measured.queries.name,
                "class": query.request_class,
                "gold": list(query.tools),
                "systems": systems,
            }


def pictures_of(sections: Sequence[Section]) -> Iterator[Picture]:
    """The pictures of the sections and of those below them."""
    for section in sections:
        blocks: tuple[Block, ...] = section.blocks
        yield from (block for block in blocks if isinstance(block, Picture))
        yield from pictures_of(section.sections)
