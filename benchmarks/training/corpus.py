"""Needs, everyday phrases and whole requests for the operations of 280 public documents: what the encoder learns from. See written/DATASHEET.md.

``python -m benchmarks.training.corpus OUT`` takes the documents from their packages into OUT, joins them with the texts of ``texts.jsonl.gz``,
and writes ``OUT/groups.jsonl``, each text with the documents that it needs, and ``OUT/lists.jsonl``, which ``train_reranker`` reads. Nothing of the documents
is stored here.
"""

from __future__ import annotations

import gzip
import json
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rank_bm25 import BM25Okapi

from benchmarks.command import run_command
from examples.real.fetch import fetch
from inference import DEFAULT_ENCODER, load_encoder
from ingest.sources import read_catalog
from ontology.tool import tool_text

FOLDER = Path(__file__).resolve().parent / "written"
DOCUMENTS, TEXTS = FOLDER / "documents.yaml", FOLDER / "texts.jsonl.gz"
MOST_RANKED, FEWEST_RANKED, MOST_OTHERS = 400, 8, 14
SMOOTHING = 20  # of reciprocal ranks
CLEARLY, SAME = 0.02, 0.95
"""By how much nearer an operation is than another, and the cosine from which two say the same. The constants are chosen, not tuned."""


def main(out: Annotated[Path, typer.Argument(help="Folder for archives, documents and groups.")]) -> None:
    """Fetch the documents, and write the groups and the lists."""
    fetch(out, source=DOCUMENTS, progress=print)
    texts = tool_texts(out / "documents")
    found = list(groups(texts))
    for name, rows in (("groups", found), ("lists", lists(found, texts))):
        with (out / f"{name}.jsonl").open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    counts = Counter(group["kind"] for group in found)
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
                for kind in ("needs", "phrases", "requests", "asked"):
                    for text in row.get(kind, ()):
                        yield {"kind": kind, "query": text, "ids": ids, "texts": [texts[tool] for tool in ids]}


def lists(found: Iterable[Mapping[str, Any]], texts: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Each need and phrase with the text of its operation, and those of its document that BM25 and the shipped encoder rank highest.

    Both count by reciprocal ranks. A need that was asked for a request is for that of the request's operations that it is clearly nearest to;
    without one it is left out. A text that says the same as the right one is neither right nor wrong, nor are the others of a request. Of a
    large document at most 400 operations are ranked, those with texts of their own first.
    """
    encoder = load_encoder(DEFAULT_ENCODER)
    by_document: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for group in found:
        if group["kind"] != "requests":
            by_document[group["ids"][0].partition("/")[0]].append(group)
    for document, groups_ in sorted(by_document.items()):
        named = sorted({id_ for group in groups_ for id_ in group["ids"]})
        others = sorted({id_ for id_ in texts if id_.partition("/")[0] == document}.difference(named))
        random.Random(document).shuffle(others)
        ranked = [*named, *others][: max(MOST_RANKED, len(named))]
        if len(ranked) < FEWEST_RANKED:
            continue
        vectors = encoder.encode([texts[id_] for id_ in ranked])
        words = BM25Okapi([_words(texts[id_]) for id_ in ranked])
        for group, row in zip(groups_, encoder.encode([group["query"] for group in groups_]) @ vectors.T, strict=True):
            ranks = (np.argsort(np.argsort(-scores)) for scores in (row, words.get_scores(_words(group["query"]))))
            fused = sum(1 / (SMOOTHING + rank) for rank in ranks)
            near = row + 4 * fused
            right, *rest = sorted(map(ranked.index, group["ids"]), key=(-near).__getitem__)
            if rest and near[right] < near[rest[0]] + CLEARLY:
                continue
            wrong = vectors @ vectors[right] < SAME
            wrong[[right, *rest]] = False
            yield {
                "document": document,
                "kind": group["kind"],
                "query": group["query"],
                "right": texts[ranked[right]],
                "others": [texts[ranked[place]] for place in np.argsort(-fused) if wrong[place]][:MOST_OTHERS],
            }


def _words(text: str) -> list[str]:
    return re.findall("[a-z0-9]+", re.sub("([a-z])([A-Z])", r"\1 \2", text).lower())


if __name__ == "__main__":
    run_command(main)
