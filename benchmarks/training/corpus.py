"""Needs, everyday phrases and whole requests for the operations of 280 public documents: what the encoder learns from. See written/DATASHEET.md.

``python -m benchmarks.training.corpus OUT`` takes the documents from their packages into OUT, joins them with the texts of ``texts.jsonl.gz``,
and writes ``OUT/groups.jsonl``, which ``train_encoder`` reads. Nothing of the documents is stored here.
"""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks.command import run_command
from benchmarks.sets import BENCH
from examples.real.fetch import fetch
from ingest.sources import read_catalog
from ontology.tool import tool_text

FOLDER = Path(__file__).resolve().parent / "written"
DOCUMENTS, TEXTS = FOLDER / "documents.yaml", FOLDER / "texts.jsonl.gz"
_COMPARED_CHARS = 120
"""Two documents that begin alike over so many characters, letters and digits alone, count as one: the beginning is what an encoder reads first."""


def main(out: Annotated[Path, typer.Argument(help="Folder for archives, documents and groups.")]) -> None:
    """Fetch the documents, and write the groups."""
    fetch(out, source=DOCUMENTS, progress=print)
    counts: Counter[str] = Counter()
    with (out / "groups.jsonl").open("w", encoding="utf-8") as file:
        for group in groups(tool_texts(out / "documents"), measured_texts(), counts):
            file.write(json.dumps(group, ensure_ascii=False) + "\n")
    print(", ".join(f"{count:,} {what}" for what, count in sorted(counts.items())))


def tool_texts(documents: Path) -> dict[str, str]:
    """The text of each operation, by ``DOCUMENT/NAME``; each document is a catalogue of its own."""
    return {
        tool.id: tool_text(tool) for path in sorted(documents.iterdir()) for tool in read_catalog([str(path)]).tools
    }


def measured_texts() -> set[str]:
    """Requests, needs and beginnings of documents of the open sets, as :func:`_plain` has them; none where the sets are not there."""
    found = set()
    for path in BENCH.glob("*/*.jsonl"):
        for row in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
            if path.name == "tools.jsonl":
                found.add(_plain(f"{row['name']} {row.get('description') or ''}"))
                found.add(_plain(row.get("description") or ""))
            elif path.name in ("queries.jsonl", "needs.jsonl"):
                found.update(map(_plain, [row.get("query", ""), *row.get("needs", ())]))
    return found - {""}


def groups(texts: Mapping[str, str], measured: set[str], counts: Counter[str]) -> Iterator[dict[str, Any]]:
    """The texts with the documents that they need; without those that a measured set has too.

    :param texts: text of each operation, by id.
    :param measured: what must not be learnt.
    :param counts: gets how many there are of each kind, and how many were left out.
    """
    with gzip.open(TEXTS, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    for row in rows:
        ids = row["tools"]
        if any(tool not in texts for tool in ids):
            counts["of unknown operations"] += 1
        elif any(_plain(texts[tool]) in measured for tool in ids):
            counts["of measured operations"] += 1
        else:
            for kind in ("needs", "phrases", "requests"):
                for text in row.get(kind, ()):
                    known = _plain(text) in measured
                    counts["measured texts" if known else kind] += 1
                    if not known:
                        yield {"kind": kind, "query": text, "ids": ids, "texts": [texts[tool] for tool in ids]}


def _plain(text: str) -> str:
    return " ".join(re.findall("[a-z0-9]+", text.lower()))[:_COMPARED_CHARS]


if __name__ == "__main__":
    run_command(main)
