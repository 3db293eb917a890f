"""Calls of tools that a chat model defines, of the tools that were found and of no others."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from inference.structured_chat import UnusableAnswerError
from planners.calls.tool_finder import FoundTools
from planners.kgot.kgot_settings import KgotSettings
from planners.kgot.kgot_task import TaskView
from planners.kgot.llm.model_asker import ModelAsker, closed_object
from planners.kgot.llm.view_inputs import view_inputs
from planners.kgot.step_makers import WantedCall

__all__ = ["LlmToolChooser", "tools_text"]

_MISSING = closed_object(missing={"type": "string"})
_CALL = closed_object(tool={"type": "string"}, arguments={"type": "object"})
_CALLS = closed_object(calls={"type": "array", "items": _CALL})
_NAMED = 8
_DESCRIPTION_CHARS = (
    1_024  # as many as the paper's tools have (appendix B.4.1); a document of the catalogue may have more
)


class LlmToolChooser:
    """Asks the model of the graph what is missing, and that of the tools for calls (appendix C.2).

    :param graph: the model of the graph.
    :param tools: the model of the tools.
    """

    def __init__(self, graph: ModelAsker, tools: ModelAsker, settings: KgotSettings) -> None:
        self._graph = graph
        self._tools = tools
        self._settings = settings

    async def missing(self, view: TaskView, reasons: Sequence[str]) -> str:
        """See :class:`planners.kgot.step_makers.ToolChooser`. One reason stands for itself, and no model is asked."""
        if len(reasons) == 1:
            return reasons[0]
        inputs = {"reasons": "\n".join(f"- {reason}" for reason in reasons)}
        return await self._graph.ask("merge_reasons", inputs, _MISSING, _missing)

    async def calls(self, view: TaskView, missing: str, found: FoundTools, nth: int) -> tuple[WantedCall, ...]:
        """See :class:`planners.kgot.step_makers.ToolChooser`."""
        ids = [each.tool.id for each in found.tools]
        names = {each.tool.name: each.tool.id for each in found.tools}
        inputs = {**view_inputs(view), "missing_information": missing, "tools": tools_text(found)}

        def read(value: Any) -> tuple[WantedCall, ...]:
            wanted = [
                WantedCall(
                    tool_id=call["tool"] if call["tool"] in ids else names.get(call["tool"], call["tool"]),
                    arguments=call["arguments"],
                )
                for call in value["calls"]
            ]
            if wanted and not any(call.tool_id in ids for call in wanted):
                raise UnusableAnswerError(
                    f"there is no tool {wanted[0].tool_id[:100]!r}; the tools are {', '.join(ids[:_NAMED])}"
                )
            return tuple(wanted)

        sample = self._tools.drawn(view.iteration, nth, self._settings.tool_call_votes)
        return await self._tools.ask("tool_calls", inputs, _CALLS, read, sample=sample)


def tools_text(found: FoundTools) -> str:
    """Return the tools as a prompt has them: id, description and schema of the arguments, a line each."""
    lines = [
        json.dumps(
            {
                "tool": each.tool.id,
                "description": each.tool.description[:_DESCRIPTION_CHARS],
                "arguments": each.tool.input_schema,
            },
            ensure_ascii=False,
            separators=(",", ":"),
        )
        for each in found.tools
    ]
    return "\n".join(lines)


def _missing(value: Any) -> str:
    text: str = value["missing"].strip()
    if not text:
        raise UnusableAnswerError("missing is empty")
    return text
