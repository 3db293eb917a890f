"""What a prompt of a run says, read back: its parts, the nodes of the graph, the tools, the answers of tools."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from inference.chat import Message

__all__ = ["ToolText", "graph_rows", "prompt_parts", "shown_tools", "table_rows", "tool_texts"]

_PART = re.compile(r"<(\w+)>\n(.*?)\n</\1>", re.DOTALL)
_DATA = re.compile(r"^--- data (\w+) ---\n(.*)\n--- end \1 ---$", re.DOTALL | re.MULTILINE)
_ANSWER = re.compile(
    r'^Answer of the tool ("(?:[^"\\]|\\.)*"), status .*?\n--- begin (\w+) ---\n(.*?)\n--- end \2 ---$',
    re.DOTALL | re.MULTILINE,
)
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?")


class ToolText(NamedTuple):
    """An answer of a tool as the prompt shows it."""

    tool: str
    text: str


def prompt_parts(messages: Sequence[Message]) -> dict[str, str]:
    """Return the parts of the first message of the user, without the marks of data."""
    user = next((each.content for each in messages if each.role == "user"), "")
    parts = {name: text for name, text in _PART.findall(user)}
    return {name: found[2] if (found := _DATA.search(text)) else text for name, text in parts.items()}


def graph_rows(text: str) -> list[dict[str, Any]]:
    """Return the nodes of a graph's text: their properties and ``label``."""
    rows, label = [], ""
    for line in text.partition("Relationships")[0].splitlines()[1:]:
        if line.startswith("  "):
            rows.append({**json.loads(line.strip().partition(" ")[2]), "label": label})
        else:
            label = line.rstrip(":").strip('"')
    return rows


def shown_tools(text: str) -> dict[str, Mapping[str, Any]]:
    """Return id → what the prompt says of the tool."""
    found = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    return {each["tool"]: each for each in found}


def tool_texts(text: str) -> Iterator[ToolText]:
    """Yield the answers in new information."""
    for tool, _mark, body in _ANSWER.findall(text):
        yield ToolText(json.loads(tool), body)


def table_rows(text: str) -> list[dict[str, Any]]:
    """Return the rows of a table in Markdown or with commas; none of other text."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    piped = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    rows = [row for row in piped if not all(re.fullmatch(r":?-+:?", cell) for cell in row)]
    if not rows:
        split = [[cell.strip() for cell in line.split(",")] for line in lines]
        rows = split if len({len(row) for row in split}) == 1 and split and len(split[0]) > 1 else []
    while rows and not any(rows[0]):  # a table without a head of its own has an empty one
        rows = rows[1:]
    head = rows[0] if rows else []
    return [{name: _value(cell) for name, cell in zip(head, row, strict=False) if name and cell} for row in rows[1:]]


def _value(cell: str) -> Any:
    if _NUMBER.fullmatch(cell):
        return float(cell) if "." in cell else int(cell)
    return cell
