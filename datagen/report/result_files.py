"""The folder of results: requests, rejections, edges, outputs, and the report with its pictures."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from datagen.report.charts import PICTURES, draw_pictures
from datagen.report.figures import made_figures
from datagen.report.run_report import report_to_markdown
from datagen.run.make_requests import Made
from inference.encoder import Encoder
from ontology.errors import MissingExtraError
from ontology.files import disk_errors, write_file

__all__ = ["write_result"]


def write_result(folder: Path, made: Made, encoder: Encoder) -> dict[str, Any]:
    """Write everything that was made, each file whole, in the place of what an earlier run left.

    The report comes last: whoever sees it finds what it speaks of.

    :param encoder: tells how close requests are.
    :returns: the figures of the report.
    :raises StorageError: when the disk cannot be written to.
    """
    figures = made_figures(made, encoder)
    requests = made.generated.requests
    outputs = (output for outputs in made.outputs.by_tool.values() for output in outputs)
    _write_rows(folder / "tools.jsonl", (tool.to_json() for tool in made.catalogue.tools))
    _write_rows(folder / "outputs.jsonl", map(asdict, outputs))
    _write_rows(folder / "edges.jsonl", (edge.to_json() for edge in made.rp))
    _write_rows(folder / "rejected.jsonl", (rejection.to_json() for rejection in made.rejected))
    _write_rows(folder / "queries.jsonl", (request.to_json() for request in requests))
    pictures = _write_pictures(folder, figures)
    write_file(folder / "report.json", json.dumps(figures, ensure_ascii=False, indent=1) + "\n")
    texts = {request.id: request.text for request in requests}
    write_file(folder / "report.md", report_to_markdown(figures, texts, pictures))
    return figures


def _write_pictures(folder: Path, figures: Mapping[str, Any]) -> list[str]:
    """Write the pictures that can be drawn, and take away those of an earlier run that cannot; returns their names."""
    try:
        pictures = draw_pictures(figures)
    except MissingExtraError:
        pictures = {}
    for name, png in pictures.items():
        write_file(folder / name, png)
    with disk_errors(folder):
        for name in PICTURES:
            if name not in pictures:
                (folder / name).unlink(missing_ok=True)
    return list(pictures)


def _write_rows(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    write_file(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
