"""The open benchmark of the shipped catalogue: frozen data, and how it is split.

``hand.jsonl`` are individually written requests. ``generated.jsonl`` are 654 requests of the generator by rules (``rules.v2``), which is
gone since; ``generated-v1.jsonl`` of the one before. ``DATASHEET.md`` says how each was made and read.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ontology.errors import DocumentError
from scripts.bench_sets import ROOT

__all__ = ["FOLDER", "HALVES", "SOURCES", "half_of", "read_rows"]

FOLDER = ROOT / "examples" / "enterprise" / "benchmark"
HALVES = ("dev", "test")
SOURCES = ("hand", "generated")


def half_of(path_id: str) -> str:
    """Which half the requests of a tool path are in: by its hash alone, so that it never changes."""
    return HALVES[hashlib.sha256(path_id.encode()).digest()[0] % len(HALVES)]


def read_rows(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a JSON Lines file.

    :raises DocumentError: naming file and line of a row that is none.
    """
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if line.strip():
            try:
                row = json.loads(line)
            except ValueError as error:
                raise DocumentError(f"it is not JSON ({error})", subject=f"{path}:{number}") from error
            yield row
