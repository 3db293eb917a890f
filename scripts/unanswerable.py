"""How well the score of the best tool tells requests that some tool serves from those that none does.

    egotools build examples/enterprise/catalog --out out/benchmark/store
    python -m scripts.unanswerable

Prints, for each preset, the area under the ROC curve of its best score, hand-written requests against unanswerable
ones: 0.5 tells nothing, 1 everything. A baseline: no preset answers "none" of itself.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from retrieval.retriever import Request, Retriever
from retrieval.snapshot_engine import open_engine
from scripts.bench_sets import ROOT
from scripts.enterprise_benchmark import FOLDER, read_rows

__all__ = ["area_under_curve"]

_PRESETS = ("semantic", "bm25")  # theirs are absolute; the scores of the others are standardised request by request


def main() -> int:
    """Print the areas; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--store", type=Path, default=ROOT / "out" / "benchmark" / "store")
    engine = open_engine(parser.parse_args().store)
    served, unserved = (
        [row["query"] for row in read_rows(FOLDER / name)] for name in ("hand.jsonl", "unanswerable.jsonl")
    )
    for preset in _PRESETS:
        retriever = engine.retriever(preset)
        area = area_under_curve(_best_scores(retriever, served), _best_scores(retriever, unserved))
        print(f"{preset}: {area:.3f}")
    return 0


def area_under_curve(positives: Sequence[float], negatives: Sequence[float]) -> float:
    """The share of pairs in which the positive scores higher; ties count half."""
    differences = np.subtract.outer(np.asarray(positives), np.asarray(negatives))
    return float((np.sign(differences) + 1).mean() / 2)


def _best_scores(retriever: Retriever, queries: Sequence[str]) -> list[float]:
    answers = (retriever.retrieve(Request(query=query, k=1)) for query in queries)
    return [float(answer.tools[0].score) if answer.tools else 0.0 for answer in answers]


if __name__ == "__main__":
    sys.exit(main())
