"""How right are plans of calls? ``python -m research.plan_sets STORE=QUERIES …``.

Each request is planned with a tool of its gold set as the goal: the last one where the gold set has an order; else each in turn, of which the
mean is counted, and apart the share of requests with a goal whose plan is the gold set. The tools of the plan are held against the gold
set, beside as many tools of plain retrieval: with the goal at their head, which is what the plan was told, and without; and the goal alone.
"""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from scripts.run_command import run_command
from services.threads import pin_threads

if TYPE_CHECKING:
    from egotools.values import ToolPlan
    from eval.queries import Slot
    from retrieval.engine import Engine
    from retrieval.query.request import PlanRequest

_MOST = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRequest:
    """A labelled request.

    :param goals: each is the goal once.
    :param done: ids of the tools that were executed before.
    """

    text: str
    slots: tuple[Slot, ...]
    goals: tuple[str, ...]
    done: tuple[str, ...] = ()


def main(
    sets: Annotated[list[str], typer.Argument(help="STORE=QUERIES")],
    least: Annotated[int, typer.Option(help="only requests that need so many tools")] = 1,
    split: Annotated[str, typer.Option(help="only rows of this split, of sets that have it")] = "",
) -> None:
    """Measure, and print a table."""
    from retrieval.engine import open_engine

    pin_threads()
    print(
        "| set | requests, goals | plan: precision, recall, exact | without the request's words | goal and best of retrieval "
        "| best of retrieval | the goal alone | a goal with an exact plan | ms |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    for each in sets:
        store, _, queries = each.partition("=")
        requests = [one for one in labelled(Path(queries), split) if len(one.slots) >= least]
        if requests:
            name = Path(queries).parent.name
            print(f"| {name} | {_row(measured(open_engine(Path(store)), requests))} |", flush=True)


def labelled(path: Path, split: str = "") -> Iterator[PlannedRequest]:
    """Yield the requests of a file."""
    from eval.queries import gold_slots

    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if split and row.get("split", split) != split:
            continue
        slots = gold_slots(row["tools"])
        goals = slots[-1:] if row.get("ordered") or row.get("shape") == "chain" else slots
        done = tuple(row.get("done", ()))
        yield PlannedRequest(text=row["query"], slots=slots, goals=tuple(slot[0] for slot in goals), done=done)


def scores(found: Collection[str], slots: Sequence[Slot]) -> tuple[float, float, float]:
    """Precision, recall, and whether both are 1, of some tools."""
    wanted = {tool for slot in slots for tool in slot}
    precision = sum(tool in wanted for tool in found) / len(found) if found else 0.0
    recall = sum(not set(slot).isdisjoint(found) for slot in slots) / len(slots)
    return precision, recall, float(precision == recall == 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The means of a set.

    :param means: precision, recall and the share of exact answers: of plans, of plans without the words of the request, of the goal with the
        best tools of retrieval, of the best tools without it, and of the goal without any, float64 [5, 3].
    :param any_exact: share of the requests with a goal whose plan is the gold set.
    :param ms: milliseconds a plan.
    """

    requests: int
    goals: int
    means: NDArray[np.float64]
    any_exact: float
    ms: float


def measured(engine: Engine, requests: Iterable[PlannedRequest]) -> Measured:
    """The means of a set."""
    from retrieval.query.request import PlanRequest

    rows, any_exact, goals, seconds = [], [], 0, 0.0
    for one in requests:
        best = _best(engine, one)
        of_goals = []
        for goal in one.goals:
            started = time.perf_counter()
            plan = engine.plan(PlanRequest(goals=[goal], query=one.text, done=one.done))
            seconds += time.perf_counter() - started
            of_goals.append(
                [
                    scores(tools, one.slots)
                    for tools in _answers(engine, plan, PlanRequest(goals=[goal], done=one.done), best)
                ]
            )
        goals += len(one.goals)
        rows.append(np.mean(of_goals, axis=0))
        any_exact.append(max(each[0][2] for each in of_goals))
    return Measured(
        requests=len(rows),
        goals=goals,
        means=np.mean(rows, axis=0),
        any_exact=float(np.mean(any_exact)),
        ms=1e3 * seconds / goals,
    )


def _best(engine: Engine, one: PlannedRequest) -> list[str]:
    from retrieval.query.request import Request

    request = Request(query=one.text, k=_MOST, explain=False)  # not without what is done: a tool may be called again
    return [tool.id for tool in engine.retriever().retrieve(request).tools]


def _answers(engine: Engine, plan: ToolPlan, wordless: PlanRequest, best: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield the tools of the plan, of the plan without the words of the request, of two baselines of the same size, and the goal."""
    (goal,), size = wordless.goals, len(plan.steps)
    yield plan.tool_ids
    yield engine.plan(wordless).tool_ids
    yield [goal, *(tool for tool in best if tool != goal)][:size]
    yield best[:size]
    yield [goal]


def _row(found: Measured) -> str:
    means = " | ".join(", ".join(f"{value:.3f}" for value in row) for row in found.means)
    return f"{found.requests}, {found.goals} | {means} | {found.any_exact:.3f} | {found.ms:.0f}"


if __name__ == "__main__":
    run_command(main)
