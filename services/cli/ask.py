"""The command ``egotools ask``: a question of a graph in plain words, its steps, its tables and its answer."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from ontology.errors import InvalidArgumentError
from planners.graphseek.turn import AgentSettings
from services.cli.console import plain, print_json, say, show_event, show_step, table, tell
from services.cli.options import Journal, Json, Replay
from services.jobs.plans import ChatEndpoint, open_chat

if TYPE_CHECKING:
    from planners.graphseek.turn import AgentEvent, Ended
    from services.jobs.ask_parts import AskPlan, Told

__all__ = ["ask", "run_ask"]

_NO_ENDPOINT, _SETTINGS = ChatEndpoint(), AgentSettings()
_PRINTED, _ALL = 10, sys.maxsize  # rows of a table
_HIDDEN = frozenset(("QuestionBegun", "StepBegun", "ModelAsked", "Ended"))  # events that say nothing to a person
_CELL = 40  # of a cell
_EDGES = 10  # of a graph that are listed
_INTERNAL = frozenset(("degree", "id", "key"))  # of nodes that ingestion writes: for programs


def ask(
    question: Annotated[str, Argument(help="The question. Not with --replay.")] = "",
    graph: Annotated[str, Option("--graph", help="ladybug:PATH, neo4j:bolt://…, csv:FOLDER, store:PATH.")] = "",
    store: Annotated[
        Path | None,
        Option(
            "--store", "-s", file_okay=False, envvar="EGOTOOLS_STORE", help="Store. Default: the shipped company's."
        ),
    ] = None,
    endpoint: ChatEndpoint = _NO_ENDPOINT,
    catalog: Annotated[Path | None, Option(help="Catalog: what the names of the graph mean (YAML).")] = None,
    operators: Annotated[
        tuple[Path, ...], Option("--operators", file_okay=False, metavar="DIR", help="Further operators (code).")
    ] = (),
    explain: Annotated[bool, Option("--explain", help="Print the queries too.")] = False,
    rows: Annotated[int | None, Option(min=1, help="Rows of a table. Default: 10; all with --json.")] = None,
    journal: Journal = None,
    replay: Replay = False,
    settings: AgentSettings = _SETTINGS,
    as_json: Json = False,
) -> None:
    """Ask a question of a graph in plain words. The graph is never written.

    With --llm-url and --llm-model a model plans the steps; without, rules do, for questions that they can read.
    """
    from services.jobs.ask_parts import outcome_error, replay_answer

    if replay and journal is None:
        raise InvalidArgumentError("it needs --journal", subject="--replay", remedy="Name the journal of the run")
    if replay and question:
        raise InvalidArgumentError("--replay takes no question", subject="question", remedy="Leave it out")
    if not replay and not question.strip():
        raise InvalidArgumentError("there is no question", subject="question", remedy="Say what you want to know")
    count, events = rows or (_ALL if as_json else _PRINTED), list[Any]()
    observe = events.append if as_json else _Printer(explain=explain).tell
    if replay and journal is not None:
        told = asyncio.run(replay_answer(journal, observe, rows=count))
    else:
        plan = _plan(graph, store, catalog, operators, endpoint, settings)
        told = asyncio.run(run_ask(plan, question, observe, journal=journal, rows=count))
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

    endpoint.check_pair()
    if operators and not endpoint.model:
        raise InvalidArgumentError("it needs --llm-model", subject="--operators", remedy="Give --llm-model too")
    known = tuple(known_operators(operators).values())
    chat = open_chat(endpoint, needed_by="a run by a model") if endpoint.model else None
    if not graph and store is None:
        tell("[dim]The tool graph of the shipped company is asked.[/]")
        store = shipped_store()
    return AskPlan(graph=graph or f"store:{store}", catalog=catalog, operators=known, settings=settings, chat=chat)


async def run_ask(
    plan: AskPlan,
    question: str,
    observe: Callable[[AgentEvent], None],
    *,
    journal: Path | None = None,
    rows: int = 10,
    lookup: bool = True,
) -> Told:
    """Ask a question, or go on with its run.

    :param journal: in a temporary folder where None.
    :param rows: of a table that are told, at most.
    :raises EgotoolsError: when something cannot be opened, or the journal is of another run.
    """
    from services.jobs.ask_parts import open_asked_graph

    with tempfile.TemporaryDirectory(prefix="egotools-ask-") as folder:
        async with open_asked_graph(plan) as graph:
            return await graph.ask(question, journal or Path(folder) / "question.jsonl", observe, rows=rows)


def _to_json(told: Told, events: Sequence[AgentEvent]) -> dict[str, Any]:
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
    """Prints each event on a line.

    :param explain: whether queries are printed too.
    """

    def __init__(self, *, explain: bool) -> None:
        self._hidden = _HIDDEN if explain else _HIDDEN | {"QueryRun"}
        self._step = 0

    def tell(self, event: AgentEvent) -> None:
        """Take an event."""
        told = event.to_json()
        if told["event"] in self._hidden and not told.get("problem"):
            return
        if told.get("step", self._step) != self._step:
            self._step = told["step"]
            say(f"[bold]step {self._step}[/]")
        show_event(told, ("step", "nth", "summary", "operators"))


def _show_end(end: Ended, pages: Sequence[Mapping[str, Any]]) -> None:
    """Print the tables and graphs of an answer, and the answer."""
    for page in pages:
        _show_page(page)
    if end.answer:
        marked = {"ungrounded": " [yellow](ungrounded)[/]", "asked back": " [yellow](asked back)[/]"}
        colour = "green" if end.outcome == "answered" else "yellow"
        say(f"[bold {colour}]answer[/]{marked.get(end.outcome, '')} [bold]{plain(end.answer)}[/]")
    if end.missing:
        show_step("[yellow]missing[/]", end.missing)


def _show_page(page: Mapping[str, Any]) -> None:
    """Print a result: of a table the first rows, without columns that are empty there, and those that say nothing to a person."""
    if page["kind"] == "graph":
        return _show_graph(page)
    names = [each["name"] for each in page["columns"]]
    filled = [at for at in range(len(names)) if any(row[at] not in (None, "") for row in page["rows"])]
    ids = [at for at in filled if page["columns"][at]["type"] == "node"]
    is_ingested = {*_INTERNAL} <= {*names}
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


def _show_graph(page: Mapping[str, Any]) -> None:
    names = {each["id"]: each["properties"].get("name") or each["id"] for each in page["nodes"]}
    counts = f"{len(page['nodes']):,} nodes, {len(page['edges']):,} relationships"
    show_step(f"{page['handle']}:", counts)
    for edge in page["edges"][:_EDGES]:
        source, target = (str(names.get(edge[end], edge[end])) for end in ("source", "target"))
        show_step("", f"{source} -{edge['type']}-> {target}")
    if len(page["edges"]) > _EDGES:
        say(f"  and {len(page['edges']) - _EDGES:,} more")
