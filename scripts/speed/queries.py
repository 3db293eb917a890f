"""The requests that speed is measured with: the shipped ones, and some of every open set beside the checkout."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

__all__ = ["BENCH", "ROOT", "bench_queries", "read_queries"]

ROOT = Path(__file__).resolve().parent.parent.parent
BENCH = ROOT.parent / "shared" / "bench"
_SHIPPED = ROOT / "examples" / "enterprise" / "requests.jsonl"
_OF_EACH = 6  # of an open set: enough for its lengths and words, few enough that no set is most of the load


def read_queries(path: Path) -> list[str]:
    """The texts of a file of requests, one JSON object a line."""
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line)["query"] for line in lines if line.strip()]


def bench_queries(bench: Path = BENCH) -> dict[str, list[str]]:
    """Set → requests; the shipped set first and whole, then six of each open set that is there.

    The six are chosen, and put in order, by the hash of their words, so that every machine asks the same.
    """
    chosen = {"enterprise": read_queries(_SHIPPED)}
    for path in sorted(bench.glob("*/queries.jsonl")):
        chosen[path.parent.name] = sorted(set(read_queries(path)), key=_hash)[:_OF_EACH]
    return chosen


def _hash(query: str) -> str:
    return hashlib.sha256(query.encode()).hexdigest()
