"""The check of a generated text: all values in it, no cue of another class, no internal name, no repetition."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from datagen.generation.data_files import read_data, word_classes
from datagen.generation.grammar import participle
from datagen.generation.tool_frame import ToolFrame, is_same
from datagen.synthetic_request import SampleValue
from datagen.tool_path import ToolPath
from ontology.names import words

__all__ = ["fault_of"]

_CUES: Mapping[str, Sequence[str]] = read_data("word_classes")["cues"]
"""Kind of cue → words."""
_FORBIDDEN_CUES = {"single-intent": ("condition",), "implicit-multi-step": ("condition", "order", "addition")}
"""Class → the kinds of cues that belong to other classes only."""
_FORBIDDEN = {
    request_class: re.compile("|".join(rf"\b(?:{'|'.join(_CUES[kind])})\b" for kind in kinds))
    for request_class, kinds in _FORBIDDEN_CUES.items()
}
_SIDE_BY_SIDE = ("multi-intent", "ir-multi-intent")
_REMOVING = word_classes("condition_clauses")["removing"]
_OWN_PART = re.compile(
    r"\b(?=\w{2,} (?:on|of|for|behind|at|in|with|from|to) )"  # what follows tries each part of a word
    r"(?!(?:on|of|for|at|in|with|to|and|the)\b)(\w{2,}?)(?:e?s)? (?:on|of|for|behind|at|in|with|from|to) "
    r"(?:(?:the|that|its|their|those|one of the) )?(?:\w+ ){0,2}\1(?:e?s)?\b"
)
"""A thing of itself: ``the order on the purchase order``."""
_TWO_NAMES = re.compile(r"\bcalled\b[^.,;:?]{1,40}\bcalled\b")
_NAME_IN_PARTS = re.compile(r"\bfirst name\b.*\bsurname\b")
_DOUBLED = re.compile(r"\b([a-z]{3,}) \1\b")
_INTERNAL_NAME = re.compile(r"\b[a-z]{2,}[A-Z]\w*|\b\w+_\w+\b")
_MIN_CHARS = 3  # of a value that nobody says twice
_QUOTED = re.compile(r"https?://\S+|\S+@\S+|'[^']*'")


def fault_of(
    text: str,
    values: Sequence[SampleValue],
    request_class: str,
    path: ToolPath,
    frames: Mapping[str, ToolFrame],
    *,
    names: Sequence[str] = (),
) -> str:
    """What is wrong with a text, in a sentence without a full stop; or empty.

    :param names: the names in it that fill no input.
    """
    lost = next((value for value in values if value.value not in text), None)
    if lost is not None:
        return f"the value {lost.value!r} is not in the text"
    plain = _QUOTED.sub(" ", text)
    forbidden = _FORBIDDEN.get(request_class)
    if forbidden is not None and (cue := forbidden.search(_lower(plain))):
        return f"the text contains {plain[slice(*cue.span())]!r}, which is a cue of another class"
    if (
        fault := _circular(values, path, frames)
        or _done_already(path, frames)
        or _removed(values, request_class, frames)
    ):
        return fault
    if not values and not names and _has_open_input(path, frames):
        return "the text contains no value for any input"
    for said in (*names, *(value.value for value in values)):
        plain = plain.replace(said, " 0 ")
    lower = _lower(plain)
    if repeated := _OWN_PART.search(lower):
        return f"the text contains {plain[slice(*repeated.span(1))]!r} as a part of itself"
    if twice := next((value.value for value in values if _is_twice(value.value, text)), ""):
        return f"the text states {twice!r} twice"
    if doubled := _DOUBLED.search(lower):
        return f"the text contains {plain[slice(*doubled.span(1))]!r} twice in a row"
    if _TWO_NAMES.search(lower) or _NAME_IN_PARTS.search(lower):
        return "the text gives one thing two names"
    if (name := _INTERNAL_NAME.search(plain)) and name[0] != "iPhone":
        return f"the text contains {name[0]!r}, which looks like an internal name"
    return ""


def _circular(values: Sequence[SampleValue], path: ToolPath, frames: Mapping[str, ToolFrame]) -> str:
    """Why a step gives only what the text has stated for it, or empty: the consent of a payment that is found by that consent.

    Found on the document of Plaid.
    """
    stated = {(value.tool, value.parameter) for value in values}
    for edge in path.edges:
        source, target = frames.get(edge.source), frames.get(edge.target)
        wanted = target.argument(edge.parameter) if target is not None else None
        if edge.kind != "R-P" or source is None or wanted is None or wanted.noun is None:
            continue
        known = (
            one.noun.key
            for one in source.arguments
            if one is not source.identity and one.noun is not None and (edge.source, one.names[0]) in stated
        )
        if any(is_same(wanted.noun.key, one) for one in known):
            return f"the text asks for the {wanted.noun.key} by which {edge.source} finds something"
    return ""


def _done_already(path: ToolPath, frames: Mapping[str, ToolFrame]) -> str:
    """Why a step does to what it is given what is done to it already, or empty: to associate a fleet of the associated fleets.

    The name of the tool that finds it says so, or the noun. Found on the document of AppStream.
    """
    for edge in path.edges:
        source, target = frames.get(edge.source), frames.get(edge.target)
        if edge.kind != "R-P" or source is None or target is None or target.reads or target.identity is None:
            continue
        texts = (source.tool.rpartition("/")[2], source.noun.key, *source.noun.words)
        said = {word for text in texts for word in words(text)}
        if edge.parameter in target.identity.names and participle(target.verb) in said and "not" not in said:
            return f"{edge.source} finds what is {participle(target.verb)} already"
    return ""


def _removed(values: Sequence[SampleValue], request_class: str, frames: Mapping[str, ToolFrame]) -> str:
    """Why one of several requests removes what another acts on, or empty. Found on the document of Batch."""
    if request_class not in _SIDE_BY_SIDE:
        return ""
    for frame in frames.values():
        if frame.verb not in _REMOVING or frame.identity is None:
            continue
        gone = {value.value for value in values if value.tool == frame.tool and value.parameter in frame.identity.names}
        acting = (one for one in values if one.tool != frame.tool and one.tool in frames and not frames[one.tool].reads)
        if any(one.value in gone for one in acting):
            return f"{frame.tool} removes what another tool acts on"
    return ""


def _lower(text: str) -> str:
    """The text in lower case, each letter at its place: expressions that ignore the case take two to three times as long."""
    lower = text.lower()
    return lower if len(lower) == len(text) else "".join(one.lower()[:1] for one in text)


def _is_twice(value: str, text: str) -> bool:
    """Whether a value stands in a text twice as words of its own."""
    if len(value) < _MIN_CHARS or text.count(value) < 2:  # to compile an expression costs more than all other checks
        return False
    return len(re.findall(rf"(?<![\w-]){re.escape(value)}(?![\w-])", text)) > 1


def _has_open_input(path: ToolPath, frames: Mapping[str, ToolFrame]) -> bool:
    """Whether a tool has an argument that no earlier step fills, and no tool is about what is the asker's own."""
    return not any(frame.own for frame in frames.values()) and any(
        not {edge.parameter for edge in path.into(tool)}.intersection(argument.names)
        for tool, frame in frames.items()
        for argument in frame.arguments
    )
