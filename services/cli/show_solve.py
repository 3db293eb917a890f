"""The steps of a run of ``egotools solve``, printed as they happen, and what came of it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from planners.journal.run_journal import RunAccount
from planners.kgot.kgot_controller import KgotRun
from planners.kgot.kgot_task import (
    CallMade,
    Computed,
    Decided,
    Dropped,
    Ended,
    GraphChanged,
    Insert,
    KgotEvent,
    Missing,
    ModelAsked,
    Parsed,
    Queried,
    ToolsFound,
    Vote,
    Written,
)
from services.cli.console import plain, stdout

__all__ = ["SolvePrinter", "show_outcome"]

_MOST = 300  # characters of a text on a line
_TOOLS = 8


class SolvePrinter:
    """Prints each event on a line or two."""

    def __init__(self) -> None:
        self._iteration = 0
        self._asked: Counter[str] = Counter()

    def tell(self, event: KgotEvent) -> None:
        """Take an event."""
        if isinstance(event, ModelAsked):
            self._asked.update(calls=1, read=event.prompt_tokens, written=event.completion_tokens)
            if event.problem:
                _say("[yellow]model[/]", f"{event.step}: {event.problem}")
            return
        iteration = getattr(event, "iteration", self._iteration)
        if iteration > self._iteration:
            self._iteration = iteration
            stdout.print(f"[bold]step {iteration}[/]", highlight=False)
        for kind, show in _SHOWN.items():
            if isinstance(event, kind):
                show(event)

    def spent(self) -> str:
        """Return the calls and tokens of models so far."""
        asked = self._asked
        return f"{asked['calls']:,} model calls, {asked['read']:,} + {asked['written']:,} tokens"


def _decided(event: Decided) -> None:
    votes = Counter("unusable" if vote is None else _word(vote) for vote in event.votes)
    counted = ", ".join(f"{count} {word}" for word, count in votes.most_common())
    _say("decide", f"{event.decision} ({counted})")


def _word(vote: Vote) -> str:
    return "insert" if isinstance(vote, Insert) else "retrieve"


def _made(event: CallMade) -> None:
    call = event.call
    _say("call", f"{call.tool_id} {json.dumps(call.arguments, ensure_ascii=False, default=str)}")
    _say(
        "  ok" if call.ok else "  [yellow]failed[/]",
        f"{call.status} in {event.seconds:.1f} s{_told(call.body, call.ok)}",
    )


def _told(body: Any, ok: bool) -> str:
    return "" if ok else f": {body if isinstance(body, str) else json.dumps(body, ensure_ascii=False, default=str)}"


def _written(event: Written) -> None:
    kinds = Counter(type(each).__name__ for each in event.operations)
    told = ", ".join(f"{count} {kind}" for kind, count in kinds.items()) or "nothing"
    _say("write", told + (f", {len(event.dropped)} left out" if event.dropped else ""))


def _queried(event: Queried) -> None:
    _say(event.kind, event.query)
    if event.rows is not None:
        rows = json.dumps([list(row) for row in event.rows.rows], ensure_ascii=False, default=str)
        _say("  rows", f"{len(event.rows.rows)}: {rows}")
    elif event.fault:
        _say("  [yellow]failed[/]", event.fault)


_SHOWN: Mapping[type[Any], Callable[[Any], None]] = {
    Decided: _decided,
    Missing: lambda event: _say("missing", event.text),
    ToolsFound: lambda event: _say("tools", ", ".join(event.tool_ids[:_TOOLS]) or "none fits"),
    CallMade: _made,
    Written: _written,
    GraphChanged: lambda event: _say("graph", f"{len(event.state.nodes):,} nodes, {len(event.state.edges):,} edges"),
    Queried: _queried,
    Computed: lambda event: _say("compute", f"{event.code} → {event.output or event.fault}"),
    Parsed: lambda event: _say("answers", " | ".join(event.answers)),
    Dropped: lambda event: _say("[yellow]left out[/]", f"{event.step}: {event.problem}"),
    Ended: lambda event: None,
}


def show_outcome(run: KgotRun, account: RunAccount) -> None:
    """Print the answer and what it took."""
    if run.answer:
        forced = "" if run.outcome == "solved" else " (forced)"
        stdout.print(f"[bold green]answer{forced}[/] [bold]{plain(run.answer)}[/]", soft_wrap=True, highlight=False)
    if run.outcome != "solved":
        _say("[yellow]outcome[/]", run.outcome + (f": {run.missing}" if run.missing else ""))
    model = account.model
    _say(
        "took",
        f"{_many(run.iterations, 'step')}; {_many(model.calls, 'model call')}, {model.prompt_tokens:,} + {model.completion_tokens:,} tokens, "
        f"{model.usd:.4f} USD; {_many(account.calls, 'tool call')}, {account.failed:,} without an answer",
    )


def _many(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def _say(what: str, text: str) -> None:
    one = " ".join(text.split())
    cut = one if len(one) <= _MOST else f"{one[:_MOST]}…"
    stdout.print(f"  {what:<9} {plain(cut)}", soft_wrap=True, highlight=False)
