"""The command ``egotools ask``: a question of a graph in plain words, its steps, its tables and its answer."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from ontology.errors import InvalidArgumentError
from planners.graphseek.turn import AgentSettings
from services.cli.console import plain, print_json, say, show_event, show_step, table, tell
from services.cli.options import Journal, Json, Replay
from services.jobs.plans import ChatEndpoint, open_chat

if TYPE_CHECKING:
    from planners.graphseek.turn import AgentEvent
    from services.jobs.ask_parts import Told

_NO_ENDPOINT, _SETTINGS = ChatEndpoint(), AgentSettings()
_PRINTED, _ALL = 10, sys.maxsize  # rows of a table
_HIDDEN = frozenset(("QuestionBegun", "StepBegun", "ModelAsked", "Ended"))  # events that say nothing to a person
_CELL = 40  # characters of a cell
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
    from planners.graphseek.operators.operator import known_operators
    from services.jobs.ask_parts import AskPlan, ask_graph, outcome_error, replay_answer
    from services.jobs.cached_store import shipped_store

    if replay and journal is None:
        raise InvalidArgumentError("it needs --journal", subject="--replay", remedy="Name the journal of the run")
    if replay and question:
        raise InvalidArgumentError("--replay takes no question", subject="question", remedy="Leave it out")
    if not replay and not question.strip():
        raise InvalidArgumentError("there is no question", subject="question", remedy="Say what you want to know")
    count, events = rows or (_ALL if as_json else _PRINTED), list[Any]()
    observe = events.append if as_json else _Printer(_HIDDEN if explain else _HIDDEN | {"QueryRun"}).tell
    if replay and journal is not None:
        told = asyncio.run(replay_answer(journal, observe, rows=count))
    else:
        endpoint.check_pair()
        if operators and not endpoint.model:
            raise InvalidArgumentError("it needs --llm-model", subject="--operators", remedy="Give --llm-model too")
        plan = AskPlan(
            graph=graph or f"store:{store}",
            catalog=catalog,
            operators=tuple(known_operators(operators).values()),
            settings=settings,
            chat=open_chat(endpoint, needed_by="a run by a model") if endpoint.model else None,
        )
        if not graph and store is None:
            tell("[dim]The tool graph of the shipped company is asked.[/]")
            plan = replace(plan, graph=f"store:{shipped_store()}")
        told = asyncio.run(ask_graph(plan, question, observe, rows=count, journal=journal))
    if as_json:
        print_json(_to_json(told, events))
    else:
        _show_end(told)
    failed = outcome_error(told.answered.end)
    if failed is not None:
        raise failed


def _to_json(told: Told, events: Sequence[AgentEvent]) -> dict[str, Any]:
    answered = told.answered
    steps = [each for each in (event.to_json() for event in events) if each["event"] not in ("ModelAsked", "Ended")]
    model = {"calls": answered.model_calls}
    model |= {name: getattr(answered, name) for name in ("prompt_tokens", "completion_tokens", "usd")}
    return {**dict(answered.end), "results": list(told.pages), "steps": steps, "model": model}


class _Printer:
    """Prints each event on a line, but for those with certain names."""

    def __init__(self, hidden: frozenset[str]) -> None:
        self._hidden, self._step = hidden, 0

    def tell(self, event: AgentEvent) -> None:
        """Take an event."""
        told = event.to_json()
        if told["event"] in self._hidden and not told.get("problem"):
            return
        if told.get("step", self._step) != self._step:
            self._step = told["step"]
            say(f"[bold]step {self._step}[/]")
        show_event(told, ("step", "nth", "summary", "operators"))


def _show_end(told: Told) -> None:
    """Print the tables of an answer, and the answer."""
    end = told.answered.end
    for page in told.pages:
        _show_page(page)
    if end.answer:
        mark = "" if end.outcome == "answered" else f" [yellow]({end.outcome})[/]"
        say(f"[bold {'yellow' if mark else 'green'}]answer[/]{mark} [bold]{plain(end.answer)}[/]")
    if end.missing:
        show_step("[yellow]missing[/]", end.missing)


def _show_page(page: Mapping[str, Any]) -> None:
    """Print a result: of a table the first rows, without columns that are empty there, and those that say nothing to a person."""
    names, kinds = ([each[what] for each in page["columns"]] for what in ("name", "type"))
    filled = [at for at in range(len(names)) if any(row[at] not in (None, "") for row in page["rows"])]
    ids = [at for at in filled if kinds[at] == "node"]
    is_ingested = {*_INTERNAL} <= {*names}
    shown = [at for at in filled if at not in ids and not (is_ingested and names[at] in _INTERNAL)]
    places = shown or filled or list(range(len(names)))
    table(page["handle"], [names[at] for at in places], [[_cell(row[at]) for at in places] for row in page["rows"]])
    if (more := page["total"] - len(page["rows"])) > 0:
        say(f"  and {more:,} more rows")


def _cell(value: Any) -> str:
    text = " ".join(str("" if value is None else value).split())
    return text if len(text) <= _CELL else f"{text[:_CELL]}…"
