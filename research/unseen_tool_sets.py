"""What a usage log is worth on tool sets that it does not have: ``python -m research.unseen_tool_sets [FOLDER]``.

The requests of ToolLens are new, but each of their gold sets was used in some session of its log. So recall there says how well a request
finds the sessions of its own task. Here each request is asked twice: with all sessions, and with those left out whose tools are exactly
its gold set (the others alone vote then). Beside it stand two baselines without a catalogue: the tools of the
nearest session, and the tools that the 20 nearest sessions have, by the sum of the squares of their cosines.
"""

from __future__ import annotations

import copy
import random
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

from research.learn_from_use import CUTOFFS, TOOLLENS, opened
from scripts.run_command import run_command
from services.threads import pin_threads

if TYPE_CHECKING:
    from eval.learning import Session
    from eval.queries import LabelledQuery
    from inference.encoder import Floats2d
    from retrieval.engine import SnapshotEngine
    from retrieval.learned import PastRequests

_ASKED, _SEED, _NEAREST = 300, 11, 20
_WEIGHT = 32.0  # of the votes: what the usage log of ToolLens chooses

Found = dict[str, list[str]]
"""Id of a request → the ids that it got, best first."""


def main(
    folder: Annotated[Path, typer.Argument(help="folder with tools.jsonl, usage_log.jsonl, queries.jsonl")] = TOOLLENS,
    store: Annotated[Path | None, typer.Option(help="keep the store here; one that is there is used")] = None,
    most: Annotated[int, typer.Option(help="requests that are asked, at random; 0: all")] = _ASKED,
) -> None:
    """Measure both, and print a table."""
    pin_threads()
    with tempfile.TemporaryDirectory() as temporary:
        measure(folder, store or Path(temporary) / "store", most)


def measure(folder: Path, store: Path, most: int) -> None:
    """Print a row for each way to answer."""
    from eval.learning import bounded_sessions, encode_sessions

    engine, queries, log = opened(folder, store)
    queries = tuple(random.Random(_SEED).sample(queries, most)) if most else queries
    sessions = bounded_sessions(log, 2)
    vectors_PD = encode_sessions(sessions, engine.snapshot, engine.encoder)
    sets = [frozenset(each.tools) for each in sessions]
    counted = Counter(sets)
    known = [counted[_gold(query)] for query in queries]
    print(
        f"{len(queries):,} requests with {len({_gold(query) for query in queries}):,} gold sets; {sum(map(bool, known)):,} requests have a "
        f"gold set of the log, which {int(np.median(known))} sessions have in the middle\n"
    )
    print(f"| answered by | all sessions {_cutoffs()} | without those of the same tools {_cutoffs()} |\n|---|---|---|")
    rows: dict[str, list[Found]] = {"the documents alone": [_asked(engine, None, queries)] * 2}
    everything = [_voted(engine, queries, vectors_PD, sets, apart=apart) for apart in (False, True)]
    rows |= {name: [found[name] for found in everything] for name in everything[0]}
    rows["the usage log"] = _with_the_log(engine, queries, sessions, vectors_PD)
    for name, (seen, unseen) in rows.items():
        print(f"| {name} | {_recalls(queries, seen)} | {_recalls(queries, unseen)} |", flush=True)


def _cutoffs() -> str:
    return " / ".join(f"@{k}" for k in CUTOFFS)


def _gold(query: LabelledQuery) -> frozenset[str]:
    return frozenset(query.tools)


def _recalls(queries: Sequence[LabelledQuery], found: Mapping[str, Sequence[str]]) -> str:
    """CompleteRecall at each cutoff, in percent."""
    shares = [
        np.mean([all(not set(slot).isdisjoint(found[query.id][:k]) for slot in query.slots) for query in queries])
        for k in CUTOFFS
    ]
    return " / ".join(f"{100 * share:.1f}" for share in shares)


def _asked(engine: SnapshotEngine, learned: PastRequests | None, queries: Iterable[LabelledQuery]) -> Found:
    from retrieval.graph_retriever import GraphRetriever
    from retrieval.query.request import Request

    view = copy.copy(engine.snapshot)
    view.learned = learned
    retriever = GraphRetriever(view, engine.encoder)
    return {
        query.id: [tool.id for tool in retriever.retrieve(Request(query=query.text, k=max(CUTOFFS))).tools]
        for query in queries
    }


def _with_the_log(
    engine: SnapshotEngine, queries: Sequence[LabelledQuery], sessions: Sequence[Session], vectors_PD: Floats2d
) -> list[Found]:
    """Ask with what all sessions teach, and each request with what those of other tool sets teach."""
    from eval.learning import make_past_requests

    def learned_of(left_out: frozenset[str]) -> PastRequests:
        kept = [place for place, each in enumerate(sessions) if frozenset(each.tools) != left_out]
        past = [sessions[place] for place in kept]
        return replace(make_past_requests(past, vectors_PD[kept], engine.snapshot, min_reporters=2), weight=_WEIGHT)

    together = defaultdict(list)
    for query in queries:
        together[_gold(query)].append(query)
    apart: Found = {}
    for gold, some in together.items():
        apart |= _asked(engine, learned_of(gold), some)
    return [_asked(engine, learned_of(frozenset()), queries), apart]


def _voted(
    engine: SnapshotEngine,
    queries: Sequence[LabelledQuery],
    vectors_PD: Floats2d,
    sets: Sequence[frozenset[str]],
    *,
    apart: bool,
) -> dict[str, Found]:
    """The baselines: tools of the nearest session, and of the 20 nearest.

    :param apart: whether sessions of exactly the gold set are left out.
    """
    nearest: Found = {}
    voted: Found = {}
    cosines = engine.encoder.encode([query.text for query in queries]) @ vectors_PD.T
    for query, row in zip(queries, cosines, strict=True):
        same = np.asarray([apart and tools == _gold(query) for tools in sets])
        near = np.argsort(np.where(same, np.inf, -row))[:_NEAREST]
        votes: defaultdict[str, float] = defaultdict(float)
        for place in near:
            for tool in sorted(sets[place]):
                votes[tool] += float(max(row[place], 0.0)) ** 2
        nearest[query.id] = sorted(sets[near[0]])
        voted[query.id] = sorted(votes, key=votes.__getitem__, reverse=True)[: max(CUTOFFS)]
    return {"the nearest session, no catalogue": nearest, f"the {_NEAREST} nearest sessions, no catalogue": voted}


if __name__ == "__main__":
    run_command(main)
