"""Are the answers of the personal requests true? ``python -m benchmarks.planners.execution --split test``.

One generated mailbox; tools found over gRPC and called. An answer is right when it equals the truth of the gold graph: every assignment of
entities to its variables, joined edge by edge over whole tables. That has the semantics of ``planners/dfs/executor.py`` and nothing of its
code but the reader of dates and of ordinals. The names in the requests are those of nobody in that mailbox, so that most true answers are
empty; therefore each request is asked a second time with names of the mailbox, such that there is an answer wherever one can be found.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from random import Random
from typing import Annotated, TypeAlias

import typer

from benchmarks.command import run_command
from benchmarks.personal import TruthTables, write_personal_data
from benchmarks.personal.write_personal_data import TODAY, ZONE
from benchmarks.planners.accuracy import same_graph, sampled
from egotools import AsyncClient
from inference import DEFAULT_ENCODER, load_encoder
from ontology.errors import EgotoolsError
from planners.calls.tool_access import PythonInvoker
from planners.calls.tool_finder import ToolFinder
from planners.dfs.executor import Execution, execute
from planners.dfs.resolver import Resolver
from planners.dfs.tool_resolver import ToolResolver
from planners.personal import PersonalData, index_in_use, known_names, refresh_index
from planners.query import load_parser
from planners.query.dates import read_range
from planners.query.domain import Domain, read_domain
from planners.query.graph_faults import read_ordinal
from planners.query.query_graph import EdgeConstraint, FilterConstraint, GoldRequest, QueryGraph
from services.jobs.build import build_snapshot
from services.server.process import server_process

_TOOLS = "planners.personal.personal_tools"
_NAMES = ("name", "subject", "content", "email_address", "url")
_TRIES = 300
_Assignment: TypeAlias = Mapping[str, str]
_SINGLE = {"Self", "Date"}
_RANGE = "range"
"""A date with filters: one range of days, to which each edge may give another day of it."""


@dataclass(frozen=True, slots=True)
class Mailbox:
    """Generated data, its truth, and what answers from it: tools that are found over gRPC and called."""

    domain: Domain
    truth: TruthTables
    resolver: Resolver

    async def execute(self, graph: QueryGraph) -> Execution:
        """Execute a graph on the day of the data."""
        return await execute(graph, self.domain, self.resolver, today=TODAY)


@asynccontextmanager
async def opened_mailbox(folder: Path, *, messages: int, seed: int) -> AsyncIterator[Mailbox]:
    """Write data into a folder, index it, build its tools, and serve these from a process of their own."""
    truth = write_personal_data(folder / "home", messages=messages, seed=seed)
    refresh_index(PersonalData.below(folder / "home", zone=ZONE), folder / "index.sqlite", today=TODAY)
    build_snapshot([f"python:{_TOOLS}"], folder / "store", encoder=load_encoder(DEFAULT_ENCODER))
    domain = read_domain("personal")
    with server_process(folder / "store") as server, index_in_use(folder / "index.sqlite"):
        async with AsyncClient(server["address"]) as client:
            resolver = ToolResolver(domain, ToolFinder(client), PythonInvoker([_TOOLS]))
            yield Mailbox(domain, truth, resolver)


def ids_of(found: Execution) -> list[str]:
    """The identifiers that answer; none of a count."""
    return [each.id for each in found.answer]


def true_answer(graph: QueryGraph, truth: TruthTables, today: date) -> list[str]:
    """Return the identifiers that answer, in order; of a count, those that are counted.

    :raises InvalidArgumentError: when a date cannot be read.
    """
    values = {var: _values(graph, truth, var) for var in graph.vars}
    windows = {
        var: [read_range(str(each.value), today, each.op).range for each in graph.filters_of(var)]  # type: ignore[arg-type]
        for var, kind in graph.vars.items()
        if kind == "Date" and graph.filters_of(var)
    }
    found: list[_Assignment] = [{graph.return_var: each} for each in values[graph.return_var]]
    left, known = list(graph.edges), {graph.return_var}
    while left:
        edge = next(each for each in left if {each.source, each.target} & known)
        left.remove(edge)
        pairs = truth.pairs(graph.vars[edge.source], edge.edge, graph.vars[edge.target])
        if edge.target in windows:
            days = windows[edge.target]
            pairs = {(one, _RANGE) for one, two in pairs if all(date.fromisoformat(two[:10]) in each for each in days)}
        kept = [(one, two) for one, two in pairs if one in values[edge.source] and two in values[edge.target]]
        found = _joined(graph, found, edge, kept)
        known |= {edge.source, edge.target}
    for each in (each for each in graph.filters if each.field == "ordinal"):
        picked = _ordered(graph, truth, each.var, found)[read_ordinal(each.value)]
        found = [one for one in found if one[each.var] in picked]
    ordered = _ordered(graph, truth, graph.return_var, found)
    return ordered[:1] if graph.return_mode == "one" and graph.action == "find" else ordered


def _joined(
    graph: QueryGraph, found: list[_Assignment], edge: EdgeConstraint, pairs: list[tuple[str, str]]
) -> list[_Assignment]:
    ends: dict[tuple[str | None, str | None], list[tuple[str, str]]] = defaultdict(list)
    for one, two in pairs:
        for key in ((one, two), (one, None), (None, two)):
            ends[key].append((one, two))
    extended = (
        {**each, edge.source: one, edge.target: two}
        for each in found
        for one, two in ends[each.get(edge.source), each.get(edge.target)]
    )
    return [each for each in extended if _different(graph, each)]


def _different(graph: QueryGraph, assignment: _Assignment) -> bool:
    """Whether variables of one type stand for different entities."""
    chosen = [(graph.vars[var], value) for var, value in assignment.items() if graph.vars[var] not in _SINGLE]
    return len(set(chosen)) == len(chosen)


def _values(graph: QueryGraph, truth: TruthTables, var: str) -> set[str]:
    kind = graph.vars[var]
    if kind == "Self":
        return {"self"}
    if kind == "Date" and graph.filters_of(var):
        return {_RANGE}
    if kind == "Date":
        return {two for (_, _, target), pairs in truth.edges.items() if target == kind for _, two in pairs}
    filters = [each for each in graph.filters_of(var) if each.field != "ordinal"]
    return {id_ for id_, fields in truth.entities[kind].items() if all(_meets(fields, each) for each in filters)}


def _meets(fields: Mapping[str, object], each: FilterConstraint) -> bool:
    wanted = str(each.value).strip().casefold()
    if each.field == "email_address":
        return wanted in map(str.casefold, fields["email_addresses"])  # type: ignore[call-overload]
    if each.field == "extension":
        return str(fields["name"]).casefold().endswith(f".{wanted.removeprefix('.')}")
    value = str(fields[each.field]).casefold()
    return wanted in value if each.op == "contains" else value == wanted


def _ordered(graph: QueryGraph, truth: TruthTables, var: str, found: list[_Assignment]) -> list[str]:
    kind, ids = graph.vars[var], {each[var] for each in found}
    if kind == "Email":
        return sorted(ids, key=lambda each: (datetime.fromisoformat(truth.entities[kind][each]["sent_at"]), each))
    days = {one: two for one, two in truth.pairs(kind, "occurred_on", "Date")}
    return sorted(ids, key=lambda each: (days.get(each, ""), each))


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


async def outcome_of(asked: GoldRequest, mailbox: Mailbox) -> Outcome:
    """Ask a request in words."""
    wanted = true_answer(asked.graph, mailbox.truth, TODAY)
    executed = _same(asked.graph, await mailbox.execute(asked.graph), wanted)
    try:
        graph = load_parser("rules.v1").parse(asked.request, mailbox.domain, TODAY, names=known_names).graph
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


async def _measured(split: str, messages: int, seed: int) -> list[str]:
    """Ask each request of a half as it is written, and with names of the mailbox."""
    with tempfile.TemporaryDirectory() as folder:
        async with opened_mailbox(Path(folder), messages=messages, seed=seed) as mailbox:
            requests = sampled("personal", split)
            written = [await outcome_of(each, mailbox) for each in requests]
            anew = [await outcome_of(named_anew(each, mailbox.truth), mailbox) for each in requests]
    title = f"rules.v1, personal, {split}, {messages} mails, seed {seed}"
    named = split == "dev"
    return [
        *lines_of(f"{title}, as written", written, named=named),
        *lines_of(f"{title}, names of the mailbox", anew, named=named),
    ]


def main(
    split: Annotated[str, typer.Option(help="dev or test")] = "dev",
    messages: Annotated[int, typer.Option(help="Mails of the mailbox.")] = 600,
    seed: Annotated[int, typer.Option(help="Of the mailbox.")] = 11,
) -> None:
    """Print the losses and the figures."""
    print(*asyncio.run(_measured(split, messages, seed)), sep="\n")


if __name__ == "__main__":
    run_command(main)
