"""Requests under a domain: words become a query graph, whose tools are found through the service and called."""

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
from typing import Any

from pydantic import ValidationError

from egotools.calling.invoker import ToolInvoker
from inference.chat import ChatModel
from ontology.errors import InvalidArgumentError
from ontology.files import read_bounded
from ontology.json_values import first_error
from planners.calls.tool_access import Ask, CallLimits, ToolAccess, always, never
from planners.calls.tool_finder import Finder, ToolFinder
from planners.dfs.executor import answer_graph
from planners.dfs.resolver import Step
from planners.dfs.tool_resolver import Choice, ToolResolver
from planners.journal.recorded import RecordedFinder, RecordedInvoker, Steps
from planners.journal.run_journal import RunAccount, RunJournal, account_of, open_run_journal, read_run_journal
from planners.query import load_parser
from planners.query.domain import Domain
from planners.query.graph_faults import graph_faults
from planners.query.query_graph import FindNames, ParsedRequest, QueryGraph
from services.jobs.served_store import tools_client
from services.web.live_runs import OpenClient, Plan, PlanRequest, RunEvent, in_thread, observed

# Modules of Python whose functions a shipped domain calls
DOMAIN_MODULES = {"personal": ("planners.personal.personal_tools",)}
_PARSING = ThreadPoolExecutor(2, "parse")  # their own, so that a long sentence keeps nothing else of the server waiting


def names_of(domain: Domain) -> FindNames | None:
    """Return what looks up names in the data of a shipped domain; None of a domain without an index."""
    if domain.name != "personal":
        return None
    from planners.personal import known_names

    return known_names


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """A request under a domain."""

    request: str
    domain: Domain
    graph: QueryGraph | None  # None: the parser makes it of the request
    today: date  # against which date words are read
    parser: str = "rules.v1"
    model: ChatModel | None = None  # of a parser that needs one
    best_effort: bool = False  # whether what the parser does not understand is left out, and said, instead of refused

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
        parser, names = load_parser(self.parser, self.model), names_of(self.domain)
        return parser.parse(self.request, self.domain, self.today, best_effort=self.best_effort, names=names)


@dataclass(frozen=True, slots=True, kw_only=True)
class Walked:
    """What came of it."""

    parsed: ParsedRequest
    choices: tuple[Choice, ...]
    said: tuple[str, ...]
    execution: dict[str, Any] | None = None  # JSON values of the executor's result; None in a dry run
    account: RunAccount | None = None


def read_graph(path: Path, domain: Domain) -> QueryGraph:
    """Read a graph from a JSON file; InvalidArgumentError when it is none, with every fault that it has under the domain."""
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
    server: str,  # address of a running one; empty: the store is served on loopback in this process
    store: Path,
    limits: CallLimits,
    journal: Path | None,  # None: nothing is written
    dry_run: bool,
) -> Walked:
    """Execute a request. In a dry run choose the tools that may be called, of each edge both directions, of each variable its lookup."""
    async with tools_client(server, store) as client, access.calling(ask, limits) as invoker:
        finder = ToolFinder(client)
        if dry_run:
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
        if journal is None:
            return await _executed(asked, asked.parsed(), finder, invoker)
        with open_run_journal(journal) as kept:
            parsed, steps_of = _begun(asked, kept), Steps(kept, faults="retried")
            repeat = always if access.policy.confirmed else ask
            recorded = RecordedFinder(finder, steps_of), RecordedInvoker(invoker, steps_of, repeat=repeat)
            walked = await _executed(asked, parsed, *recorded, kept)
            kept.append("run_ended", answer=_answer_of(walked))
            return walked


def replay_walk(domain: Domain, path: Path) -> Walked:
    """Execute a finished run of the domain again from its journal, to the same answer; no server is asked and no tool is called."""
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
    """What the journal's run was begun with; None of an empty journal."""
    header = next((record.data for record in journal.records if record.kind == "run_begun"), None)
    if header is not None and not {"graph", "request", "today", "notes"} <= header.keys():
        problem, remedy = "it is the journal of another command", "Give a new file"
        raise InvalidArgumentError(problem, subject="--journal", remedy=remedy)
    return header


def _begun(asked: Walk, journal: RunJournal) -> ParsedRequest:
    """Return the graph of a journal's run, which must be this one; of an empty journal begin the run."""
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


async def _executed(
    asked: Walk, parsed: ParsedRequest, finder: Finder, invoker: ToolInvoker, journal: RunJournal | None = None
) -> Walked:
    """Execute a graph; the account is that of the journal."""
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


def emptied_by(found: Mapping[str, Any] | None) -> str:
    """Return, of an answer that is empty or 0: the first call that brought nothing back, which is the constraint that emptied it."""
    if found is None or found["count"] != 0:
        return ""
    for call in found["calls"]:
        if not call["rows"] and not call["error"]:
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
    why = emptied_by(walked.execution)
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
    domains: Mapping[str, Domain], access: ToolAccess, open_client: OpenClient, *, limits: CallLimits
) -> Plan:
    """Return the planner of the page, over domains by name, the default first: each step is an event."""
    parser = load_parser("rules.v1", None)

    async def work(asked: PlanRequest, observe: Callable[[RunEvent], None]) -> None:
        domain, day = domains[asked.domain or next(iter(domains))], date.today()
        parsed = await in_thread(_PARSING, partial(parser.parse, asked.request, domain, day, names=names_of(domain)))
        told = {"notes": list(parsed.notes), "left_out": list(parsed.left_out)}
        observe({"event": "GraphMade", "graph": parsed.graph.to_json(), **told})

        def said(text: str) -> None:
            observe({"event": "Said", "text": text})

        async with open_client(asked.token, asked.tenant) as client, access.calling(never, limits) as invoker:
            resolver = ToolResolver(domain, ToolFinder(client), invoker, said=said)
            execution = await answer_graph(parsed.graph, domain, resolver, today=day, observe=observe)
        observe({"event": "Answered", "execution": execution})

    return observed(work)
