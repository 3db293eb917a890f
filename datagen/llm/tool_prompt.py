"""How tools are told to the model: what they are for and what they take, each part cut to a bounded length."""

from __future__ import annotations

from datagen.generation import load_lexicon
from datagen.tool_path import PathEdge, ToolPath
from ontology.names import canonical_name, words
from ontology.tool import Parameter, Tool

__all__ = ["inputs_of", "purpose", "spoken", "steps"]

_MAX_PURPOSE_CHARS = 300
_MAX_INPUTS = 8
_MAX_INPUT_CHARS = 60
_MAX_ENUM = 6
_PLAIN_TYPE = "string"


def spoken(name: str) -> str:
    """A name as words, without the path before it: ``items[].order_id`` → ``order id``."""
    return " ".join(words(name.rsplit(".", 1)[-1])) or name


def purpose(tool: Tool, *, most_chars: int = _MAX_PURPOSE_CHARS) -> str:
    """Title and description on one line."""
    title = " ".join(words(tool.title)) or tool.title
    description = " ".join(tool.description[: 4 * most_chars].split())[:most_chars]
    return f"{title}: {description}" if description else title


def inputs_of(tool: Tool) -> tuple[Parameter, ...]:
    """The inputs that are told: the required ones first, the others as far as there is room, in the source's order.

    Optional ones that nobody says (pages, filters, technical switches) are left out.
    """
    said = [parameter for parameter in tool.parameters if parameter.required or not _unsaid(parameter)]
    ranked = sorted(said, key=lambda parameter: not parameter.required)
    told = {parameter.name for parameter in ranked[:_MAX_INPUTS]}
    return tuple(parameter for parameter in tool.parameters if parameter.name in told)


def steps(path: ToolPath, tools: tuple[Tool, ...]) -> str:
    """The tools of a path as numbered steps, with what fills each input."""
    place = {tool.id: number for number, tool in enumerate(tools, 1)}
    lines = []
    for number, tool in enumerate(tools, 1):
        lines.append(f"Step {number}. {purpose(tool)}")
        filled = {edge.parameter: edge for edge in path.into(tool.id) if edge.source in place}
        said = [_input(parameter) for parameter in inputs_of(tool) if parameter.name not in filled]
        if said:
            lines.append(f"  told by the person: {'; '.join(said)}")
        lines.extend(f"  {_filled(edge, place[edge.source])}" for edge in filled.values())
    return "\n".join(lines)


def _unsaid(parameter: Parameter) -> bool:
    return load_lexicon().is_skipped(canonical_name(parameter.name))


def _filled(edge: PathEdge, source: int) -> str:
    return f"{edge.parameter} comes from step {source} ({spoken(edge.output)})"


def _input(parameter: Parameter) -> str:
    notes = [] if parameter.required else ["optional"]
    kind = parameter.format or parameter.type
    if kind and kind != _PLAIN_TYPE:
        notes.append(kind)
    if parameter.enum:
        notes.append("one of " + ", ".join(parameter.enum[:_MAX_ENUM]))
    if parameter.description.strip():
        notes.append(" ".join(parameter.description[: 4 * _MAX_INPUT_CHARS].split())[:_MAX_INPUT_CHARS])
    return f"{parameter.name} ({', '.join(notes)})" if notes else parameter.name
