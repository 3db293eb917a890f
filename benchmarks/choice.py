"""What a model's choice among the best 40 tools is worth, ``python -m benchmarks.choice``: the table of choices of docs/results.md.

The choices are recorded (``benchmarks/choices.jsonl``: set, request, whether needs were given, tools; ids as the first 12 digits of their
SHA-256): a model saw each task with the 40 tools that ``egotools serve --chooser`` shows, and no answer. Here they stand for its answers.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from benchmarks.command import ROOT, current, run_command
from benchmarks.sets import bench_sets, catalog_address
from egotools.values import Response
from eval.queries import gold_slots
from inference import DEFAULT_ENCODER, load_encoder
from retrieval.engine import open_engine
from retrieval.query.request import Request
from services.jobs.build import build_snapshot

_CHOICES = ROOT / "benchmarks" / "choices.jsonl"
_CUTOFFS = (3, 5, 10)


def main(out: Annotated[Path, typer.Option(help="Folder of snapshots.")] = ROOT / "out" / "choice") -> None:
    """Ask each request without the recorded choice and with it, and print the table."""
    chosen: dict[str, dict[tuple[str, bool], list[str]]] = defaultdict(dict)
    for row in _rows(_CHOICES):
        chosen[row["set"]][row["request"], row["needs"]] = row["tools"]
    encoder = load_encoder(DEFAULT_ENCODER, workers=2)
    print("| set | requests | without @3/@5/@10 | with | tools of `auto_k` without | with | complete without | with |")
    print("|---|---:|---|---|---:|---:|---:|---:|")
    for one in bench_sets(list(chosen)):
        store = out / one.name / "store"
        if not store.is_dir():
            build_snapshot([str(catalog_address(one, out / one.name))], store, encoder=encoder, workers=2)
        engine = open_engine(store, encoder=encoder)
        retriever, tools = engine.retriever("default"), {_digest(each): each for each in engine.tool_ids(0, 10**6)}
        asked = {_digest(row["id"]): row for row in _rows(one.queries)}
        needs = {_digest(row["id"]): row["needs"] for row in _rows(one.needs)} if one.needs else {}
        for with_needs in (False, True):
            found = []
            for (id_, _), first in ((key, ids) for key, ids in chosen[one.name].items() if key[1] == with_needs):
                wanted = Request(query=asked[id_]["query"], needs=needs[id_] if with_needs else (), explain=False)
                gold = gold_slots(asked[id_]["tools"])
                for request in (wanted, replace(wanted, first=tuple(tools[each] for each in first))):
                    answers = [retriever.retrieve(each) for each in (request, replace(request, k=40, auto_k=True))]
                    found.append(_figures(answers, gold))
            table = np.asarray(found).reshape(-1, 2, len(_CUTOFFS) + 2).mean(axis=0)
            cells = ["/".join(f"{100 * value:.1f}" for value in row[:-2]) for row in table]
            cells += [f"{row[-2]:.1f}" for row in table] + [f"{100 * row[-1]:.1f}" for row in table]
            kind = "needs" if with_needs else "whole"
            print(f"| {one.name}, {kind} | {len(found) // 2} | {' | '.join(cells)} |", flush=True)
    print(f"\nMeasured with {current(DEFAULT_ENCODER)}.")


def _figures(answers: Sequence[Response], gold: Iterable[Iterable[str]]) -> list[float]:
    """Whether the needed tools are among the first 3, 5, 10; how many tools ``auto_k`` returns, and whether they are among those."""
    ranked, sized = ([tool.id for tool in answer.tools] for answer in answers)
    slots = [set(slot) for slot in gold]
    complete = [all(slot & set(ranked[:cutoff]) for slot in slots) for cutoff in _CUTOFFS]
    return [*map(float, complete), float(len(sized)), float(all(slot & set(sized) for slot in slots))]


def _digest(id_: str) -> str:
    return hashlib.sha256(id_.encode()).hexdigest()[:12]


def _rows(path: Path) -> Iterable[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


if __name__ == "__main__":
    run_command(main)
