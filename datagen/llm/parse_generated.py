"""The parser of generated answers: a text that is not a request is rejected; values must occur in the text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from datagen.interfaces import GeneratedText
from datagen.synthetic_request import SampleValue
from datagen.tool_path import ToolPath
from inference.structured_chat import UnusableAnswerError
from ontology.names import words
from ontology.tool import Tool

__all__ = ["parse_generated"]

_MAX_CHARS = 500
_MIN_WORDS = 3
_SHOWN_VALUES, _MAX_VALUE_CHARS = 5, 30
_LOOP_WORDS, _LOOP_TIMES = 4, 3  # a loop: a sequence of 4 words that occurs 3 times
_COPIED_WORDS = 5  # a copy of the example: a sequence of 5 of its words
_PLACEHOLDER = re.compile(r"\[[^\]]*\]|<[^>]*>|\{[^}]*\}|\bX{2,}\b|\bstep \d\b", re.IGNORECASE)
_SNAKE_CASE = re.compile(r"(?<![\w@./-])[a-z]+(?:_[a-z0-9]+)+(?![\w@])")
_TECHNICAL_NAME = re.compile(r"[_/.\[]|[a-z0-9][A-Z]")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_FUNCTION_WORDS = frozenset("a an the my our your this that these those of for to in on with some any".split())


def parse_generated(row: Mapping[str, Any], path: ToolPath, tools: Sequence[Tool], *, example: str) -> GeneratedText:
    """Return the text and the values of an answer that fits the schema.

    :param tools: the tools of the path, in its order.
    :param example: the example request in the prompt, which the answer must not copy.
    :raises UnusableAnswerError: when the text is not a request, or states no value although the tools need one.
    """
    text = " ".join(row["query"].split())
    if fault := _fault(text, tools, example):
        raise UnusableAnswerError(fault)
    values = _values(text, row["values"], path, tools)
    if not values and any(_open_inputs(tool, path) for tool in tools):
        given = ", ".join(repr(one["value"][:_MAX_VALUE_CHARS]) for one in row["values"][:_SHOWN_VALUES]) or "none"
        raise UnusableAnswerError(
            "no value stands word for word in the message and is for an input that the person tells "
            f"(values: {given}; message: {text!r})"
        )
    return GeneratedText(text=text, values=values)


def _fault(text: str, tools: Sequence[Tool], example: str) -> str:
    """Return why a text is not a plausible request, or empty."""
    if len(words(text)) < _MIN_WORDS:
        return "the message is empty or too short"
    if len(text) > _MAX_CHARS:
        return f"the message has {len(text)} characters, and {_MAX_CHARS} are the most"
    if any("\ud800" <= letter <= "\udfff" for letter in text):
        return "the message holds half a character"
    if loop := _loop(text):
        return f"the message repeats itself: {loop!r}"
    if copied := sorted(_runs(text, _COPIED_WORDS).keys() & _runs(example, _COPIED_WORDS).keys()):
        return f"the message repeats the example: {copied[0]!r}"
    if placeholder := _PLACEHOLDER.search(text):
        return f"the message holds {placeholder[0]!r} where a real value should stand"
    if name := _internal_name(text, tools):
        return f"the message says the internal name {name!r}"
    return ""


def _values(
    text: str, rows: Sequence[Mapping[str, Any]], path: ToolPath, tools: Sequence[Tool]
) -> tuple[SampleValue, ...]:
    """Return the values that occur in the text and belong to an input that no earlier tool fills; drop the others.

    :param rows: ``tool`` is the position of a tool in the path, from 1.
    """
    kept: dict[tuple[str, str], SampleValue] = {}
    for row in rows:
        place = int(row["tool"])  # 1.0 is an integer to JSON
        tool = tools[place - 1] if 1 <= place <= len(tools) else None
        if tool is None or row["parameter"] not in _open_inputs(tool, path):
            continue
        value = _as_in_text(row["value"], text)
        if value and not _repeats_name(value, row["parameter"]) and words(value) != words(text):
            stated = SampleValue(tool=tool.id, parameter=row["parameter"], value=value)
            kept.setdefault((stated.tool, stated.parameter), stated)
    return tuple(kept.values())


def _open_inputs(tool: Tool, path: ToolPath) -> set[str]:
    filled = {edge.parameter for edge in path.into(tool.id)}
    return {parameter.name for parameter in tool.parameters} - filled


def _as_in_text(value: str, text: str) -> str:
    """Return the value as it is written in the text, as whole words; empty if it does not occur."""
    parts = value.strip().strip("\"'“”").rstrip(".").split()
    if not parts:
        return ""
    spaced = r"\s+".join(map(re.escape, parts))
    match = re.search(rf"(?<!\w){spaced}(?!\w)", text, re.IGNORECASE)
    return match[0] if match else ""


def _repeats_name(value: str, parameter: str) -> bool:
    """Whether a value is only the name of its input: ``the venue`` for ``venue_id``."""
    return {word for word in words(value) if word not in _FUNCTION_WORDS} <= set(words(parameter))


def _loop(text: str) -> str:
    """Return the words that a text repeats, or empty."""
    sentences = Counter(" ".join(words(one)) for one in _SENTENCE_END.split(text))
    for sentence, times in sentences.items():
        if times > 1 and len(sentence.split()) >= _LOOP_WORDS:
            return sentence
    run, times = max(_runs(text, _LOOP_WORDS).items(), key=lambda one: one[1], default=("", 0))
    return run if times >= _LOOP_TIMES else ""


def _runs(text: str, size: int) -> Counter[str]:
    """Count the sequences of ``size`` words."""
    tokens = words(text)
    return Counter(" ".join(tokens[at : at + size]) for at in range(len(tokens) - size + 1))


def _internal_name(text: str, tools: Sequence[Tool]) -> str:
    """A name of the tools in the text, or any word in snake case; else empty."""
    if match := _SNAKE_CASE.search(text):
        return match[0]
    names = [name for tool in tools for name in (tool.id, tool.name, *(one.name for one in tool.parameters))]
    technical = (name for name in names if _TECHNICAL_NAME.search(name))
    return next((name for name in technical if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.I)), "")
