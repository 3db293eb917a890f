"""The command ``egotools ask``: a question of a graph in plain words, its steps, its tables and its answer."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ontology.errors import InvalidArgumentError
from planners.graphseek.turn import AgentSettings
from services.cli.console import plain, print_json, say, table, tell
from services.cli.options import Journal, Json, Replay
from services.jobs.plans import ChatEndpoint

if TYPE_CHECKING:
    from planners.graphseek.question_run import AnsweredQuestion
    from planners.graphseek.turn import AgentEvent, Ended
    from services.jobs.ask_parts import AskPlan, OpenedGraph

__all__ = ["Asked", "Told", "ask", "ask_opened", "replay", "run_ask"]

_NO_ENDPOINT, _SETTINGS = ChatEndpoint(), AgentSettings()
_PRINTED, _ALL = 10, sys.maxsize  # rows of a table
_MOST = 300  # characters of a text on a line
_QUERY = 2_000  # of a query: those of a search over all types are ten times as long, and alike
_CELL = 40  # of a cell
_EDGES = 10  # of a graph that are listed
_INTERNAL = frozenset(
    ("degree", "id", "key")
)  # of nodes that ingestion writes: for programs, which get them with --json


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question, and how it goes on from a journal.

    :param journal: of the first turn; in a temporary folder where None.
    :param branch: the step after which the last turn is branched.
    :param rows: of each table that are shown.
    """

    text: str
    journal: Path | None = None
    refine: bool = False
    branch: int | None = None
    rows: int = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What came of it.

    :param pages: the results that the answer rests on, and those that are to be shown.
    """

    answered: AnsweredQuestion
    pages: Sequence[dict[str, Any]]


def ask(
    question: Annotated[str, typer.Argument(help="The question. Not with --replay, --refine or --branch.")] = "",
    graph: Annotated[
        str,
        typer.Option(
            "--graph",
            help="ladybug:PATH, neo4j:bolt://USER:PASSWORD@HOST:PORT, csv:FOLDER, graphml:FILE, or store:PATH. Default: --store.",
        ),
    ] = "",
    store: Annotated[
        Path | None,
        typer.Option(
            "--store", "-s", file_okay=False, envvar="EGOTOOLS_STORE", help="Store. Default: the shipped company's."
        ),
    ] = None,
    endpoint: ChatEndpoint = _NO_ENDPOINT,
    catalog: Annotated[Path | None, typer.Option(help="Catalog of the graph: YAML, see docs/ask.md.")] = None,
    operators: Annotated[
        tuple[Path, ...],
        typer.Option(
            "--operators", file_okay=False, metavar="DIR", help="Further operators; their code runs as yours."
        ),
    ] = (),
    explain: Annotated[bool, typer.Option("--explain", help="Print the queries too.")] = False,
    rows: Annotated[int | None, typer.Option(min=1, help="Rows of a table. Default: 10; all with --json.")] = None,
    journal: Journal = None,
    replay: Replay = False,
    refine: Annotated[str, typer.Option(help="Go on from the end of the journal's last run, with this request.")] = "",
    branch: Annotated[
        int | None, typer.Option(min=0, help="Ask the journal's last question again, from after this step.")
    ] = None,
    settings: AgentSettings = _SETTINGS,
    as_json: Json = False,
) -> None:
    """Ask a question of a graph in plain words. The graph is never written.

    With --llm-url and --llm-model a model plans the steps; without, rules do, for questions that they can read.
    """
    from services.jobs.ask_parts import outcome_error

    chosen = [
        name for name, given in (("--replay", replay), ("--refine", refine), ("--branch", branch is not None)) if given
    ]
    if len(chosen) > 1:
        raise InvalidArgumentError(f"it excludes {chosen[1]}", subject=chosen[0], remedy="Give one of them")
    if chosen and journal is None:
        raise InvalidArgumentError("it needs --journal", subject=chosen[0], remedy="Name the journal of the run")
    if chosen and question:
        raise InvalidArgumentError(f"{chosen[0]} takes no question", subject="question", remedy="Leave it out")
    if not chosen and not question.strip():
        raise InvalidArgumentError("there is no question", subject="question", remedy="Say what you want to know")
    printer = _Printer(explain=explain)
    count = rows or (_ALL if as_json else _PRINTED)
    events: list[AgentEvent] = []
    observe = events.append if as_json else printer.tell
    if replay:
        told = asyncio.run(_replay(journal or Path(), count, observe))
    else:
        plan = _plan(graph, store, catalog, operators, endpoint, settings)
        asked = Asked(text=refine or question, journal=journal, refine=bool(refine), branch=branch, rows=count)
        told = asyncio.run(run_ask(plan, asked, observe))
    if as_json:
        print_json(_to_json(told, events))
    else:
        _show_end(told.answered.end, told.pages)
    failed = outcome_error(told.answered.end)
    if failed is not None:
        raise failed


def _plan(
    graph: str,
    store: Path | None,
    catalog: Path | None,
    operators: Sequence[Path],
    endpoint: ChatEndpoint,
    settings: AgentSettings,
) -> AskPlan:
    """Return the plan of a question.

    :raises InvalidArgumentError: for a value that is not known, an option that would do nothing, or a broken operator.
    """
    from planners.graphseek.operators.operator import known_operators
    from services.jobs.ask_parts import AskPlan
    from services.jobs.cached_store import shipped_store
    from services.jobs.model_factory import open_chat

    url = endpoint.base_url if endpoint.base_url != os.environ.get("OPENAI_BASE_URL") else ""
    for option, given in (("--llm-url", url), ("--operators", operators)):
        if given and not endpoint.model:
            raise InvalidArgumentError("it needs --llm-model", subject=option, remedy="Give --llm-model too")
    known = tuple(known_operators(operators).values())
    chat = open_chat(endpoint, needed_by="a run by a model") if endpoint.model else None
    if not graph and store is None:
        tell("[dim]The tool graph of the shipped company is asked.[/]")
        store = shipped_store()
    return AskPlan(graph=graph or f"store:{store}", catalog=catalog, operators=known, settings=settings, chat=chat)


async def run_ask(plan: AskPlan, asked: Asked, observe: Callable[[AgentEvent], None]) -> Told:
    """Ask a question, or go on with its run.

    :raises EgotoolsError: when something cannot be opened, or the journal is of another run.
    """
    from services.jobs.ask_parts import open_asked_graph

    async with open_asked_graph(plan) as graph:
        return await ask_opened(graph, asked, observe)


async def ask_opened(graph: OpenedGraph, asked: Asked, observe: Callable[[AgentEvent], None]) -> Told:
    """Ask a question of a graph that is open."""
    from services.jobs.conversation import next_turn
    from services.jobs.result_page import ShownResults

    with _opened_journal(asked.journal) as journal:
        question, turn = next_turn(journal, asked.text, refine=asked.refine, branch=asked.branch)
        shown = ShownResults()
        with turn.opened() as (written, results):
            answered = await graph.answer(question, written, results, shown.also(observe))
            return Told(answered=answered, pages=await shown.pages(results, answered.end.of, count=asked.rows))


async def replay(journal: Path, rows: int, observe: Callable[[AgentEvent], None]) -> Told:
    """Tell the last turn of a journal again; nobody is asked, and the graph is not opened.

    :raises InvalidArgumentError: when there is none, or it has not ended.
    """
    from planners.graphseek.question_run import replay_question
    from services.jobs.conversation import conversation_turns
    from services.jobs.result_page import ShownResults

    turns = conversation_turns(journal)
    if not turns:
        remedy = "Name that of a question"
        raise InvalidArgumentError("there is no such journal", subject=str(journal), remedy=remedy)
    shown = ShownResults()
    answered = await replay_question(turns[-1].read(), shown.also(observe))
    with turns[-1].results() as results:
        return Told(answered=answered, pages=await shown.pages(results, answered.end.of, count=rows))


_replay = replay


@contextlib.contextmanager
def _opened_journal(path: Path | None) -> Iterator[Path]:
    if path is not None:
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="egotools-ask-") as folder:
        yield Path(folder) / "question.jsonl"


def _to_json(told: Told, events: list[AgentEvent]) -> dict[str, Any]:
    answered = told.answered
    steps = [each for each in (event.to_json() for event in events) if each["event"] not in ("ModelAsked", "Ended")]
    model = {
        "calls": answered.model_calls,
        "prompt_tokens": answered.prompt_tokens,
        "completion_tokens": answered.completion_tokens,
        "usd": answered.usd,
    }
    return {**dict(answered.end), "results": list(told.pages), "steps": steps, "model": model}


class _Printer:
    """Prints each event on a line or two.

    :param explain: whether queries are printed too.
    """

    def __init__(self, *, explain: bool = False) -> None:
        self._explain = explain
        self._step = 0

    def tell(self, event: AgentEvent) -> None:
        """Take an event."""
        from planners.graphseek.turn import Invoked, QueryRun

        if isinstance(event, Invoked) and event.step != self._step:
            self._step = event.step
            say(f"[bold]step {event.step}[/]")
        if self._explain or not isinstance(event, QueryRun):
            for what, text in _lines(event):
                _say(what, text, _QUERY if isinstance(event, QueryRun) else _MOST)


def _lines(event: AgentEvent) -> Iterator[tuple[str, str]]:
    """Yield what an event is and what it says, a line each; none of those that are shown elsewhere."""
    from planners.graphseek import turn as events

    match event:
        case events.Invoked():
            yield "call", f"{event.operator} {_json(event.arguments)}"
        case events.QueryRun():
            yield "query", event.text + (f"  with {_json(event.parameters)}" if event.parameters else "")
        case events.ResultKept():
            size = _size(event.kind, event.size)
            yield "  result", f"{event.handle}: {size}{' (there were more)' if event.cut else ''}"
            yield from (("  note", note) for note in event.notes)
        case events.Faulted():
            yield "  [yellow]fault[/]", f"{event.problem.rstrip('.')}. {event.hint}"
        case events.AnswerRejected():
            yield "[yellow]refused[/]", f"{event.text} (in no result: {', '.join(event.ungrounded)})"
        case events.ModelAsked(problem=problem) if problem:
            yield "[yellow]model[/]", problem


def _show_end(end: Ended, pages: Sequence[Mapping[str, Any]]) -> None:
    """Print the tables and graphs of an answer, and the answer."""
    for page in pages:
        (_graph if page["kind"] == "graph" else _table)(page)
    if end.answer:
        marked = {"ungrounded": " [yellow](ungrounded)[/]", "asked back": " [yellow](asked back)[/]"}
        colour = "green" if end.outcome == "answered" else "yellow"
        say(f"[bold {colour}]answer[/]{marked.get(end.outcome, '')} [bold]{plain(end.answer)}[/]")
    if end.missing:
        _say("[yellow]missing[/]", end.missing)


def _table(page: Mapping[str, Any]) -> None:
    """Print the first rows: without columns that are empty there, and those that say nothing to a person, where there is something else to show."""
    from planners.stores.graph_schema import TYPE_PROPERTIES

    names = [each["name"] for each in page["columns"]]
    filled = [at for at in range(len(names)) if any(row[at] not in (None, "") for row in page["rows"])]
    ids = [at for at in filled if page["columns"][at]["type"] == "node"]
    is_ingested = any(str(row[at]).partition(":")[0] in TYPE_PROPERTIES for row in page["rows"] for at in ids)
    shown = [at for at in filled if at not in ids and not (is_ingested and names[at] in _INTERNAL)]
    places = shown or filled or list(range(len(names)))
    rows = [[_cell(row[at]) for at in places] for row in page["rows"]]
    say(f"  {page['handle']}")
    table("", [names[at] for at in places], rows)
    if (more := page["total"] - len(rows)) > 0:
        say(f"  and {more:,} more rows")


def _cell(value: Any) -> str:
    text = " ".join(str("" if value is None else value).split())
    return text if len(text) <= _CELL else f"{text[:_CELL]}…"


def _graph(page: Mapping[str, Any]) -> None:
    names = {each["id"]: each["properties"].get("name") or each["id"] for each in page["nodes"]}
    _say(f"{page['handle']}:", f"{len(page['nodes']):,} nodes, {len(page['edges']):,} relationships")
    for edge in page["edges"][:_EDGES]:
        source, target = (str(names.get(edge[end], edge[end])) for end in ("source", "target"))
        _say("", f"{source} -{edge['type']}-> {target}")
    if len(page["edges"]) > _EDGES:
        say(f"  and {len(page['edges']) - _EDGES:,} more")


def _size(kind: str, size: int) -> str:
    noun = {"table": "row", "graph": "node"}.get(kind)
    return kind if noun is None else f"{kind} of {size:,} {noun}{'' if size == 1 else 's'}"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _say(what: str, text: str, most: int = _MOST) -> None:
    one = " ".join(text.split())
    cut = one if len(one) <= most else f"{one[:most]}… ({len(one):,} characters)"
    say(f"  {what:<9} {plain(cut)}")
