"""The walking form of ``egotools plan``: words → graph → tools over gRPC → execution, with a journal."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from egotools.calling.invoker import ToolInvoker
from ontology.errors import InvalidArgumentError
from ontology.files import read_bounded
from ontology.json_values import first_error
from planners.calls.model_text import CountedModel
from planners.calls.tool_access import Ask, CallLimits, ToolAccess, always
from planners.calls.tool_finder import Finder, ToolFinder
from planners.dfs import Domain, QueryGraph, graph_faults
from planners.dfs.resolver import Step
from planners.dfs.tool_resolver import Choice, ToolResolver
from planners.journal.recorded import RecordedFinder, RecordedInvoker, Steps
from planners.journal.run_journal import RunAccount, RunJournal, account_of, open_run_journal, read_run_journal
from planners.query.query_graph import ParsedRequest
from services.cli.tools_client import tools_client

__all__ = ["Walk", "Walked", "read_graph", "replay_walk", "walk"]


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
    model: CountedModel | None = None
    best_effort: bool = False

    def same_run(self) -> dict[str, Any]:
        """What a journal's run must agree in."""
        domain = hashlib.sha256(self.domain.model_dump_json().encode()).hexdigest()
        return {"request": self.request, "domain": self.domain.name, "domain_digest": domain, "today": str(self.today)}


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
    try:
        graph = QueryGraph.model_validate(json.loads(read_bounded(path).decode("utf-8")))
    except OSError as error:
        raise InvalidArgumentError(
            f"the file cannot be read: {error.strerror}", subject=str(path), remedy="Name the file of a graph"
        ) from error
    except ValidationError as error:
        raise InvalidArgumentError(first_error(error), subject=str(path), remedy="Correct the graph") from error
    except (ValueError, RecursionError) as error:
        raise InvalidArgumentError("this is no JSON", subject=str(path), remedy="Correct the file") from error
    _refuse_faults(graph, domain, str(path))
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
            return await _chosen(_parsed(asked), _Resolving(asked.domain, finder, invoker))
        with open_run_journal(journal) if journal is not None else contextlib.nullcontext() as kept:
            if kept is None:
                return await _executed(asked, _parsed(asked), _Resolving(asked.domain, finder, invoker), limits)
            parsed, steps = _begun(asked, kept), Steps(kept, faults="retried")
            resolving = _Resolving(
                asked.domain,
                RecordedFinder(finder, steps),
                RecordedInvoker(invoker, steps, repeat=always if access.policy.confirmed else ask),
            )
            walked = await _executed(
                asked, parsed, resolving, limits, kept, lambda what: kept.append("event", what=what)
            )
            kept.append("run_ended", answer=_answer_of(walked))
            return walked


def replay_walk(domain: Domain, path: Path) -> Walked:
    """Execute a finished run again from its journal; no server is asked and no tool is called.

    :raises InvalidArgumentError: when the journal is of another domain, its run has not ended, or the answer is another one.
    """
    journal = read_run_journal(path)
    header, ended = _header(journal), journal.end
    if header is None or ended is None:
        raise InvalidArgumentError(
            "the run of this journal has not ended", subject=str(path), remedy="Let it go on first"
        )
    asked = Walk(request=header["request"], domain=domain, graph=None, today=date.fromisoformat(header["today"]))
    parsed = _begun(asked, journal)
    steps = Steps(journal, is_replay=True)
    resolving = _Resolving(domain, RecordedFinder(None, steps), RecordedInvoker(None, steps))
    walked = asyncio.run(_executed(asked, parsed, resolving, CallLimits(), journal))
    if _answer_of(walked) != ended["answer"]:
        raise InvalidArgumentError(
            "the replay gives another answer than the run",
            subject=str(path),
            remedy="Replay with the release that wrote it",
        )
    return walked


class _Resolving:
    """A resolver, and what it said."""

    def __init__(self, domain: Domain, finder: Finder, invoker: ToolInvoker) -> None:
        self.domain, self.said = domain, list[str]()
        self.resolver = ToolResolver(domain, finder, invoker, said=self.said.append)


def _parsed(asked: Walk) -> ParsedRequest:
    if asked.graph is not None:
        return ParsedRequest(asked.graph)
    if not asked.request.strip():
        raise InvalidArgumentError("there is no request", subject="request", remedy="Write one, or give --graph")
    from planners.query import load_parser

    parser = load_parser(asked.parser, asked.model)
    return parser.parse(asked.request, asked.domain, asked.today, best_effort=asked.best_effort)


def _header(journal: RunJournal) -> Mapping[str, Any] | None:
    """What the journal's run was begun with; None of an empty journal.

    :raises InvalidArgumentError: when it is the journal of another command.
    """
    header = next((record.data for record in journal.records if record.kind == "run_begun"), None)
    if header is not None and not {"graph", "request", "today", "notes"} <= header.keys():
        raise InvalidArgumentError(
            "it is the journal of a plan of calls",
            subject="--journal",
            remedy="Go on with egotools plan-tools --execute",
        )
    return header


def _begun(asked: Walk, journal: RunJournal) -> ParsedRequest:
    """Return the graph of a journal's run; of an empty journal begin the run.

    :raises InvalidArgumentError: when the journal is of another run.
    """
    header = _header(journal)
    if header is None:
        parsed = _parsed(asked)
        told = {"notes": list(parsed.notes), "left_out": list(parsed.left_out)}
        journal.append("run_begun", **asked.same_run(), graph=parsed.graph.to_json(), **told)
        if asked.model is not None:
            for tokens in asked.model.prompts:
                journal.append("prompt", tokens=tokens, counter=asked.model.counter)
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
        raise InvalidArgumentError(
            problem, subject="--journal", remedy="Give a new file, or the same request, domain and day"
        )
    return ParsedRequest(known, tuple(header["notes"]), tuple(header.get("left_out", ())))


async def _chosen(parsed: ParsedRequest, resolving: _Resolving) -> Walked:
    """Choose the tools that an execution may call: of each edge both directions, of each variable its lookup."""
    graph, resolver, domain = parsed.graph, resolving.resolver, resolving.domain
    steps: list[Step | str] = [graph.vars[var] for var in graph.vars if graph.filters_of(var)]
    for edge in graph.edges:
        ends = graph.vars[edge.source], graph.vars[edge.target]
        steps += [Step(ends[0], edge.edge, ends[1], True), Step(ends[1], edge.edge, ends[0], False)]
    for step in dict.fromkeys(steps):
        if not isinstance(step, str) or domain.types[step].lookup is not None:
            await resolver.choice(step)
    return Walked(parsed=parsed, choices=resolver.choices, said=tuple(resolving.said))


async def _executed(
    asked: Walk,
    parsed: ParsedRequest,
    resolving: _Resolving,
    limits: CallLimits,
    journal: RunJournal | None = None,
    observe: Callable[[dict[str, Any]], object] = lambda what: None,
) -> Walked:
    """Execute a graph.

    :param journal: of which the account is made.
    :param observe: is called with each event of the executor as JSON values.
    """
    from planners.dfs.executor import answer_graph

    execution = await answer_graph(
        parsed.graph, asked.domain, resolving.resolver, today=asked.today, limits=limits, observe=observe
    )
    return Walked(
        parsed=parsed,
        choices=resolving.resolver.choices,
        said=tuple(resolving.said),
        execution=execution,
        account=account_of(journal.records) if journal is not None else None,
    )


def _answer_of(walked: Walked) -> dict[str, Any]:
    """What must be equal in a replay: the answer, without times."""
    found = walked.execution or {}
    return {
        "count": found.get("count"),
        "answer": [{"id": each["id"], "fields": dict(each["fields"])} for each in found.get("answer", ())],
        "missing": len(found.get("missing", ())),
    }


def _refuse_faults(graph: QueryGraph, domain: Domain, subject: str) -> None:
    faults = graph_faults(graph, domain)
    if faults:
        raise InvalidArgumentError(" ".join(faults).rstrip("."), subject=subject, remedy="Correct the graph")
