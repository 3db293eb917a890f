"""What learning from use is worth: ``python -m research.learn_from_use [FOLDER]``.

The folder has ``tools.jsonl``, ``usage_log.jsonl`` (the past) and ``queries.jsonl``, which the past does not have; by default ToolLens. A
store is built from the tools, ``egotools learn`` learns from the log and decides by its own held-out sessions, and then the requests are
asked without and with what was learned. Three controls: only words, no vectors, as the log of a server keeps them by default;
a short log; and a log whose tools are shuffled, from which nothing can be learned. At the end, what a spammer moves.
On tool sets that the log does not have: :mod:`research.unseen_tool_sets`.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scripts.reliability.chaos_learn import SPAM, places_moved, spam_of
from scripts.run_command import run_command
from services.threads import pin_threads

if TYPE_CHECKING:
    from eval.learning import Learning, Session
    from eval.queries import LabelledQuery
    from retrieval.engine import SnapshotEngine
    from retrieval.retriever import Retriever

TOOLLENS = Path(__file__).resolve().parent.parent.parent / "shared" / "bench" / "toollens"
CUTOFFS = (3, 5, 10)
_SHORT = 2_000
_REPORTERS, _HONEST, _ASKED, _OTHERS = 50, 1_000, 300, 5_000


def main(
    folder: Annotated[Path, typer.Argument(help="folder with tools.jsonl, usage_log.jsonl, queries.jsonl")] = TOOLLENS,
    store: Annotated[Path | None, typer.Option(help="keep the store here; one that is there is used")] = None,
    most: Annotated[int, typer.Option(help="requests that are asked; 0: all")] = 0,
    controls: Annotated[bool, typer.Option(help="measure the controls too")] = True,
) -> None:
    """Build, learn, measure, and print a table."""
    pin_threads()
    with tempfile.TemporaryDirectory() as temporary:
        measure(folder, store or Path(temporary) / "store", most, controls=controls)


def measure(folder: Path, store: Path, most: int, *, controls: bool) -> None:
    """Print a row for each past."""
    engine, queries, log = opened(folder, store)
    queries = tuple(random.Random(0).sample(queries, most)) if most else queries
    print(f"{len(queries):,} requests, {len(log):,} sessions of the past\n")
    print(
        "| past | CompleteRecall "
        + " / ".join(f"@{k}" for k in CUTOFFS)
        + " | held-out sessions before → after | p | weights |"
    )
    print("|---|---|---|---:|---|", flush=True)
    _row("none", engine.retriever(), queries, None)
    pasts = {"the usage log": log}
    if controls:
        short = random.Random(0).sample(log, min(_SHORT, len(log)))
        pasts |= {
            "only its words": [_only_words(session, engine) for session in log],
            f"{len(short):,} sessions of it": short,
            f"{len(short):,} with shuffled tools": _shuffled(short),
        }
    for name, sessions in pasts.items():
        _learned_row(name, sessions, engine, queries)
    if controls:
        _spam_table(engine, log)


def opened(folder: Path, store: Path) -> tuple[SnapshotEngine, tuple[LabelledQuery, ...], list[Session]]:
    """The engine over the tools, built where the store has none; the requests; and the sessions of the log."""
    from eval.learning import known_sessions, read_usage_log
    from eval.queries import read_queries
    from inference import DEFAULT_ENCODER, load_encoder
    from retrieval.engine import open_engine
    from retrieval.snapshot.publish import published_id
    from services.jobs.build import build_snapshot

    if not published_id(store):
        build_snapshot([str(folder / "tools.jsonl")], store, encoder=load_encoder(DEFAULT_ENCODER))
    engine = open_engine(store)
    log = known_sessions(read_usage_log(folder / "usage_log.jsonl"), frozenset(engine.tool_ids(0, 10**9)))
    return engine, read_queries([folder / "queries.jsonl"]).queries, log


def _spam_table(engine: SnapshotEngine, log: Sequence[Session]) -> None:
    """What a spammer moves, on sessions of the log alone: 50 reporters with 1,000 of them, 300 others are asked."""
    drawn = random.Random(3).sample(log, min(len(log), _HONEST + _ASKED + _OTHERS))
    honest = [
        replace(session, time=1_700_000_000.0 + 600 * number, reporter=f"h{number % _REPORTERS}")
        for number, session in enumerate(drawn[:_HONEST])
    ]
    asked = [session.query for session in drawn[_HONEST : _HONEST + _ASKED]]
    others = drawn[_HONEST + _ASKED :]
    one_more = [replace(session, time=1_700_000_000.0, reporter="one more") for session in others[:20]]
    added = {"one more honest reporter, 20 sessions": one_more}
    added |= {
        f"a spammer, 10,000 sessions: {kind}": spam_of(kind, engine.snapshot, asked, [each.query for each in others])
        for kind in SPAM
    }
    print(
        "\n| added to 1,000 sessions of 50 reporters | places among the best five that change |\n|---|---:|", flush=True
    )
    for name, sessions in added.items():
        moved = places_moved(engine.snapshot, engine.encoder, honest, sessions, asked)
        print(f"| {name} | {moved:.2%} |", flush=True)


def _learned_row(
    name: str, sessions: Sequence[Session], engine: SnapshotEngine, queries: Sequence[LabelledQuery]
) -> None:
    import copy

    from eval.learning import learn
    from retrieval.graph_retriever import GraphRetriever

    learning = learn(sessions, engine.snapshot, engine.encoder, k=5)
    view = copy.copy(engine.snapshot)
    view.learned = learning.learned
    _row(name, GraphRetriever(view, engine.encoder), queries, learning)


def _row(name: str, retriever: Retriever, queries: Sequence[LabelledQuery], learning: Learning | None) -> None:
    recalls = " / ".join(f"{recall:.1f}" for recall in _complete_recalls(retriever, queries))
    if learning is None:
        print(f"| {name} | {recalls} | | | |", flush=True)
        return
    learned = learning.learned
    weights = f"{learned.weight:g}" if learned else "nothing published"
    held_out = f"{learning.before:.1%} → {learning.after:.1%}"
    print(f"| {name} | {recalls} | {held_out} | {learning.p_value:.2g} | {weights} |", flush=True)


def _complete_recalls(retriever: Retriever, queries: Sequence[LabelledQuery]) -> list[float]:
    """CompleteRecall at each cutoff, in percent."""
    from retrieval.query.request import Request

    complete = dict.fromkeys(CUTOFFS, 0)
    for query in queries:
        found = [tool.id for tool in retriever.retrieve(Request(query=query.text, k=max(CUTOFFS))).tools]
        for k in CUTOFFS:
            complete[k] += all(not set(slot).isdisjoint(found[:k]) for slot in query.slots)
    return [100 * complete[k] / len(queries) for k in CUTOFFS]


def _only_words(session: Session, engine: SnapshotEngine) -> Session:
    """The session as the log of a server has it: the words that the tools' documents have too."""
    return replace(session, query="", terms=tuple(sorted(engine.known_terms(session.query))))


def _shuffled(sessions: Sequence[Session]) -> list[Session]:
    """The sessions with the tools of others."""
    tools = [session.tools for session in sessions]
    random.Random(1).shuffle(tools)
    return [replace(session, tools=other) for session, other in zip(sessions, tools, strict=True)]


if __name__ == "__main__":
    run_command(main)
