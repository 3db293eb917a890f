"""Two baselines of the planner on the generated mailbox: keyword search, and plain tool calling (``research.tool_calling``).

``python -m research.planner_baselines`` ranks the entities of the asked type by BM25 against the request. With ``--endpoint URL --model
NAME`` the model calls the eight tools that ``Retrieve`` finds for the request. The requests are the paper's eight as they stand, then
some of the half ``test`` in a fixed shuffle, with names of the mailbox, such that there is an answer.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import tempfile
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

from rank_bm25 import BM25Okapi

from benchmarks.personal import TruthTables
from benchmarks.personal.write_personal_data import TODAY
from inference import OpenAIChat
from planners.calls.tool_finder import ToolFinder
from planners.query.query_graph import GoldRequest, request_set
from research.tool_calling import call_tools
from scripts.execution_accuracy import Mailbox, named_anew, opened_mailbox
from scripts.graph_truth import true_answer

_SEED = 7
_TOOLS = 8


class Outcome(NamedTuple):
    """What a baseline made of one request.

    :param precision: share of the answers that are true, :param recall: share of the true answers that are given; both in [0, 1].
    :param tokens: of all prompts together.
    """

    id: str
    right: bool
    precision: float
    recall: float
    tokens: int = 0
    calls: int = 0
    seconds: float = 0.0
    said: str = ""


def asked_requests(truth: TruthTables, tests: int) -> list[GoldRequest]:
    """The paper's requests, then so many of the half ``test`` with names of the mailbox that have an answer in it."""
    everything = request_set("personal")
    others = [named_anew(each, truth) for each in everything if each.split == "test"]
    others = [each for each in others if true_answer(each.graph, truth, TODAY)]
    Random(_SEED).shuffle(others)
    return [each for each in everything if each.paper] + others[:tests]


def scored(gold: GoldRequest, given: Collection[str], truth: TruthTables) -> Outcome:
    """Compare answers, each an identifier or a name, with the truth."""
    wanted = true_answer(gold.graph, truth, TODAY)
    if gold.graph.action == "count":
        right = [each.strip() for each in given] == [str(len(wanted))]
        return Outcome(gold.id, right, float(right), float(right))
    entities = truth.entities.get(gold.graph.vars[gold.graph.return_var], {})
    names: dict[str, set[str]] = {}
    for id_ in wanted:  # a date is an interval of one day; it may be given as the day
        for word in (id_, id_.partition("/")[0], entities.get(id_, {}).get("name", id_)):
            names.setdefault(str(word).casefold(), set()).add(id_)
    found = [names.get(each.strip().casefold(), set()) for each in dict.fromkeys(given)]
    hits = set().union(*found)
    precision = sum(map(bool, found)) / len(found) if found else float(not wanted)
    recall = len(hits) / len(wanted) if wanted else float(not given)
    return Outcome(gold.id, precision == recall == 1, precision, recall)


def by_keywords(gold: GoldRequest, truth: TruthTables, k: int = 0) -> Outcome:
    """Answer with the best entities of the asked type, which is told to the search, by BM25 over all that is known of each.

    :param k: how many; 0 for as many as there are true answers, which no search could know.
    """
    entities = truth.entities.get(gold.graph.vars[gold.graph.return_var], {})
    ids = sorted(entities)
    if not ids:
        return scored(gold, [], truth)
    scores = BM25Okapi([_words(f"{id_} {json.dumps(entities[id_])}") for id_ in ids]).get_scores(_words(gold.request))
    ranked = [id_ for score, id_ in sorted(zip(-scores, ids, strict=True)) if score < 0]
    if gold.graph.action == "count":
        return scored(gold, [str(len(ranked))], truth)
    return scored(gold, ranked[: k or len(true_answer(gold.graph, truth, TODAY))], truth)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


def summary(title: str, outcomes: Sequence[Outcome]) -> str:
    """One line of figures, means over requests."""

    def mean(values: Iterable[float]) -> float:
        return sum(values) / max(1, len(outcomes))

    right = sum(each.right for each in outcomes)
    return (
        f"{title}: right {right} of {len(outcomes)}; precision {mean(each.precision for each in outcomes):.2f}, "
        f"recall {mean(each.recall for each in outcomes):.2f}, {mean(each.tokens for each in outcomes):,.0f} prompt tokens, "
        f"{mean(each.calls for each in outcomes):.1f} calls, {mean(each.seconds for each in outcomes):.1f} s a request"
    )


async def _measure(chosen: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with opened_mailbox(Path(folder), messages=chosen.messages, seed=chosen.seed) as mailbox:
            requests = asked_requests(mailbox.truth, chosen.tests)
            if chosen.endpoint:
                _print("tool calling", [await _called(each, mailbox, chosen) for each in requests])
            else:
                _print("keyword search, as many as are true", [by_keywords(each, mailbox.truth) for each in requests])
                _print("keyword search, best ten", [by_keywords(each, mailbox.truth, 10) for each in requests])


async def _called(gold: GoldRequest, mailbox: Mailbox, chosen: argparse.Namespace) -> Outcome:
    """The outcome of one request, from the file of outcomes where it stands there."""
    lines = chosen.out.read_text(encoding="utf-8").splitlines() if chosen.out and chosen.out.exists() else []
    kept = {each.id: each for each in (Outcome(**json.loads(line)) for line in lines)}
    if gold.id in kept:
        return kept[gold.id]
    model = OpenAIChat(chosen.model, base_url=chosen.endpoint, timeout_s=1_800.0)
    tools = [each.tool for each in (await ToolFinder(mailbox.client, k=_TOOLS).find(gold.request)).tools]
    today = f"{TODAY:%A} {TODAY}"
    called = await call_tools(gold.request, model, tools, mailbox.invoker, today=today, shown=chosen.shown)
    outcome = scored(gold, called.answers or (), mailbox.truth)._replace(
        tokens=called.tokens, calls=called.calls, seconds=called.seconds, said=called.said
    )
    outcome = outcome if called.answers is not None else outcome._replace(right=False, precision=0.0, recall=0.0)
    if chosen.out:
        with chosen.out.open("a", encoding="utf-8") as file:
            file.write(json.dumps(outcome._asdict()) + "\n")
    return outcome


def _print(title: str, outcomes: Sequence[Outcome]) -> None:
    print(summary(f"{title}, the paper's eight", outcomes[:8]))
    print(summary(f"{title}, requests of the half test", outcomes[8:]), flush=True)


def main() -> None:
    """Print the figures."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--endpoint", default="", help="base URL of a chat model; without it, keyword search")
    options.add_argument("--model", default="")
    options.add_argument("--messages", type=int, default=400)
    options.add_argument("--seed", type=int, default=11)
    options.add_argument("--tests", type=int, default=20, help="requests of the half test, besides the paper's eight")
    options.add_argument("--shown", type=int, default=1_500, help="characters of a tool's answer that the model gets")
    options.add_argument("--out", type=Path, help="keeps the outcomes; those in it are not asked for again")
    asyncio.run(_measure(options.parse_args()))


if __name__ == "__main__":
    main()
