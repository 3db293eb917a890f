"""What a model's choice among the best 40 tools is worth: ``python -m benchmarks.choice`` renews the table of choices of docs/results.md.

The choices are recorded (``benchmarks/choices.jsonl``: set, request, whether needs were given, tools; ids as the first 12 digits of their
SHA-256): a model saw each task with the 40 tools that ``egotools serve --chooser`` shows, and no answer. Here they stand for its answers.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from benchmarks.command import ROOT, current, replace_block, run_command
from benchmarks.phrases import CUTOFFS, figures_of, percents
from benchmarks.sets import SHIPPED_DEV, BenchSet, bench_sets, catalog_address
from eval.queries import read_queries, with_needs
from inference import DEFAULT_ENCODER, load_encoder
from inference.encoder import Encoder
from retrieval.engine import open_engine
from retrieval.query.request import Request
from services.jobs.build import build_snapshot

_CHOICES = ROOT / "benchmarks" / "choices.jsonl"
_Chosen = Mapping[tuple[str, bool], list[str]]  # request and whether needs were given → tools


def main(out: Annotated[Path, typer.Option(help="Folder of snapshots.")] = ROOT / "out" / "choice") -> None:
    """Ask each request without the recorded choice and with it, and renew the table."""
    chosen: dict[str, dict[tuple[str, bool], list[str]]] = defaultdict(dict)
    for row in map(json.loads, _CHOICES.read_text(encoding="utf-8").splitlines()):
        chosen[row["set"]][row["request"], row["needs"]] = row["tools"]
    encoder = load_encoder(DEFAULT_ENCODER, workers=2)
    found: dict[tuple[str, bool], list[list[list[float]]]] = defaultdict(list)
    for one in bench_sets(list(chosen)):
        group = "company, development half" if one.name == SHIPPED_DEV else "open sets"
        for needs, figures in _measured(one, chosen[one.name], out / one.name, encoder):
            found[group, needs].append(figures)
    lines = [
        "| requests | | without @3/@5/@10 | with | `auto_k`: complete, tools | with |",
        "|---|---:|---|---|---|---|",
    ]
    for (group, needs), rows in sorted(found.items()):
        mean = np.asarray(rows).mean(axis=0)
        cells = [percents(each[: len(CUTOFFS)]) for each in mean]
        cells += [f"{percents(each[len(CUTOFFS) : len(CUTOFFS) + 1])}, {each[len(CUTOFFS) + 1]:.1f}" for each in mean]
        lines.append(f"| {group}, {'by needs' if needs else 'whole'} | {len(rows)} | {' | '.join(cells)} |")
    lines += ["", f"Measured with {current(DEFAULT_ENCODER)}. Command: `python -m benchmarks.choice`."]
    replace_block(ROOT / "docs" / "results.md", "choice", "\n".join(lines))


def _measured(
    one: BenchSet, chosen: _Chosen, folder: Path, encoder: Encoder
) -> Iterable[tuple[bool, list[list[float]]]]:
    """Yield for each recorded choice whether needs were given, and the figures without it and with it."""
    store = folder / "store"
    build_snapshot([str(catalog_address(one, folder))], store, encoder=encoder, workers=2)
    engine = open_engine(store, encoder=encoder)
    retriever, tools = engine.retriever("default"), {_digest(each): each for each in engine.tool_ids(0, 10**6)}
    labelled = read_queries([one.queries], split=one.split)
    asked = {_digest(query.id): query for query in labelled.queries}
    asked |= {
        _digest(query.id): query for query in with_needs(labelled, [each for each in [one.needs] if each]).queries
    }
    for (id_, needs), first in chosen.items():
        query, ids = asked[id_], tuple(tools[each] for each in first)
        wanted = Request(query=query.text, needs=query.needs or () if needs else (), explain=False)
        pairs = [(each, replace(each, k=40, auto_k=True)) for each in (wanted, replace(wanted, first=ids))]
        answers = [(retriever.retrieve(each), retriever.retrieve(sized)) for each, sized in pairs]
        yield needs, [figures_of(each, sized, query.slots) for each, sized in answers]


def _digest(id_: str) -> str:
    return hashlib.sha256(id_.encode()).hexdigest()[:12]


if __name__ == "__main__":
    run_command(main)
