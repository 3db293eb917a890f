"""The folder of results: requests, rejections, edges, outputs, and the report with its charts."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from datagen.report.charts import CHARTS, draw_charts
from datagen.report.figures import RunFigures, figures_of
from datagen.report.run_report import report_to_markdown
from datagen.run.make_requests import RunResult
from inference.encoder import Encoder
from ontology.errors import MissingExtraError
from ontology.files import disk_errors, write_file, write_lines, write_rows

__all__ = ["write_result"]


def write_result(folder: Path, made: RunResult, encoder: Encoder) -> RunFigures:
    """Write all results, each file atomically, over those of an earlier run.

    The report is written last: when it exists, the files that it names exist too.

    :param encoder: encoder for the comparison of requests.
    :returns: the figures of the report.
    :raises StorageError: when a file cannot be written.
    """
    figures = figures_of(made, encoder)
    requests = made.generated.requests
    outputs = (output for found in made.outputs.by_tool.values() for output in found)
    write_rows(folder / "tools.jsonl", (tool.to_json() for tool in made.catalogue.tools))
    write_rows(folder / "outputs.jsonl", map(asdict, outputs))
    write_rows(folder / "edges.jsonl", map(asdict, made.rp))
    write_rows(folder / "rejected.jsonl", map(asdict, made.rejected))
    write_lines(folder / "queries.jsonl", requests.lines())
    pictures = _write_charts(folder, figures)
    write_file(folder / "report.json", json.dumps(asdict(figures), ensure_ascii=False, indent=1) + "\n")
    shown = {example for examples in figures.examples.values() for example in examples}
    texts = {request.id: request.text for request in requests if request.id in shown}
    write_file(folder / "report.md", report_to_markdown(figures, texts, pictures))
    return figures


def _write_charts(folder: Path, figures: RunFigures) -> list[str]:
    """Write the charts, remove the other charts of an earlier run, and return the names of the written ones."""
    try:
        charts = draw_charts(figures)
    except MissingExtraError:
        charts = {}
    for name, png in charts.items():
        write_file(folder / name, png)
    with disk_errors(folder):
        for name in CHARTS.keys() - charts.keys():
            (folder / name).unlink(missing_ok=True)
    return list(charts)
