"""Build a snapshot from the shipped documents and search it, all in this process.

Run it from the folder of the checkout, with a request of your own or without:

    .venv/bin/python examples/build_and_search.py "block the supplier Acme"

A snapshot is one folder with the tools, their graph and the indexes. It never changes: a new build is a new snapshot.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from inference import DEFAULT_ENCODER, load_encoder
from retrieval.engine import open_engine
from retrieval.query.request import Request
from services.jobs.build import build_snapshot

CATALOG = Path(__file__).parent / "enterprise" / "catalog"
REQUEST = "give Jan a spot award that fits his career level"


def main(query: str) -> None:
    """Build, search, and print the tools with the reasons."""
    encoder = load_encoder(DEFAULT_ENCODER)  # the small sentence encoder that ships; it runs on the CPU
    with tempfile.TemporaryDirectory() as folder:
        # Documents → tools → triples → graph → snapshot. The report says what was rejected, and why.
        report = build_snapshot([str(CATALOG)], Path(folder), encoder=encoder)
        print(f"Snapshot {report.snapshot_id}: {report.tools} tools")

        # A snapshot is opened once and asked many times, by several threads if you like.
        engine = open_engine(Path(folder), encoder=encoder)
        answer = engine.retriever("default").retrieve(Request(query=query, k=5))

    print(f"\n{query}")
    for tool in answer.tools:
        print(f"{tool.rank}  {tool.id}  {tool.score:.2f}")
        # An entry node is a node of the graph that matches the request, by its words or by its meaning.
        entries = dict.fromkeys(entry.node for entry in tool.reasons.entries)
        print("     entry nodes:", ", ".join(entries) or "none")
        # A feature is a number that the ranking adds up, for example how well the title fits.
        strongest = sorted(tool.reasons.features.items(), key=lambda item: -item[1])[:3]
        print("     features:   ", ", ".join(f"{name} {value:.2f}" for name, value in strongest))


if __name__ == "__main__":
    main(" ".join(sys.argv[1:]) or REQUEST)
