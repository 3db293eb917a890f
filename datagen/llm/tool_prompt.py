"""Render tools for a prompt: purpose and inputs, each part cut to a maximum length."""

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
_READ_FACTOR = 4  # the number of characters read, before whitespace is removed, relative to the maximum length


def in_words(name: str) -> str:
    """Return the last part of a name as words: ``items[].order_id`` → ``order id``."""
    return " ".join(words(name.rsplit(".", 1)[-1])) or name


def purpose(tool: Tool, *, max_chars: int = _MAX_PURPOSE_CHARS) -> str:
    """Return title and description on one line."""
    title = " ".join(words(tool.title)) or tool.title
    description = _cut(tool.description, max_chars)
    return f"{title}: {description}" if description else title


def prompt_inputs(tool: Tool) -> tuple[Parameter, ...]:
    """Return the inputs for a prompt, in the source's order: required ones first, then others, at most 8.

    Optional inputs that no request states (pages, filters, technical switches) are left out.
    """
    lexicon = load_lexicon().general  # Pages and switches are called alike in every catalogue.
    able = [one for one in tool.parameters if one.required or not lexicon.is_skipped(canonical_name(one.name))]
    chosen = {one.name for one in sorted(able, key=lambda one: not one.required)[:_MAX_INPUTS]}
    return tuple(one for one in tool.parameters if one.name in chosen)


def steps_prompt(path: ToolPath, tools: Sequence[Tool]) -> str:
    """Render the tools of a path as numbered steps, with the source of each input."""
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
    """Render the tools as numbered steps, without their inputs."""
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
