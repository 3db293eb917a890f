"""What a step sees, as the inputs of prompts."""

from __future__ import annotations

import json
from collections.abc import Sequence

from planners.kgot.kgot_task import MadeCall, TaskView

__all__ = ["view_inputs"]

_ARGUMENTS_CHARS = 400  # of one call in the list of those that were made
_ERROR_CHARS = 300
_QUERY_CHARS = 1_000
_MOST_CALLS = 60  # the last ones: 7 iterations of 8 calls are fewer


def view_inputs(view: TaskView) -> dict[str, str]:
    """Return the inputs that any prompt may have; a prompt takes those that it names."""
    return {
        "initial_problem": view.task.question.strip(),
        "files": "\n".join(f"- {path.name}" for path in view.task.files),
        "existing_data": view.graph_text,
        "tool_calls_made": _calls_text(view.calls),
        "fruitless_queries": "\n".join(f"- {query[:_QUERY_CHARS]}" for query in view.fruitless),
    }


def _calls_text(calls: Sequence[MadeCall]) -> str:
    """Return calls, one a line: what was asked, and how it ended. What they answered stands in the graph."""
    left_out = max(0, len(calls) - _MOST_CALLS)
    lines = [f"({left_out} calls before)"] if left_out else []
    return "\n".join([*lines, *map(_line, calls[left_out:])])


def _line(call: MadeCall) -> str:
    arguments = json.dumps(dict(call.arguments), ensure_ascii=False, default=str)
    if len(arguments) > _ARGUMENTS_CHARS:
        arguments = f"{arguments[:_ARGUMENTS_CHARS]}…"
    if call.ok:
        return f"- {call.tool_id} {arguments}: answered"
    said = call.body if isinstance(call.body, str) else json.dumps(call.body, ensure_ascii=False, default=str)
    return f"- {call.tool_id} {arguments}: {call.status}, {json.dumps(said[:_ERROR_CHARS], ensure_ascii=False)}"
