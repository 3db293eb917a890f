"""Anaphora: referring expressions that point back to a stated step: "it", "that vendor", "the first one"."""

from __future__ import annotations

from collections.abc import Mapping

from datagen.generation.arguments import Argument
from datagen.generation.data_files import templates, word_classes
from datagen.generation.lexicon import Noun
from datagen.generation.phrases import References
from datagen.generation.sampler import Sampler
from datagen.generation.tool_frame import ToolFrame
from datagen.tool_path import PathEdge

__all__ = ["anaphor", "anaphora", "is_dated", "is_same_thing", "value_label"]

_WORDS = word_classes("coreference")
_TEMPLATES = templates("anaphora")


def anaphora(
    frame: ToolFrame, edges: tuple[PathEdge, ...], frames: Mapping[str, ToolFrame], last: str, sampler: Sampler
) -> References:
    """Input → anaphor, for a step that follows the steps that it depends on.

    :param last: the tool of the step before it.
    """
    found: dict[str, str] = {}
    for edge in edges:
        argument = frame.argument(edge.parameter)
        if argument is not None and edge.parameter not in found and edge.source in frames:
            near = edge.source == last and not {"it", "them"}.intersection(found.values())
            found[edge.parameter] = anaphor(argument, frames[edge.source], sampler, near=near)
    return found


def anaphor(argument: Argument, source: ToolFrame, sampler: Sampler, *, near: bool, single: bool = False) -> str:
    """A referring expression for what a step gives to an argument.

    :param near: whether the step stands just before; then it can be ``it``.
    :param single: whether the text has said that a list gives one thing.
    """
    noun = argument.noun
    if noun is None:
        label = value_label(argument)
        plural = label.endswith("s") and not label.endswith("ss")
        return sampler.phrase(_TEMPLATES["values" if plural else "value"], label=label)
    same, word = is_same_thing(argument, source), sampler.noun(noun)
    if source.many and not single:
        return _from_list(argument, noun, source, word, sampler, near=near, same=same)
    if same:
        kind = ("near_person" if noun.person else "near_thing") if near else "far_thing"
        return sampler.phrase(_TEMPLATES[kind], word=word)
    whose = "their" if source.noun.person else "its"
    return sampler.phrase(_TEMPLATES["near_part" if near else "far_part"], whose=whose, word=word)


def _from_list(
    argument: Argument, noun: Noun, source: ToolFrame, word: str, sampler: Sampler, *, near: bool, same: bool
) -> str:
    """A referring expression for one thing of a list, or for all of them."""
    if argument.many:
        return sampler.phrase(_TEMPLATES["near_all" if near else "far_all"], words=sampler.noun(noun, many=True))
    if not same:
        return sampler.phrase(_TEMPLATES["part_of_one"], word=word)
    if source.noun.mass:
        return f"that {word}"
    order = sampler.pick(_TEMPLATES["dated"]) if is_dated(source.noun) else "first"
    that_one = "that person" if source.noun.person else "that one"
    return sampler.phrase(_TEMPLATES["near_one" if near else "far_one"], word=word, order=order, that_one=that_one)


def value_label(argument: Argument) -> str:
    """The everyday name of a plain value."""
    return argument.field.label if argument.field is not None else argument.label or "result"


def is_dated(noun: Noun) -> bool:
    """Whether things of this noun come one after the other, so that one of them is the latest."""
    return noun.key.split()[-1] in _WORDS["dated"]


def is_same_thing(argument: Argument, source: ToolFrame) -> bool:
    """Whether an argument takes the thing itself that a tool is about."""
    if argument.noun is None:
        return False
    key, other = argument.noun.key, source.noun.key
    is_whole = other in {f"{key} {word}" for word in _WORDS["wholes"]}
    return key == other or key.endswith(f" {other}") or other.endswith(f" {key}") or is_whole
