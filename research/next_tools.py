"""What it is worth to say which tools are done: ``python -m research.next_tools STORE=QUERIES …``.

Each request that needs several tools is asked in the middle of its task: the first half of its gold set was executed already. Counted is
whether the rest is complete among the first 3, 5 and 10 tools: without saying so, where the executed tools are dropped from a longer
list, and with ``done``. Where the rows of a set name ``main`` tools, the others are done: they come first. Gold sets without an order are
halved as they stand.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from scripts.run_command import run_command
from services.threads import pin_threads

if TYPE_CHECKING:
    from eval.gold_slots import Slot
    from retrieval.engine import Engine
    from retrieval.retriever import Retriever

CUTOFFS = (3, 5, 10)
_NEVER = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class HalfDone:
    """A request in the middle of its task.

    :param done: ids of the executed tools.
    :param rest: the slots that are still open.
    """

    id: str
    text: str
    done: tuple[str, ...]
    rest: tuple[Slot, ...]


def main(
    sets: Annotated[list[str], typer.Argument(help="STORE=QUERIES; several sets are averaged")],
    split: Annotated[str, typer.Option(help="only rows of this split, of sets that have it")] = "",
    most: Annotated[int, typer.Option(help="requests of a set, chosen by a hash; 0: all")] = 0,
    system: Annotated[str, typer.Option(help="preset")] = "default",
) -> None:
    """Measure, and print a table."""
    from retrieval.snapshot_engine import open_engine

    pin_threads()
    print(f"| set | requests | {' / '.join(f'@{k}' for k in CUTOFFS)} | with `done` | gained, lost @10 |")
    print("|---|---:|---:|---:|---:|")
    means = []
    for each in sets:
        store, _, queries = each.partition("=")
        requests = sample(list(half_done(Path(queries), split)), most)
        if not requests:
            print(f"| {Path(queries)} | 0 | – | – | – |")
            continue
        engine = open_engine(Path(store))
        for part, chosen in _parts(requests, engine):
            ranks = completing_ranks(engine.retriever(system), chosen)
            shares = [[float((column < k).mean()) for k in CUTOFFS] for column in ranks]
            if not part:
                means.append(shares)
            gained, lost = (int(((ranks[a] < 10) & (ranks[1 - a] >= 10)).sum()) for a in (1, 0))
            print(
                f"| {_name(Path(queries))}{part} | {len(chosen)} | {_row(shares[0])} | {_row(shares[1])} | {gained}, {lost} |"
            )
    if means:
        mean = np.mean(means, axis=0)
        print(f"| mean of {len(means)} sets | | {_row(mean[0])} | {_row(mean[1])} | |")


def half_done(path: Path, split: str = "") -> Iterator[HalfDone]:
    """Yield the requests of a file in the middle of their tasks; those that need one tool are left out.

    :param split: only the rows of this split, where the rows have one.
    """
    from eval.gold_slots import gold_slots

    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if split and row.get("split", split) != split:
            continue
        slots = gold_slots(row["tools"])
        main_tools = set(row["main"]) if isinstance(row.get("main"), list) else set()
        first = (
            [slot for slot in slots if not main_tools.intersection(slot)] if main_tools else slots[: len(slots) // 2]
        )
        done = tuple(slot[0] for slot in first)
        rest = tuple(slot for slot in slots if not set(slot).intersection(done))
        if done and rest:
            yield HalfDone(id=row["id"], text=row["query"], done=done, rest=rest)


def sample(requests: Sequence[HalfDone], most: int) -> list[HalfDone]:
    """The first requests by a hash of their ids; all of them for 0."""
    ordered = sorted(requests, key=lambda one: hashlib.sha256(one.id.encode()).hexdigest())
    return ordered[:most] if most else ordered


def completing_ranks(retriever: Retriever, requests: Sequence[HalfDone]) -> NDArray[np.int64]:
    """The rank, from 0, at which the rest is complete, without and with ``done``, int64 [2, requests]."""
    from retrieval.query.request import Request

    ranks = []
    for one in requests:
        longer = Request(query=one.text, k=max(CUTOFFS) + len(one.done), explain=False)
        known = Request(query=one.text, k=max(CUTOFFS), explain=False, done=one.done)
        dropped = [tool.id for tool in retriever.retrieve(longer).tools if tool.id not in one.done]
        ranks.append(
            (_completing(dropped, one.rest), _completing([t.id for t in retriever.retrieve(known).tools], one.rest))
        )
    return np.asarray(ranks, dtype=np.int64).T


def _completing(answer: Sequence[str], rest: Sequence[Slot]) -> int:
    places = {tool: place for place, tool in enumerate(answer)}
    return max(min(places.get(tool, _NEVER) for tool in slot) for slot in rest)


def _parts(requests: Sequence[HalfDone], engine: Engine) -> Iterator[tuple[str, Sequence[HalfDone]]]:
    """All requests; then those whose rest stays in the namespaces of the executed tools, and the others, where there are both."""
    yield "", requests
    stays = [_namespaces(engine, one.rest) <= _namespaces(engine, [one.done]) for one in requests]
    if any(stays) and not all(stays):
        yield ", same system", [one for one, same in zip(requests, stays, strict=True) if same]
        yield ", also others", [one for one, same in zip(requests, stays, strict=True) if not same]


def _namespaces(engine: Engine, slots: Iterable[Slot]) -> set[str]:
    return {engine.tool(tool).namespace for slot in slots for tool in slot}


def _name(path: Path) -> str:
    return path.parent.name if path.stem in ("queries", "requests") else path.stem


def _row(shares: Sequence[float] | NDArray[np.float64]) -> str:
    return " / ".join(f"{100 * share:.1f}" for share in shares)


if __name__ == "__main__":
    run_command(main)
