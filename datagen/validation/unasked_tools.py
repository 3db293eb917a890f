"""Unasked tools: reading tools that a request neither asks for nor needs."""

from __future__ import annotations

from datagen.synthetic_request import SyntheticRequest
from datagen.validation.parsed_request import ParsedRequest, is_read_request
from datagen.validation.path_fit import PathFit
from datagen.validation.tool_slots import ToolSlots

__all__ = ["find_unasked_tool"]


def find_unasked_tool(request: SyntheticRequest, parsed: ParsedRequest, fit: PathFit) -> str:
    """Why a tool is not needed, or empty: it only reads, takes nothing from another tool and gives none
    anything, and nothing asks to read it.

    Nothing asks for it where no word of its own is said, or where no part of the request asks to read anything and the tools
    are more than the wants.
    """
    conditional = request.request_class == "conditional-multi-step"
    if conditional or len(fit.tools) < 2 or len(fit.tools) <= parsed.max_wants:
        return ""
    acts = any(not tool.reads for tool in fit.tools)
    reading = any(is_read_request(clause) for clause in parsed.clauses if clause.kind != "statement")
    fed = {target for _, target in fit.fed}
    for position in set(fit.not_needed) & set(fit.ends) - fed - {len(fit.tools) - 1}:
        tool = fit.tools[position]
        if not tool.reads or tool.knowledge or tool.about_asker or _has_own_value(request, tool):
            continue
        if (acts and not reading) or not _is_named(tool, parsed, fit):
            return f"nothing in the request asks for {tool.id}, and no other tool requires what it gives"
    return ""


def _has_own_value(request: SyntheticRequest, tool: ToolSlots) -> bool:
    """Whether the request states something for a tool and for no other."""
    others = {value.value for value in request.values if value.tool != tool.id}
    return any(value.tool == tool.id and value.value not in others for value in request.values)


def _is_named(tool: ToolSlots, parsed: ParsedRequest, fit: PathFit) -> bool:
    """Whether a word of the tool is said that no other tool of the path has, or a value that only it can take."""
    others = frozenset().union(*(other.vocabulary for other in fit.tools if other is not tool))
    own = tool.vocabulary - others
    return not own or not own.isdisjoint(parsed.lemmas) or tool.id in fit.certain_tools
