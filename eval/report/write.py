"""Writing a report: every file aside, then renamed, so that a reader sees the old or the new one, whole."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from eval.changes import complete_at, ranks_of
from eval.failures import Failure
from eval.report.document import Block, Document, Picture, Section
from eval.report.failure_page import failures_document
from eval.report.html import document_to_html
from eval.report.markdown import document_to_markdown
from eval.report.page import report_document
from eval.summary import MeasuredSet, Summary, summary_to_json
from ontology.errors import StorageError

__all__ = ["per_query_rows", "write_document", "write_report"]


def write_report(
    folder: Path, summary: Summary, sets: Sequence[MeasuredSet], *, failures: Sequence[Failure] = (), title: str = ""
) -> tuple[Path, ...]:
    """Write ``report.md``, ``report.html`` and their pictures, ``summary.json``, ``per_query.jsonl``, ``failures.md`` and ``.html``.

    :param sets: what the summary was made from.
    :param failures: what :func:`eval.failures.look_into` found.
    :returns: the files written.
    :raises MissingExtraError: when matplotlib is not installed.
    :raises StorageError: when the disk refuses; files that were there before are then untouched or new, never torn.
    """
    written = [*write_document(folder, "report", report_document(summary, sets, title=title))]
    page = failures_document(failures, sets, title=f"Failures: {title}" if title else "")
    written += write_document(folder, "failures", page)
    figures = json.dumps(summary_to_json(summary), ensure_ascii=False, indent=1) + "\n"
    written.append(_write(folder / "summary.json", _bytes(figures)))
    rows = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in per_query_rows(sets))
    written.append(_write(folder / "per_query.jsonl", _bytes(rows)))
    return tuple(written)


def write_document(folder: Path, name: str, document: Document) -> tuple[Path, ...]:
    """Write a document as Markdown with its pictures beside it, and as HTML with its pictures in it.

    :raises StorageError: when the disk refuses.
    """
    return (
        *(_write(folder / picture.name, picture.png) for picture in _pictures(document.sections)),
        _write(folder / f"{name}.md", _bytes(document_to_markdown(document))),
        _write(folder / f"{name}.html", _bytes(document_to_html(document))),
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


def _pictures(sections: Sequence[Section]) -> Iterator[Picture]:
    for section in sections:
        blocks: tuple[Block, ...] = section.blocks
        yield from (block for block in blocks if isinstance(block, Picture))
        yield from _pictures(section.sections)


def _bytes(text: str) -> bytes:
    """UTF-8; half a character, which someone's answer may hold, is written as its escape."""
    return text.encode("utf-8", "backslashreplace")


def _write(path: Path, content: bytes) -> Path:
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with open(aside, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            aside.replace(path)
        finally:
            aside.unlink(missing_ok=True)
    except OSError as error:
        raise StorageError(
            f"the disk refused a write: {error.strerror or error}",
            subject=str(path),
            remedy="Free space or mend the permissions, and make the report again",
        ) from error
    return path
