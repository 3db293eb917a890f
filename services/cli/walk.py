"""A request under a domain: words → graph → tools over gRPC → calls → answer, with a journal; for the command and for the page."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from datetime import date
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from egotools.calling.invoker import ToolInvoker
from ontology.errors import InvalidArgumentError
from ontology.files import read_bounded
from ontology.json_values import first_error
from planners.calls.tool_access import Ask, CallLimits, ToolAccess, always, never
from planners.calls.tool_finder import Finder, ToolFinder
from planners.dfs import Domain, QueryGraph, graph_faults
from planners.dfs.resolver import Step
from planners.dfs.tool_resolver import Choice, ToolResolver
from planners.journal.recorded import RecordedFinder, RecordedInvoker, Steps
from planners.journal.run_journal import RunAccount, RunJournal, account_of, open_run_journal, read_run_journal
from planners.query.query_graph import ParsedRequest
from services.cli.console import plain, say, table
from services.cli.search import tools_client

if TYPE_CHECKING:
    from inference.chat import ChatModel
    from services.web.live_runs import OpenClient, Plan, PlanRequest, RunEvent

DOMAIN_MODULES = {"personal": ("planners.personal.personal_tools",)}
"""Modules of Python whose functions a shipped domain calls."""
_MOST_ROWS, _MOST_CHARS = 50, 80
_PARSING = ThreadPoolExecutor(2, "parse")  # their own, so that a long sentence keeps nothing else of the server waiting


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """A request under a domain.

    :param graph: None: the parser makes it of the request.
    :param today: the day against which date words are read.
    :param parser: its versioned name.
    :param model: of a parser that needs one.
    :param best_effort: whether what the parser does not understand is left out, and said, instead of refused.
    """

    request: str
    domain: Domain
    graph: QueryGraph | None
    today: date
    parser: str = "rules.v1"
    model: ChatModel | None = None
    best_effort: bool = False

    def same_run(self) -> dict[str, Any]:
        """What a journal's run must agree in."""
        domain = hashlib.sha256(self.domain.model_dump_json().encode()).hexdigest()
        return {"request": self.request, "domain": self.domain.name, "domain_digest": domain, "today": str(self.today)}

    def parsed(self) -> ParsedRequest:
        """Return the graph, and what the parser says of it."""
        if self.graph is not None:
            return ParsedRequest(self.graph)
        if not self.request.strip():
            raise InvalidArgumentError("there is no request", subject="request", remedy="Write one, or give --graph")
        from planners.query import load_parser

        parser = load_parser(self.parser, self.model)
        return parser.parse(self.request, self.domain, self.today, best_effort=self.best_effort)


@dataclass(frozen=True, slots=True, kw_only=True)
class Walked:
    """What came of it.

    :param parsed: the graph, and what the parser says of it.
    :param execution: JSON values of the executor's result; None in a dry run.
    """

    parsed: ParsedRequest
    choices: tuple[Choice, ...]
    said: tuple[str, ...]
    execution: dict[str, Any] | None = None
    account: RunAccount | None = None


def read_graph(path: Path, domain: Domain) -> QueryGraph:
    """Read a graph from a JSON file.

    :raises InvalidArgumentError: when it is none, with every fault that it has under the domain.
    """
    remedy = "Correct the graph"
    try:
        graph = QueryGraph.model_validate(json.loads(read_bounded(path).decode("utf-8")))
        problem = " ".join(graph_faults(graph, domain)).rstrip(".")
    except OSError as error:
        problem, remedy = f"the file cannot be read: {error.strerror}", "Name the file of a graph"
    except ValidationError as error:
        problem = first_error(error)
    except (ValueError, RecursionError):
        problem, remedy = "this is no JSON", "Correct the file"
    if problem:
        raise InvalidArgumentError(problem, subject=str(path), remedy=remedy)
    return graph


async def walk(
    asked: Walk,
    access: ToolAccess,
    ask: Ask,
    *,
    server: str,
    store: Path,
    limits: CallLimits,
    journal: Path | None,
    dry_run: bool,
) -> Walked:
    """Execute a request, or in a dry run choose its tools and call none.

    :param server: address of a running server; empty: the store is served on loopback in this process.
    :param journal: None: nothing is written.
    """
    async with tools_client(server, store) as client, access.calling(ask, limits) as invoker:
        finder = ToolFinder(client)
        if dry_run:
            return await _chosen(asked, finder, invoker)
        if journal is None:
            return await _executed(asked, asked.parsed(), finder, invoker)
        with open_run_journal(journal) as kept:
            parsed, steps = _begun(asked, kept), Steps(kept, faults="retried")
            repeat = always if access.policy.confirmed else ask
            recorded = RecordedFinder(finder, steps), RecordedInvoker(invoker, steps, repeat=repeat)
            walked = await _executed(asked, parsed, *recorded, kept)
            kept.append("run_ended", answer=_answer_of(walked))
            return walked


def replay_walk(domain: Domain, path: Path) -> Walked:
    """Execute a finished run again from its journal; no server is asked and no tool is called.

    :raises InvalidArgumentError: when the journal is of another domain, its run has not ended, or the answer is another one.
    """
    journal = read_run_journal(path)
    header, ended = _header(journal), journal.end
    if header is None or ended is None:
        problem, remedy = "the run of this journal has not ended", "Let it go on first"
        raise InvalidArgumentError(problem, subject=str(path), remedy=remedy)
    asked = Walk(request=header["request"], domain=domain, graph=None, today=date.fromisoformat(header["today"]))
    parsed, steps = _begun(asked, journal), Steps(journal, is_replay=True)
    recorded = RecordedFinder(None, steps), RecordedInvoker(None, steps)
    walked = asyncio.run(_executed(asked, parsed, *recorded, journal))
    if _answer_of(walked) != ended["answer"]:
        problem, remedy = "the replay gives another answer than the run", "Replay with the release that wrote it"
        raise InvalidArgumentError(problem, subject=str(path), remedy=remedy)
    return walked


def _header(journal: RunJournal) -> Mapping[str, Any] | None:
    """What the journal's run was begun with; None of an empty journal.

    :raises InvalidArgumentError: when it is the journal of another command.
    """
    header = next((record.data for record in journal.records if record.kind == "run_begun"), None)
    if header is not None and not {"graph", "request", "today", "notes"} <= header.keys():
        problem, remedy = "it is the journal of another command", "Give a new file"
        raise InvalidArgumentError(problem, subject="--journal", remedy=remedy)
    return header


def _begun(asked: Walk, journal: RunJournal) -> ParsedRequest:
    """Return the graph of a journal's run; of an empty journal begin the run.

    :raises InvalidArgumentError: when the journal is of another run.
    """
    header = _header(journal)
    if header is None:
        parsed = asked.parsed()
        told = {"notes": list(parsed.notes), "left_out": list(parsed.left_out)}
        journal.append("run_begun", **asked.same_run(), graph=parsed.graph.to_json(), **told)
        return parsed
    try:
        known = QueryGraph.model_validate(header["graph"])
    except ValidationError as error:
        raise InvalidArgumentError(first_error(error), subject="--journal", remedy="Give a new file") from error
    differing = [key for key, value in asked.same_run().items() if header.get(key) != value]
    if asked.graph is not None and asked.graph != known:
        differing.append("graph")
    if differing:
        problem = f"the journal is of another run: its {' and '.join(differing)} differ"
        remedy = "Give a new file, or the same request, domain and day"
        raise InvalidArgumentError(problem, subject="--journal", remedy=remedy)
    return ParsedRequest(known, tuple(header["notes"]), tuple(header.get("left_out", ())))


async def _chosen(asked: Walk, finder: Finder, invoker: ToolInvoker) -> Walked:
    """Choose the tools that an execution may call: of each edge both directions, of each variable its lookup."""
    parsed, said = asked.parsed(), list[str]()
    resolver, graph = ToolResolver(asked.domain, finder, invoker, said=said.append), parsed.graph
    steps: list[Step | str] = [graph.vars[var] for var in graph.vars if graph.filters_of(var)]
    for edge in graph.edges:
        ends = graph.vars[edge.source], graph.vars[edge.target]
        steps += [Step(ends[0], edge.edge, ends[1], True), Step(ends[1], edge.edge, ends[0], False)]
    for step in dict.fromkeys(steps):
        if not isinstance(step, str) or asked.domain.types[step].lookup is not None:
            await resolver.choice(step)
    return Walked(parsed=parsed, choices=resolver.choices, said=tuple(said))


async def _executed(
    asked: Walk,
    parsed: ParsedRequest,
    finder: Finder,
    invoker: ToolInvoker,
    journal: RunJournal | None = None,
) -> Walked:
    """Execute a graph.

    :param journal: of which the account is made.
    """
    from planners.dfs.executor import answer_graph

    said = list[str]()
    resolver = ToolResolver(asked.domain, finder, invoker, said=said.append)
    execution = await answer_graph(parsed.graph, asked.domain, resolver, today=asked.today)
    account = account_of(journal.records) if journal is not None else None
    return Walked(parsed=parsed, choices=resolver.choices, said=tuple(said), execution=execution, account=account)


def _answer_of(walked: Walked) -> dict[str, Any]:
    """What must be equal in a replay: the answer, without times."""
    found = walked.execution or {}
    answer = [{"id": each["id"], "fields": dict(each["fields"])} for each in found.get("answer", ())]
    return {"count": found.get("count"), "answer": answer, "missing": len(found.get("missing", ()))}


def show_walk(walked: Walked) -> None:
    """Print the graph, why each tool, the calls, the answer, and what is missing."""
    parsed, graph, found = walked.parsed, walked.parsed.graph, walked.execution
    left_out = plain(" ".join(parsed.left_out))
    if left_out:  # first: the answer is to another request
        say(f"[yellow]left out[/]: {left_out}")
    say(f"[bold]Graph[/] {plain(f'{graph.action} {graph.return_mode}: {graph.return_var}')}")
    lines = [f"{edge.source} {edge.edge} {edge.target}" for edge in graph.edges]
    for var, kind in reversed(graph.vars.items()):
        filters = ", ".join(f"{each.field} {each.op} {each.value}" for each in graph.filters_of(var))
        lines.insert(0, f"{var}: {kind}" + (f" ({filters})" if filters else ""))
    lines += [note for note in parsed.notes if note not in parsed.left_out]
    for line in (*lines, "", *walked.said):
        say(plain(f"  {line}") if line else "[bold]Tools[/]")
    if found is None:
        say("Nothing was called (--dry-run).")
        return
    _show_answer(graph, found)
    if why := _emptied_by(found):
        say(f"Nothing: {plain(why)}")
    if left_out and not found["count"]:
        say(f"This is no answer to the whole request: {left_out}")
    for missing in found["missing"]:
        say(f"[yellow]missing[/] {plain(missing['var'])}: {plain(missing['reason'])}")
    if walked.account is not None:
        made = f"{walked.account.calls} calls, {walked.account.rows:,} rows"
        say(f"{made}, {walked.account.seconds:.3f} s in tools")


def _show_answer(graph: QueryGraph, found: Mapping[str, Any]) -> None:
    names = ("kind", "what", "sources", "rows", "count", "ms", "error")
    table("Calls", names, [["" if each[name] is None else each[name] for name in names] for each in found["calls"]])
    answer = found["answer"]
    if found["count"] is None:
        say("[bold]No answer[/]")
    elif graph.action == "count" or not answer:
        say(f"[bold]Answer[/] {found['count']:,}" if graph.action == "count" else "[bold]Answer[/] nothing")
    else:
        shown = answer[:_MOST_ROWS]
        named = dict.fromkeys(name for each in shown for name in each["fields"] if name not in ("id", "source_id"))
        rows = [[each["id"], *(str(each["fields"].get(name) or "")[:_MOST_CHARS] for name in named)] for each in shown]
        table(f"Answer: {len(answer):,}", ("id", *named), rows)
        if len(answer) > _MOST_ROWS:
            say(f"… and {len(answer) - _MOST_ROWS:,} more (--json prints all)")


def _emptied_by(found: Mapping[str, Any] | None) -> str:
    """Of an answer that is empty or 0: the first call that brought nothing back, which is the constraint that emptied it."""
    if found is None or found["count"] != 0:
        return ""
    for call in found["calls"]:
        if call["kind"] != "count" and not call["rows"] and not call["error"]:
            near = f" (near: {', '.join(found['near'])}?)" if found.get("near") else ""
            return f"nothing was found for: {call['what']}{near}"
    return "no entity meets all constraints at once"


def walk_to_json(walked: Walked) -> dict[str, Any]:
    """Return it as JSON values."""
    tools = [
        {
            "purpose": each.purpose,
            "request": each.request,
            "snapshot_id": each.snapshot_id,
            "tools": [candidate.tool.id for candidate in each.candidates],
            "reason": each.reason,
            "not": list(each.misfits),
        }
        for each in walked.choices
    ]
    why = _emptied_by(walked.execution)
    return {
        "left_out": list(walked.parsed.left_out),
        "graph": walked.parsed.graph.to_json(),
        "notes": list(walked.parsed.notes),
        "tools": tools,
        "log": list(walked.said),
        "execution": walked.execution,
        **({"emptied_by": why} if why else {}),
        "account": asdict(walked.account) if walked.account is not None else None,
    }


def walk_plan(
    domains: Mapping[str, Domain],
    access: ToolAccess,
    open_client: OpenClient,
    *,
    limits: CallLimits,
) -> Plan:
    """Return the planner of the page: each step is an event.

    :param domains: by name, the default first.
    """
    from planners.dfs.executor import answer_graph
    from planners.query import load_parser
    from services.web.live_runs import in_thread, observed

    parser = load_parser("rules.v1", None)

    async def work(asked: PlanRequest, observe: Callable[[RunEvent], None]) -> None:
        domain, day = domains[asked.domain or next(iter(domains))], date.today()
        parsed = await in_thread(_PARSING, partial(parser.parse, asked.request, domain, day))
        told = {"notes": list(parsed.notes), "left_out": list(parsed.left_out)}
        observe({"event": "GraphMade", "graph": parsed.graph.to_json(), **told})

        def said(text: str) -> None:
            observe({"event": "Said", "text": text})

        async with open_client(asked.token, asked.tenant) as client, access.calling(never, limits) as invoker:
            resolver = ToolResolver(domain, ToolFinder(client), invoker, said=said)
            execution = await answer_graph(parsed.graph, domain, resolver, today=day, observe=observe)
        observe({"event": "Answered", "execution": execution})

    return observed(work)
