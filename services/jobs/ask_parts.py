"""Questions of a graph: what they work with, opened and closed again; their answers with tables; and why one has no answer."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from inference.chat import ChatModel
from ontology.errors import (
    BudgetExceededError,
    DeadlineError,
    EgotoolsError,
    InvalidArgumentError,
    ModelError,
    NotFoundError,
    StorageError,
)
from planners.graphseek.catalog import catalog_for, read_catalog, unknown_names
from planners.graphseek.llm_turns import LlmTurns
from planners.graphseek.operators.operator import Operator, known_operators
from planners.graphseek.question_run import AnsweredQuestion, QuestionParts, answer_recorded, replay_question
from planners.graphseek.results import Cell, ResultStore
from planners.graphseek.rules_turns import RulesTurns
from planners.graphseek.turn import AgentEvent, AgentSettings, Ended, ResultKept
from planners.journal.run_journal import open_run_journal, read_run_journal
from planners.stores import READABLE_ADDRESSES, open_readable
from planners.stores.graph_schema import ReadableGraph
from planners.stores.ladybug import open_ladybug_reader
from services.jobs.tool_graph_file import cache_folder, tool_graph_file

_ADDRESSES = ("store:PATH", *READABLE_ADDRESSES)
_MOST_CHARS = 2_000  # of a text in a cell
_MOST_EDGES = 5_000  # of a drawing
_RELATIONSHIP = {"source", "source_type", "source_name", "type", "target", "target_type", "target_name"}  # columns


@dataclass(frozen=True, slots=True, kw_only=True)
class AskPlan:
    """What is asked, and how."""

    graph: str  # ``store:PATH`` for the tool graph of a store, or one of :data:`READABLE_ADDRESSES`
    catalog: Path | None = None  # a file of the user's; the shipped catalog of the graph where None
    operators: Sequence[Operator] = field(default_factory=lambda: tuple(known_operators().values()))
    settings: AgentSettings = field(default_factory=AgentSettings)  # limits of a question
    chat: ChatModel | None = None  # the model that plans; rules do where None
    cache: Path | None = None  # folder where graphs are loaded into; the user's cache folder where None


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What came of a question; ``pages`` are the results that a person is to see, as JSON values: presented ones and those of the answer."""

    answered: AnsweredQuestion
    pages: Sequence[dict[str, Any]]


async def ask_graph(
    plan: AskPlan, question: str, observe: Callable[[AgentEvent], None], *, rows: int, journal: Path | None = None
) -> Told:
    """Ask a question, or go on with the run of a journal (its results are in a folder beside it); one that has ended is
    told again. It is an error when the graph or the catalog cannot be opened, the catalog is of another graph, or the
    journal of another run."""
    own = read_catalog(plan.catalog) if plan.catalog else None
    async with contextlib.AsyncExitStack() as stack:
        if journal is None:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="egotools-ask-"))
            journal = Path(folder) / "question.jsonl"
        kind, _, rest = plan.graph.partition(":")
        if kind not in [each.partition(":")[0] for each in _ADDRESSES] or not rest:
            problem, remedy = f"no graph has the address {plan.graph[:80]!r}", f"Use one of {', '.join(_ADDRESSES)}"
            raise InvalidArgumentError(problem, subject="--graph", remedy=remedy)
        graph: ReadableGraph
        if kind == "store":
            path = await asyncio.to_thread(tool_graph_file, Path(rest), plan.cache)
            graph = await stack.enter_async_context(open_ladybug_reader(path))
        else:
            graph = await stack.enter_async_context(open_readable(plan.graph, plan.cache or cache_folder("graphs")))
        schema = await graph.schema()
        if own is not None and (unknown := unknown_names(own, schema)):
            problem = f"the graph does not have {', '.join(unknown[:5])}" + (" and others" if len(unknown) > 5 else "")
            remedy = "Correct these names, or leave --catalog out"
            raise InvalidArgumentError(problem, subject=str(plan.catalog), remedy=remedy)
        kept = stack.enter_context(open_run_journal(journal))
        results = stack.enter_context(contextlib.closing(_results_of(journal)))
        parts = QuestionParts(
            graph=graph,
            catalog=own or catalog_for(schema),
            operators=plan.operators,
            results=results,
            turns=RulesTurns() if plan.chat is None else LlmTurns(plan.chat),
        )
        shown, told = _presented(observe)
        answered = await answer_recorded(question, kept, parts, plan.settings, told)
        if kept.end is not None:
            await results.close_for_writing()
        return Told(answered=answered, pages=await _pages(results, [*shown, *answered.end.of], rows))


async def replay_answer(journal: Path, observe: Callable[[AgentEvent], None], *, rows: int) -> Told:
    """Tell the run of a journal again; nobody is asked, and the graph is not opened. InvalidArgumentError for none, or one that has not ended."""
    if not journal.is_file():
        problem, remedy = "there is no such journal", "Name that of a question"
        raise InvalidArgumentError(problem, subject=str(journal), remedy=remedy)
    shown, told = _presented(observe)
    answered = await replay_question(read_run_journal(journal), told)
    with contextlib.closing(_results_of(journal)) as results:
        return Told(answered=answered, pages=await _pages(results, [*shown, *answered.end.of], rows))


def _results_of(journal: Path) -> ResultStore:
    return ResultStore(journal.with_name(f"{journal.name}.results"))


def _presented(observe: Callable[[AgentEvent], None]) -> tuple[list[str], Callable[[AgentEvent], None]]:
    """The handles of what a run presents, which are added while it goes on, and the observer that adds them and hands events on."""
    shown: list[str] = []

    def told(event: AgentEvent) -> None:
        if isinstance(event, ResultKept) and event.kind == "presentation":
            shown.append(event.handle)
        observe(event)

    return shown, told


async def _pages(results: ResultStore, handles: Sequence[str], count: int) -> list[dict[str, Any]]:
    """Some results as JSON values, each once: some rows of a table; of relationships, whose kind is ``graph``, also
    ``nodes`` and ``edges``. Of a replay their folder may be gone, and what is gone is left out."""
    pages: list[dict[str, Any]] = []
    for handle in dict.fromkeys(handles):
        with contextlib.suppress(EgotoolsError):
            found = results.result(handle)
            rows = await results.rows(handle, limit=count)
            page: dict[str, Any] = {
                "handle": handle,
                "kind": found.kind,
                "total": found.size,
                "cut": found.cut,
                "notes": list(found.notes),
                "columns": [
                    {"name": each.name, "type": each.type, "node_type": each.node_type} for each in found.columns
                ],
                "offset": 0,
                "rows": [[_shown(cell) for cell in row] for row in rows],
                "rows_missing": max(0, found.size - len(rows)),
            }
            names = [each.name for each in found.columns]
            if _RELATIONSHIP <= {*names}:
                every = await results.rows(handle, limit=_MOST_EDGES)
                drawn = [dict(zip(names, row, strict=True)) for row in every]
                ends = ("source", "target")
                nodes = dict.fromkeys(
                    (row[end], row[f"{end}_type"], row[f"{end}_name"]) for row in drawn for end in ends
                )
                named = [{"id": id_, "type": kind, "properties": {"name": _shown(name)}} for id_, kind, name in nodes]
                edges: list[dict[str, Any]] = [
                    {**{name: row[name] for name in ("type", *ends)}, "properties": {}} for row in drawn
                ]
                page |= {"kind": "graph", "nodes": named, "edges": edges}
            pages.append(page)
    return pages


def _shown(cell: Cell) -> Cell:
    return f"{cell[:_MOST_CHARS]}…" if isinstance(cell, str) and len(cell) > _MOST_CHARS else cell


def outcome_error(end: Ended, *, by_command: bool = True) -> EgotoolsError | None:
    """Return why a question has no sure answer; None where it has one. Of ``egotools ask`` the options are named, else the page asked."""
    why = end.missing.rstrip(".?! ")
    again = "With the same journal the command goes on with it" if by_command else "Ask again"
    raise_it = f"Raise it. {again}" if by_command else again
    model = "name a model (--llm-url, --llm-model)" if by_command else "give the server one (serve --query-model)"
    words = f"Ask in words of the graph's types and properties, or {model}"
    more = "; more of them may help (--steps)" if by_command else ""
    late = "--max-seconds" if by_command else "question"
    two, which = "the question has two readings, or names what is not there", "Ask again, as the answer says"
    unsure, read = f"the answer is ungrounded: {why}", "Do not rely on it: read the tables, or ask again"
    errors: dict[str, tuple[type[EgotoolsError], str, str, str]] = {
        "ungrounded": (ModelError, unsure, "", read),
        "asked back": (InvalidArgumentError, two, "question", which),
        "unreadable": (InvalidArgumentError, "the question could not be read", "question", words),
        "no answer": (NotFoundError, f"no answer was found: {why}", "question", f"Read its steps{more}"),
        "model": (ModelError, why, "", again),
        "store": (StorageError, why, "graph", f"See whether it is there. {again}"),
        "budget": (BudgetExceededError, why.removeprefix("budget: "), "budget", raise_it),
        "deadline": (DeadlineError, why, late, raise_it),
        "cancelled": (DeadlineError, why, "question", again),
    }
    if end.outcome == "answered":
        return None
    kind, problem, subject, remedy = errors[end.outcome]
    return kind(problem, subject=subject, remedy=remedy)
