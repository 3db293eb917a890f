"""What a model's choice among the best 40 tools is worth, and a budget of tokens: ``python -m benchmarks.choice`` renews tables of docs/results.md and notes/agents.md.

The choices are recorded (``benchmarks/choices.jsonl``: set, request, whether needs were given, tools; ids as the first 12 digits of their
SHA-256): a model saw each task with the 40 tools that ``egotools serve --chooser`` shows, and no answer. Here they stand for its answers.
"""

from __future__ import annotations

import hashlib
import json
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from benchmarks.command import ROOT, current, replace_block, run_command
from benchmarks.phrases import CUTOFFS, figures_of, percents
from benchmarks.sets import REAL, SHIPPED_DEV, SHIPPED_TEST, BenchSet, bench_sets, catalog_address, real_sets
from eval.queries import LabelledQuery, read_queries, with_needs
from inference import DEFAULT_ENCODER, load_encoder
from inference.encoder import Encoder
from inference.encoder_wrappers import with_recent_vectors
from retrieval.engine import Engine, open_engine
from retrieval.query.request import Request
from services.jobs.build import build_snapshot
from services.server.messages import tool_tokens

_CHOICES, _NOTE = ROOT / "benchmarks" / "choices.jsonl", ROOT / "benchmarks" / "notes" / "agents.md"
_TOKENS = (1_000, 2_000, 4_000)  # of schemas
_Chosen = Mapping[tuple[str, bool], list[str]]  # request and whether needs were given → tools


def main(out: Annotated[Path, typer.Option(help="Folder of snapshots.")] = ROOT / "out" / "choice") -> None:
    """Ask each request without the recorded choice and with it, and within budgets, and renew the tables."""
    encoder = with_recent_vectors(load_encoder(DEFAULT_ENCODER, workers=2))
    measured = f"Measured with {current(DEFAULT_ENCODER)}. Command: `python -m benchmarks.choice`."
    replace_block(_NOTE, "budgets", "\n".join([*_budgets(out, encoder), "", measured]))
    chosen: dict[str, dict[tuple[str, bool], list[str]]] = defaultdict(dict)
    for row in map(json.loads, _CHOICES.read_text(encoding="utf-8").splitlines()):
        chosen[row["set"]][row["request"], row["needs"]] = row["tools"]
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
    replace_block(ROOT / "docs" / "results.md", "choice", "\n".join([*lines, "", measured]))


def _budgets(out: Path, encoder: Encoder) -> Iterable[str]:
    """Yield the table of what is complete within so many tokens of schemas: the first tools until one does not fit, and ``budget_tokens``."""
    found: dict[str, list[NDArray[np.float64]]] = defaultdict(list)
    for one in (*bench_sets([SHIPPED_TEST]), *real_sets()[:1], *bench_sets()):
        if one.needs is not None and one.declared is None:
            engine = _engine(one, out / one.name, encoder)
            queries = with_needs(read_queries([one.queries], split=one.split), [one.needs]).queries
            asked = [[_within(engine, query, needs) for needs in ((), query.needs or ())] for query in queries]
            found[one.name if one.name in (SHIPPED_TEST, REAL) else "mean of {} open sets"].append(np.mean(asked, 0))
    yield f"| tokens | {' | '.join(f'{each:,}' for each in _TOKENS)} |\n|---|{'---|' * len(_TOKENS)}"
    for name, sets in found.items():
        for needs, each in zip(("whole", "by needs"), 100 * np.mean(sets, axis=0), strict=True):
            cells = (f"{first:.1f} → {taken:.1f}" for first, taken in each)
            yield f"| {name.format(len(sets))}, {needs} | {' | '.join(cells)} |"


def _within(engine: Engine, query: LabelledQuery, needs: Sequence[str]) -> list[list[bool]]:
    size_of = partial(tool_tokens, engine, schema_format="openai")
    request = Request(query=query.text, needs=tuple(needs), explain=False, k=50, size_of=size_of)
    ranked = _found(engine, request)
    ends = [*accumulate(map(size_of, ranked))]
    answers = [
        (ranked[: bisect_right(ends, each)], _found(engine, replace(request, budget_tokens=each))) for each in _TOKENS
    ]
    return [[all(set(slot) & set(answer) for slot in query.slots) for answer in each] for each in answers]


def _found(engine: Engine, request: Request) -> list[str]:
    return [tool.id for tool in engine.retriever("default").retrieve(request).tools]


def _engine(one: BenchSet, folder: Path, encoder: Encoder) -> Engine:
    build_snapshot([str(catalog_address(one, folder))], folder / "store", encoder=encoder, workers=2)
    return open_engine(folder / "store", encoder=encoder)


def _measured(
    one: BenchSet, chosen: _Chosen, folder: Path, encoder: Encoder
) -> Iterable[tuple[bool, list[list[float]]]]:
    """Yield for each recorded choice whether needs were given, and the figures without it and with it."""
    engine = _engine(one, folder, encoder)
    retriever, tools = engine.retriever("default"), {_digest(each): each for each in engine.tool_ids(0, 10**6)}
    labelled = read_queries([one.queries], split=one.split)
    written = with_needs(labelled, [each for each in [one.needs] if each])
    asked = {_digest(query.id): query for query in (*labelled.queries, *written.queries)}
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
