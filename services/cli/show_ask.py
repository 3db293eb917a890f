"""A question's run, printed as it happens: its plan, its queries, what came of them; and the tables of the answer."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from planners.graphseek.turn import (
    AgentEvent,
    AnswerRejected,
    Ended,
    Faulted,
    Invoked,
    ModelAsked,
    OperatorAdapted,
    QueryRun,
    ResultKept,
    StepBegun,
)
from planners.stores.graph_schema import TYPE_PROPERTIES
from services.cli.console import plain, stdout, table

__all__ = ["AskPrinter", "show_end", "show_page"]

_MOST = 300  # characters of a text on a line
_QUERY = 2_000  # of a query: those of a search over all types are ten times as long, and alike
_CELL = 40  # of a cell
_EDGES = 10  # of a graph that are listed
_INTERNAL = frozenset(
    ("degree", "id", "key")
)  # of nodes that ingestion writes: for programs, which get them with --json


class AskPrinter:
    """Prints each event on a line or two.

    :param explain: whether queries are printed too.
    """

    def __init__(self, *, explain: bool = False) -> None:
        self._explain = explain
        self._step = 0

    def tell(self, event: AgentEvent) -> None:
        """Take an event."""
        if isinstance(event, Invoked) and event.step != self._step:
            self._step = event.step
            stdout.print(f"[bold]step {event.step}[/]", highlight=False)
        if self._explain or not isinstance(event, QueryRun):
            for what, text in _lines(event):
                _say(what, text, _QUERY if isinstance(event, QueryRun) else _MOST)


def _lines(event: AgentEvent) -> Iterator[tuple[str, str]]:
    """Yield what an event is and what it says, a line each; none of those that are shown elsewhere."""
    match event:
        case StepBegun(fallback=why) if why:
            yield "[yellow]lookup[/]", f"all operators are offered: {why}"
        case Invoked():
            yield "call", f"{event.operator} {_json(event.arguments)}"
        case QueryRun():
            yield "query", event.text + (f"  with {_json(event.parameters)}" if event.parameters else "")
        case ResultKept():
            size = _size(event.kind, event.size)
            yield "  result", f"{event.handle}: {size}{' (there were more)' if event.cut else ''}"
            yield from (("  note", note) for note in event.notes)
        case Faulted():
            yield "  [yellow]fault[/]", f"{event.problem.rstrip('.')}. {event.hint}"
        case OperatorAdapted():
            yield "  [yellow]adapted[/]", f"{event.operator}: {event.version or 'no version'} {event.problem}".rstrip()
        case AnswerRejected():
            yield "[yellow]refused[/]", f"{event.text} (in no result: {', '.join(event.ungrounded)})"
        case ModelAsked(problem=problem) if problem:
            yield "[yellow]model[/]", problem


def show_end(end: Ended, pages: Sequence[Mapping[str, Any]]) -> None:
    """Print the tables and graphs of an answer, and the answer."""
    for page in pages:
        show_page(page)
    if end.answer:
        marked = {"ungrounded": " [yellow](ungrounded)[/]", "asked back": " [yellow](asked back)[/]"}
        colour = "green" if end.outcome == "answered" else "yellow"
        label = f"[bold {colour}]answer[/]{marked.get(end.outcome, '')}"
        stdout.print(f"{label} [bold]{plain(end.answer)}[/]", soft_wrap=True, highlight=False)
    if end.missing:
        _say("[yellow]missing[/]", end.missing)


def show_page(page: Mapping[str, Any], title: str = "", columns: Sequence[str] = ()) -> None:
    """Print a result as :func:`services.jobs.result_page.result_page` gives it."""
    if "of" in page:
        axes = ", ".join(f"{page['options'][axis]}" for axis in ("y", "x") if axis in page["options"])
        drawn = f" ({page['kind']} of {axes}; the page draws it)" if axes else ""
        show_page(page["of"], f"{page['title']}{drawn}".strip(), page["options"].get("columns", ()))
    elif page["kind"] == "graph":
        _graph(page, title)
    else:
        _table(page, title, columns)


def _table(page: Mapping[str, Any], title: str, columns: Sequence[str]) -> None:
    """Print the first rows: without columns that are empty there, and those that say nothing to a person, where there is something else to show."""
    names = [each["name"] for each in page["columns"]]
    filled = [at for at in range(len(names)) if any(row[at] not in (None, "") for row in page["rows"])]
    ids = [at for at in filled if page["columns"][at]["type"] == "node"]
    is_ingested = any(str(row[at]).partition(":")[0] in TYPE_PROPERTIES for row in page["rows"] for at in ids)
    told = [at for at in filled if at not in ids and not (is_ingested and names[at] in _INTERNAL)]
    places = told or filled or list(range(len(names)))
    places = [names.index(each) for each in columns] or places
    rows = [[_cell(row[at]) for at in places] for row in page["rows"]]
    stdout.print(f"  {page['handle']:<9} {plain(title)}".rstrip(), soft_wrap=True, highlight=False)
    stdout.print(table("", [names[at] for at in places], rows))
    if (more := page["total"] - len(rows)) > 0:
        stdout.print(f"  and {more:,} more rows", highlight=False)


def _cell(value: Any) -> str:
    text = " ".join(str("" if value is None else value).split())
    return text if len(text) <= _CELL else f"{text[:_CELL]}…"


def _graph(page: Mapping[str, Any], title: str) -> None:
    names = {each["id"]: each["properties"].get("name") or each["id"] for each in page["nodes"]}
    _say(f"{page['handle']}:", f"{title} {len(page['nodes']):,} nodes, {len(page['edges']):,} relationships".strip())
    for edge in page["edges"][:_EDGES]:
        ends = [str(names.get(edge[end], edge[end])) for end in ("source", "target")]
        _say("", f"{ends[0]} -{edge['type']}-> {ends[1]}")
    if len(page["edges"]) > _EDGES:
        stdout.print(f"  and {len(page['edges']) - _EDGES:,} more", highlight=False)


def _size(kind: str, size: int) -> str:
    noun = {"table": "row", "graph": "node"}.get(kind)
    return kind if noun is None else f"{kind} of {size:,} {noun}{'' if size == 1 else 's'}"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _say(what: str, text: str, most: int = _MOST) -> None:
    one = " ".join(text.split())
    cut = one if len(one) <= most else f"{one[:most]}… ({len(one):,} characters)"
    stdout.print(f"  {what:<9} {plain(cut)}", soft_wrap=True, highlight=False)
