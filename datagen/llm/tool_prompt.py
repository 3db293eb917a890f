"""Tools as they stand in a prompt: what they are for and what they take, each part cut to a bounded length."""

from __future__ import annotations

from collections.abc import Sequence

from datagen.generation import load_lexicon
from datagen.tool_path import ToolPath
from ontology.names import canonical_name, words
from ontology.tool import Parameter, Tool

__all__ = ["brief_steps", "in_words", "prompt_inputs", "purpose", "steps_prompt"]

_MAX_PURPOSE_CHARS, _MAX_BRIEF_CHARS = 300, 120
_MAX_INPUTS = 8
_MAX_INPUT_CHARS = 60
_MAX_ENUM = 6
_READ_FACTOR = 4  # so many times the characters of a part are read before whitespace is removed


def in_words(name: str) -> str:
    """A name as words, without the path before it: ``items[].order_id`` → ``order id``."""
    return " ".join(words(name.rsplit(".", 1)[-1])) or name


def purpose(tool: Tool, *, max_chars: int = _MAX_PURPOSE_CHARS) -> str:
    """Title and description on one line."""
    title = " ".join(words(tool.title)) or tool.title
    description = _cut(tool.description, max_chars)
    return f"{title}: {description}" if description else title


def prompt_inputs(tool: Tool) -> tuple[Parameter, ...]:
    """The inputs that stand in a prompt, in the source's order: the required ones, and others as far as there is room.

    Optional inputs that nobody states in a request (pages, filters, technical switches) are left out.
    """
    lexicon = load_lexicon()
    able = [one for one in tool.parameters if one.required or not lexicon.is_skipped(canonical_name(one.name))]
    chosen = {one.name for one in sorted(able, key=lambda one: not one.required)[:_MAX_INPUTS]}
    return tuple(one for one in tool.parameters if one.name in chosen)


def steps_prompt(path: ToolPath, tools: Sequence[Tool]) -> str:
    """The tools of a path as numbered steps, with the source of each input."""
    place = {tool.id: number for number, tool in enumerate(tools, 1)}
    lines: list[str] = []
    for number, tool in enumerate(tools, 1):
        lines.append(f"Step {number}. {purpose(tool)}")
        filled = {edge.parameter: edge for edge in path.into(tool.id) if edge.source in place}
        stated = [_input(parameter) for parameter in prompt_inputs(tool) if parameter.name not in filled]
        if stated:
            lines.append(f"  told by the person: {'; '.join(stated)}")
        for edge in filled.values():
            lines.append(f"  {edge.parameter} comes from step {place[edge.source]} ({in_words(edge.output)})")
    return "\n".join(lines)


def brief_steps(tools: Sequence[Tool]) -> str:
    """The tools as numbered steps, without their inputs."""
    return "\n".join(f"Step {at}. {purpose(tool, max_chars=_MAX_BRIEF_CHARS)}" for at, tool in enumerate(tools, 1))


def _input(parameter: Parameter) -> str:
    kind, description = parameter.format or parameter.type, _cut(parameter.description, _MAX_INPUT_CHARS)
    notes = [
        "" if parameter.required else "optional",
        "" if kind == "string" else kind,
        "one of " + ", ".join(parameter.enum[:_MAX_ENUM]) if parameter.enum else "",
        description,
    ]
    text = ", ".join(filter(None, notes))
    return f"{parameter.name} ({text})" if text else parameter.name


def _cut(text: str, max_chars: int) -> str:
    return " ".join(text[: _READ_FACTOR * max_chars].split())[:max_chars]
