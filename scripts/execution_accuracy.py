"""Execution accuracy of a parser: are the answers of the personal requests true? ``python -m scripts.execution_accuracy --split test``.

One generated mailbox; tools found over gRPC and called. An answer is right when it equals the truth of the gold graph. The names in the
requests are those of nobody in that mailbox, so that most true answers are empty; therefore each request is asked a second time with the
names in it (and in its gold graph) replaced by some of the mailbox, such that there is an answer wherever one can be found.

The graphs are those of ``rules.v1``, or with ``--graphs FILE`` those that ``scripts.parser_accuracy --out FILE`` kept of a slow model, for
its requests alone; the names are then replaced in the graph that the model made.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from random import Random
from typing import TypeAlias

from benchmarks.personal import TruthTables, write_personal_data
from benchmarks.personal.write_personal_data import TODAY, ZONE
from egotools import AsyncClient
from egotools.calling.invoker import ToolInvoker
from inference import DEFAULT_ENCODER, load_encoder
from ontology.errors import EgotoolsError, ModelError
from planners.calls.tool_access import PythonInvoker
from planners.calls.tool_finder import ToolFinder
from planners.dfs.executor import Execution, date_resolver, execute
from planners.dfs.resolver import Resolver
from planners.dfs.tool_resolver import ToolResolver
from planners.personal import PersonalData, index_in_use, refresh_index
from planners.query import load_parser
from planners.query.domain import Domain, read_domain
from planners.query.query_graph import GoldRequest, QueryGraph
from scripts.graph_match import same_graph
from scripts.graph_truth import true_answer
from scripts.parser_accuracy import kept_graphs, sampled
from services.jobs.build import build_snapshot
from services.server.process import server_process

__all__ = ["Mailbox", "ids_of", "opened_mailbox"]

_TOOLS = "planners.personal.personal_tools"
_NAMES = ("name", "subject", "content", "email_address", "url")
_TRIES = 300


@dataclass(frozen=True, slots=True)
class Mailbox:
    """Generated data, its truth, and tools that answer from it: found through the client, called by the invoker."""

    domain: Domain
    truth: TruthTables
    resolver: Resolver
    client: AsyncClient
    invoker: ToolInvoker

    async def execute(self, graph: QueryGraph) -> Execution:
        """Execute a graph on the day of the data."""
        return await execute(graph, self.domain, self.resolver, resolve_date=date_resolver(TODAY))


@asynccontextmanager
async def opened_mailbox(
    folder: Path, *, messages: int, seed: int, around: Callable[[ToolInvoker], ToolInvoker] = lambda invoker: invoker
) -> AsyncIterator[Mailbox]:
    """Write data into a folder, index it, build its tools, and serve these from a process of their own.

    :param around: what stands around the invoker of the tools, to watch it.
    """
    truth = write_personal_data(folder / "home", messages=messages, seed=seed)
    refresh_index(PersonalData.below(folder / "home", zone=ZONE), folder / "index.sqlite", today=TODAY)
    build_snapshot([f"python:{_TOOLS}"], folder / "store", encoder=load_encoder(DEFAULT_ENCODER))
    domain = read_domain("personal")
    with server_process(folder / "store") as server, index_in_use(folder / "index.sqlite"):
        async with AsyncClient(server["address"]) as client:
            invoker = around(PythonInvoker([_TOOLS]))
            yield Mailbox(domain, truth, ToolResolver(domain, ToolFinder(client), invoker), client, invoker)


def ids_of(found: Execution) -> list[str]:
    """The identifiers that answer; none of a count."""
    return [each.id for each in found.answer]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one request.

    :param executed: whether the gold graph itself is answered by the truth, which is the executor's part alone.
    :param answers: number of true ones.
    """

    gold: GoldRequest
    graph_right: bool
    answer_right: bool
    executed: bool
    answers: int
    said: str = ""


Graphs: TypeAlias = Callable[[GoldRequest, GoldRequest], QueryGraph]
"""From a request as it is asked, and as it stands in the set, to its graph; raises EgotoolsError where there is none."""


def by_rules(asked: GoldRequest, written: GoldRequest) -> QueryGraph:
    """The graph of ``rules.v1``."""
    return load_parser("rules.v1").parse(asked.request, read_domain(asked.domain), TODAY).graph


def as_kept(path: Path) -> Graphs:
    """The graphs that a measurement kept, with the names of the request that is asked."""
    kept = kept_graphs(path)

    def graph_of(asked: GoldRequest, written: GoldRequest) -> QueryGraph:
        found = kept[written.id]
        if found.graph is None:
            raise ModelError(found.said, subject=written.id, remedy="None")
        names = {str(old.value): new.value for old, new in zip(written.graph.filters, asked.graph.filters, strict=True)}
        form = found.graph.to_json()
        for each in form["constraints"]:
            if each["kind"] == "filter":
                each["value"] = names.get(str(each["value"]), each["value"])
        return QueryGraph.model_validate_json(json.dumps(form))

    return graph_of


async def outcome_of(asked: GoldRequest, written: GoldRequest, graphs: Graphs, mailbox: Mailbox) -> Outcome:
    """Ask a request in words."""
    wanted = true_answer(asked.graph, mailbox.truth, TODAY)
    executed = _same(asked.graph, await mailbox.execute(asked.graph), wanted)
    try:
        graph = graphs(asked, written)
        right = graph.action == asked.graph.action and _same(graph, await mailbox.execute(graph), wanted)
    except EgotoolsError as error:
        return Outcome(asked, False, False, executed, len(wanted), str(error))
    return Outcome(asked, same_graph(graph, asked.graph), right, executed, len(wanted))


def _same(graph: QueryGraph, found: Execution, wanted: Sequence[str]) -> bool:
    return found.count == len(wanted) if graph.action == "count" else sorted(ids_of(found)) == sorted(wanted)


def named_anew(gold: GoldRequest, truth: TruthTables) -> GoldRequest:
    """Return a request with names of the mailbox, such that there is an answer, if one is found."""
    random, last = Random(gold.id), gold
    for _ in range(_TRIES):
        request, form = gold.request, gold.graph.to_json()
        for each in form["constraints"]:
            if each["kind"] != "filter" or each["field"] not in _NAMES or str(each["value"]) not in request:
                continue
            name = _some_name(gold.graph.vars[each["var"]], each["field"], truth, random)
            request, each["value"] = request.replace(str(each["value"]), name), name
        last = gold.model_copy(update={"request": request, "graph": QueryGraph.model_validate_json(json.dumps(form))})
        if true_answer(last.graph, truth, TODAY):
            return last
    return last


def _some_name(kind: str, field: str, truth: TruthTables, random: Random) -> str:
    fields = random.choice([fields for _, fields in sorted(truth.entities[kind].items())])
    if field == "email_address":
        return str(random.choice(fields["email_addresses"]))
    value = str(fields[field])
    return random.choice(value.removeprefix("Re: ").split()[:2]) if field in ("subject", "content") else value


def lines_of(title: str, outcomes: Sequence[Outcome], *, named: bool) -> list[str]:
    """The losses and the figures, as lines.

    :param named: whether the losses are shown by request.
    """
    lost = [each for each in outcomes if not each.answer_right]
    lines = [title]
    lines += [
        f"wrong: {each.gold.id} {each.gold.request if named else ''} ({each.answers} true answers) {each.said}".rstrip()
        for each in lost
    ]
    by_hops = groupby(sorted(outcomes, key=lambda each: each.gold.hops), key=lambda each: each.gold.hops)
    lines += [f"{hops} edges: {_share(list(each))}" for hops, each in by_hops]
    answered = [each for each in outcomes if each.answers]
    graphs = sum(each.graph_right for each in outcomes)
    return [
        *lines,
        f"gold graphs executed truly: {sum(each.executed for each in outcomes)} of {len(outcomes)}",
        f"graphs: {graphs} of {len(outcomes)}",
        f"answers: {_share(outcomes)}",
        f"answers, where the true one is not empty: {_share(answered)}",
    ]


def _share(outcomes: Iterable[Outcome]) -> str:
    right = [each.answer_right for each in outcomes]
    return f"{sum(right)} of {len(right)} = {100 * sum(right) / max(1, len(right)):.1f} %"


async def measured(split: str, messages: int, seed: int, kept: Path | None) -> list[str]:
    """Ask each request of a half as it is written, and with names of the mailbox."""
    graphs = as_kept(kept) if kept else by_rules
    known = kept_graphs(kept) if kept else None
    with tempfile.TemporaryDirectory() as folder:
        async with opened_mailbox(Path(folder), messages=messages, seed=seed) as mailbox:
            requests = [each for each in sampled("personal", split) if known is None or each.id in known]
            written = [await outcome_of(each, each, graphs, mailbox) for each in requests]
            anew = [await outcome_of(named_anew(each, mailbox.truth), each, graphs, mailbox) for each in requests]
    title = f"{kept.name if kept else 'rules.v1'}, personal, {split}, {messages} mails, seed {seed}"
    named = split == "dev"
    return [
        *lines_of(f"{title}, as written", written, named=named),
        *lines_of(f"{title}, names of the mailbox", anew, named=named),
    ]


def main() -> None:
    """Print the losses and the figures."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--split", choices=["dev", "test"], default="dev")
    options.add_argument("--messages", type=int, default=600)
    options.add_argument("--seed", type=int, default=11)
    options.add_argument("--graphs", type=Path)
    chosen = options.parse_args()
    print(*asyncio.run(measured(chosen.split, chosen.messages, chosen.seed, chosen.graphs)), sep="\n")


if __name__ == "__main__":
    main()
