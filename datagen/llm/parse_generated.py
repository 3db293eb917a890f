"""A worded answer, read strictly: what cannot be a person's message is rejected, and values count only as they stand in it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from datagen.seams import GeneratedText
from datagen.synthetic_request import SampleValue
from datagen.tool_path import ToolPath
from inference.structured_chat import UnusableAnswerError
from ontology.names import words
from ontology.tool import Tool

__all__ = ["check_text", "draft_of", "values_in"]

_MAX_CHARS = 500
_MIN_WORDS = 3
_TOLD_VALUES = 5
_TOLD_VALUE_CHARS = 30
_LOOP_WORDS = 4  # so many words in a row …
_LOOP_TIMES = 3  # … so often are a loop
_COPIED_WORDS = 5  # so many in a row are the example's
_PLACEHOLDER = re.compile(r"\[[^\]]*\]|<[^>]*>|\{[^}]*\}|\bX{2,}\b|\bstep \d\b", re.IGNORECASE)
_SNAKE = re.compile(r"(?<![\w@./-])[a-z]+(?:_[a-z0-9]+)+(?![\w@])")
_TECHNICAL = re.compile(r"[_/.\[]|[a-z0-9][A-Z]")
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_NO_CONTENT = frozenset("a an the my our your this that these those of for to in on with some any".split())


def draft_of(row: Mapping[str, Any], path: ToolPath, tools: Sequence[Tool], *, example: str) -> GeneratedText:
    """The draft that an answer inside the schema makes.

    :param tools: those of the path, in its order.
    :param example: the request that the model was shown, whose words are not the answer's.
    :raises UnusableAnswerError: when its text is no request, or says no value where the tools take some.
    """
    text = " ".join(row["query"].split())
    check_text(text, tools, example=example)
    values = values_in(text, row["values"], path, tools)
    if not values and any(_open_inputs(tool, path) for tool in tools):
        given = ", ".join(repr(one["value"][:_TOLD_VALUE_CHARS]) for one in row["values"][:_TOLD_VALUES]) or "none"
        raise UnusableAnswerError(
            "no value stands word for word in the message and is for an input that the person tells "
            f"(values: {given}; message: {text!r})"
        )
    return GeneratedText(text=text, values=values)


def check_text(text: str, tools: Sequence[Tool], *, example: str) -> None:
    """Reject what nobody would type.

    :raises UnusableAnswerError: saying what is wrong.
    """
    if len(words(text)) < _MIN_WORDS:
        raise UnusableAnswerError("the message is empty or too short")
    if len(text) > _MAX_CHARS:
        raise UnusableAnswerError(f"the message has {len(text)} characters, and {_MAX_CHARS} are the most")
    if any("\ud800" <= letter <= "\udfff" for letter in text):
        raise UnusableAnswerError("the message holds half a character")
    if looped := _loop(text):
        raise UnusableAnswerError(f"the message repeats itself: {looped!r}")
    if copied := sorted(_runs(text, _COPIED_WORDS).keys() & _runs(example, _COPIED_WORDS).keys()):
        raise UnusableAnswerError(f"the message repeats the example: {copied[0]!r}")
    if placeholder := _PLACEHOLDER.search(text):
        raise UnusableAnswerError(f"the message holds {placeholder[0]!r} where a real value should stand")
    if leaked := _leaked(text, tools):
        raise UnusableAnswerError(f"the message says the internal name {leaked!r}")


def values_in(
    text: str, rows: Sequence[Mapping[str, Any]], path: ToolPath, tools: Sequence[Tool]
) -> tuple[SampleValue, ...]:
    """The values that stand in the text and are for an input that no earlier tool fills; the others are dropped.

    :param rows: ``tool`` as its place in the path, from 1.
    """
    kept: dict[tuple[str, str], SampleValue] = {}
    for row in rows:
        place = int(row["tool"])  # 1.0 is an integer to JSON
        tool = tools[place - 1] if 1 <= place <= len(tools) else None
        if tool is None or row["parameter"] not in _open_inputs(tool, path):
            continue
        said = _said(row["value"], text)
        if said and not _echoes(said, row["parameter"]) and words(said) != words(text):
            value = SampleValue(tool=tool.id, parameter=row["parameter"], value=said)
            kept.setdefault((value.tool, value.parameter), value)
    return tuple(kept.values())


def _open_inputs(tool: Tool, path: ToolPath) -> set[str]:
    filled = {edge.parameter for edge in path.into(tool.id)}
    return {parameter.name for parameter in tool.parameters} - filled


def _said(value: str, text: str) -> str:
    """The value as the text has it, as whole words; empty where it does not."""
    parts = value.strip().strip("\"'“”").rstrip(".").split()
    if not parts:
        return ""
    spaced = r"\s+".join(map(re.escape, parts))
    match = re.search(rf"(?<!\w){spaced}(?!\w)", text, re.IGNORECASE)
    return match[0] if match else ""


def _echoes(value: str, parameter: str) -> bool:
    """Whether a value only says what the input is called (``the venue`` for ``venue_id``)."""
    return {word for word in words(value) if word not in _NO_CONTENT} <= set(words(parameter))


def _loop(text: str) -> str:
    """What is said over and over, or empty."""
    sentences = Counter(" ".join(words(one)) for one in _SENTENCE.split(text))
    for sentence, times in sentences.items():
        if times > 1 and len(sentence.split()) >= _LOOP_WORDS:
            return sentence
    run, times = max(_runs(text, _LOOP_WORDS).items(), key=lambda one: one[1], default=("", 0))
    return run if times >= _LOOP_TIMES else ""


def _runs(text: str, size: int) -> Counter[str]:
    """So many words in a row → how often they come."""
    said = words(text)
    return Counter(" ".join(said[at : at + size]) for at in range(len(said) - size + 1))


def _leaked(text: str, tools: Sequence[Tool]) -> str:
    """An internal name in the text, or empty: one of the tools', or any that is written as only programs write."""
    if match := _SNAKE.search(text):
        return match[0]
    for tool in tools:
        for name in (tool.id, tool.name, *(parameter.name for parameter in tool.parameters)):
            if _TECHNICAL.search(name) and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE):
                return name
    return ""
