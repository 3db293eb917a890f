"""Needs, everyday phrases and whole requests for the operations of 280 public documents: what the encoder learns from. See written/DATASHEET.md.

``python -m benchmarks.training.corpus OUT`` takes the documents from their packages into OUT, joins them with the texts of ``texts.jsonl.gz``,
and writes ``OUT/groups.jsonl``, which ``train_encoder`` reads. Nothing of the documents is stored here.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks.command import run_command
from examples.real.fetch import fetch
from ingest.sources import read_catalog
from ontology.tool import tool_text

FOLDER = Path(__file__).resolve().parent / "written"
DOCUMENTS, TEXTS = FOLDER / "documents.yaml", FOLDER / "texts.jsonl.gz"


def main(out: Annotated[Path, typer.Argument(help="Folder for archives, documents and groups.")]) -> None:
    """Fetch the documents, and write the groups."""
    fetch(out, source=DOCUMENTS, progress=print)
    counts: Counter[str] = Counter()
    with (out / "groups.jsonl").open("w", encoding="utf-8") as file:
        for group in groups(tool_texts(out / "documents")):
            file.write(json.dumps(group, ensure_ascii=False) + "\n")
            counts[group["kind"]] += 1
    print(", ".join(f"{count:,} {what}" for what, count in sorted(counts.items())))


def tool_texts(documents: Path) -> dict[str, str]:
    """The text of each operation, by ``DOCUMENT/NAME``; each document is a catalogue of its own."""
    return {
        tool.id: tool_text(tool) for path in sorted(documents.iterdir()) for tool in read_catalog([str(path)]).tools
    }


def groups(texts: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """The texts with the documents that they need; without those of operations that a document lacks.

    :param texts: text of each operation, by id.
    """
    with gzip.open(TEXTS, "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            ids = row["tools"]
            if all(tool in texts for tool in ids):
                for kind in ("needs", "phrases", "requests"):
                    for text in row.get(kind, ()):
                        yield {"kind": kind, "query": text, "ids": ids, "texts": [texts[tool] for tool in ids]}


if __name__ == "__main__":
    run_command(main)
