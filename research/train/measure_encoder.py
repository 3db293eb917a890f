"""Measure encoders on labelled requests, flat: by the cosine alone, and by the cosine and BM25 as the product adds them up.

From the repository's root, after ``research.train.training_data``::

    python -m research.train.measure_encoder WEIGHTS_FOLDER … --set ../shared/bench/apibank --set /tmp/train/gen/requests/aws_budgets

A set is a folder with ``tools.jsonl`` and ``queries.jsonl``; of a long one so many requests are drawn, the same for every
encoder. Printed are percentages of CompleteRecall at 3, 5 and 10, one line a set and encoder.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from eval.queries import gold_slots
from inference import Encoder, MiniLmEncoder
from inference.encoder import Floats1d
from ontology.errors import DocumentError
from ontology.names import words
from ontology.tool import Tool, tool_text
from research.train.jsonl import read_rows
from retrieval.index.bm25 import Bm25Index, make_postings, params_text, terms
from retrieval.ranking.features import standardise
from scripts.run_command import run_command

DEPTHS = (3, 5, 10)
SEED = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledSet:
    """A catalogue and requests, each with the numbers of the tools it needs."""

    name: str
    tools: list[Tool]
    requests: list[tuple[str, list[int]]]


def read_set(folder: Path, most: int) -> LabelledSet:
    """Read a set; requests for a tool that the catalogue does not have are left out."""
    tools = sorted(map(_tool, read_rows(folder / "tools.jsonl")), key=lambda tool: tool.id)
    number = {tool.id: place for place, tool in enumerate(tools)}
    rows = [
        {**row, "tools": [slot[0] for slot in gold_slots(row["tools"])]} for row in read_rows(folder / "queries.jsonl")
    ]
    rows = [row for row in rows if all(tool in number for tool in row["tools"])]
    if len(rows) > most:
        rows = random.Random(SEED).sample(rows, most)
    requests = [(row["query"], sorted({number[tool] for tool in row["tools"]})) for row in rows]
    return LabelledSet(name=folder.name, tools=tools, requests=requests)


def _tool(row: dict[str, Any]) -> Tool:
    try:
        return Tool.from_json(row)
    except DocumentError:
        return Tool.from_json({**row, "returns": []})


def measure(labelled: LabelledSet, encoder: Encoder, weight: float = 1.0) -> dict[str, float]:
    """CompleteRecall in percent: ``cosine@3``, … and ``fused@3``, …, the latter with the shipped weights of the text features.

    :param weight: how much the two cosines count beside what is shipped.
    """
    tools = labelled.tools
    text_vectors = encoder.encode([tool_text(tool) for tool in tools])
    name_vectors = encoder.encode([" ".join(words(tool.title)) for tool in tools])
    text = Bm25Index(make_postings(terms(tool_text(tool)) for tool in tools), len(tools))
    params = Bm25Index(make_postings(terms(params_text(tool)) for tool in tools), len(tools))
    found = {f"{kind}@{depth}": 0 for kind in ("cosine", "fused") for depth in DEPTHS}
    vectors = encoder.encode([query for query, _ in labelled.requests])
    for (query, gold), vector in zip(labelled.requests, vectors, strict=True):
        asked = terms(query)
        cosine: Floats1d = text_vectors @ vector
        fused = weight * (standardise(cosine) + 0.5 * standardise(name_vectors @ vector))
        fused = fused + standardise(text.scores(asked)) + 0.5 * standardise(params.scores(asked))
        for kind, scores in (("cosine", cosine), ("fused", fused)):
            ranked = np.argsort(-scores, kind="stable").tolist()
            for depth in DEPTHS:
                found[f"{kind}@{depth}"] += set(gold) <= set(ranked[:depth])
    return {key: round(100 * hits / max(1, len(labelled.requests)), 1) for key, hits in found.items()}


def main(
    weights: Annotated[list[Path], typer.Argument(help="folders of encoders, as under inference/weights")],
    sets: Annotated[list[Path], typer.Option("--set", help="folder of a set; may be repeated")],
    most: Annotated[int, typer.Option(help="requests of a set at most")] = 300,
    cosine_weight: Annotated[float, typer.Option(help="how much the cosines count beside the shipped weights")] = 1.0,
) -> None:
    """Print the figures."""
    for folder in sets:
        labelled = read_set(folder, most)
        for encoder in weights:
            scores = measure(labelled, MiniLmEncoder(encoder), cosine_weight)
            row = {"set": labelled.name, "requests": len(labelled.requests), "model": encoder.name, **scores}
            print(json.dumps(row))


if __name__ == "__main__":
    run_command(main)
