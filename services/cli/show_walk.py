"""What ``egotools plan --domain`` prints: the graph, why each tool, the calls, the answer, and what is missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from planners.dfs import QueryGraph
from planners.dfs.tool_resolver import Choice
from services.cli.console import plain, stdout, table
from services.cli.walk import Walked

__all__ = ["show_walk", "walk_to_json"]

_MOST_SHOWN = 50
_MOST_CHARS = 80


def show_walk(walked: Walked) -> None:
    """Print it for people."""
    parsed = walked.parsed
    left_out = plain(" ".join(parsed.left_out))
    if left_out:  # first: the answer is to another request
        stdout.print(f"[yellow]left out[/]: {left_out}", soft_wrap=True, highlight=False)
    _show_graph(parsed.graph)
    for note in parsed.notes:
        if note not in parsed.left_out:
            stdout.print(f"  {plain(note)}", soft_wrap=True, highlight=False)
    stdout.print("[bold]Tools[/]")
    for sentence in walked.said:
        stdout.print(f"  {plain(sentence)}", soft_wrap=True, highlight=False)
    found = walked.execution
    if found is None:
        stdout.print("Nothing was called (--dry-run).")
        return
    calls = [
        (each["kind"], each["what"], each["sources"], _came_back(each), f"{each['ms']:.1f}", each["error"])
        for each in found["calls"]
    ]
    stdout.print(table("Calls", ("call", "what", "from", "came back", "ms", "error"), calls))
    _show_answer(parsed.graph, found)
    if why := _emptied_by(found):
        stdout.print(f"Nothing: {plain(why)}", soft_wrap=True, highlight=False)
    if left_out and not found["count"]:
        stdout.print(f"This is no answer to the whole request: {left_out}", soft_wrap=True, highlight=False)
    for missing in found["missing"]:
        stdout.print(f"[yellow]missing[/] {plain(missing['var'])}: {plain(missing['reason'])}", soft_wrap=True)
    if walked.account is not None:
        account = walked.account
        stdout.print(
            f"{account.calls} calls of {len(account.by_tool)} tools, {account.rows:,} rows, {account.seconds:.3f} s in tools, "
            f"{account.prompt_tokens:,} prompt tokens"
        )


def walk_to_json(walked: Walked) -> dict[str, Any]:
    """Return it as JSON values."""
    return {
        "left_out": list(walked.parsed.left_out),
        "graph": walked.parsed.graph.to_json(),
        "notes": list(walked.parsed.notes),
        "tools": [_choice(each) for each in walked.choices],
        "log": list(walked.said),
        "execution": walked.execution,
        **({"emptied_by": why} if (why := _emptied_by(walked.execution)) else {}),
        "account": asdict(walked.account) if walked.account is not None else None,
    }


def _emptied_by(found: Mapping[str, Any] | None) -> str:
    """Of an answer that is empty or 0: the first call that brought nothing back, which is the constraint that emptied it."""
    if found is None or found["count"] != 0:
        return ""
    call = next(
        (each for each in found["calls"] if each["kind"] != "count" and not each["rows"] and not each["error"]), None
    )
    near = f" (near: {', '.join(found['near'])}?)" if found.get("near") else ""
    return f"nothing was found for: {call['what']}{near}" if call else "no entity meets all constraints at once"


def _choice(choice: Choice) -> dict[str, Any]:
    return {
        "purpose": choice.purpose,
        "request": choice.request,
        "snapshot_id": choice.snapshot_id,
        "tools": [each.tool.id for each in choice.candidates],
        "reason": choice.reason,
        "not": list(choice.misfits),
    }


def _show_graph(graph: QueryGraph) -> None:
    stdout.print(f"[bold]Graph[/] {graph.action} {graph.return_mode}: {plain(graph.return_var)}", highlight=False)
    for var, kind in graph.vars.items():
        filters = ", ".join(f"{each.field} {each.op} {each.value}" for each in graph.filters_of(var))
        stdout.print(f"  {plain(f'{var}: {kind}')}{plain(f' ({filters})') if filters else ''}", highlight=False)
    for edge in graph.edges:
        stdout.print(f"  {plain(f'{edge.source} {edge.edge} {edge.target}')}", highlight=False)


def _came_back(call: Mapping[str, Any]) -> str:
    if call["kind"] == "count":
        return "unknown" if call["count"] is None else f"count {call['count']:,}"
    return f"{call['rows']:,}"


def _show_answer(graph: QueryGraph, found: Mapping[str, Any]) -> None:
    if found["count"] is None:
        stdout.print("[bold]No answer[/]")
        return
    if graph.action == "count":
        stdout.print(f"[bold]Answer[/] {found['count']:,}")
        return
    answer: Sequence[Mapping[str, Any]] = found["answer"]
    if not answer:
        stdout.print("[bold]Answer[/] nothing")
        return
    names = list(
        dict.fromkeys(
            name for each in answer[:_MOST_SHOWN] for name in each["fields"] if name not in ("id", "source_id")
        )
    )
    rows = [(each["id"], *(_short(each["fields"].get(name)) for name in names)) for each in answer[:_MOST_SHOWN]]
    stdout.print(table(f"Answer: {len(answer):,}", ("id", *names), rows))
    if len(answer) > _MOST_SHOWN:
        stdout.print(f"… and {len(answer) - _MOST_SHOWN:,} more (--json prints all)")


def _short(value: Any) -> str:
    text = "" if value is None else str(value)
    return text if len(text) <= _MOST_CHARS else f"{text[: _MOST_CHARS - 1]}…"
