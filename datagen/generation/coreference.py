"""Coreference: referring expressions for what an earlier step gives to a later one.

An anaphor points back to a stated step ("the first one", "that vendor"). A description stands for a step that is not
stated ("the vendor behind bill 5105600211").
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from datagen.generation.arguments import Argument, kind_of_name
from datagen.generation.clause import Clause, clause_of
from datagen.generation.data_files import templates, word_classes
from datagen.generation.grammar import article, possessive
from datagen.generation.lexicon import Noun
from datagen.generation.phrases import References
from datagen.generation.sampler import Sampler
from datagen.generation.tool_frame import GenerationError, ToolFrame
from datagen.tool_path import PathEdge, ToolPath

__all__ = ["Choice", "anaphor", "anaphora", "clause_by_name", "descriptions", "is_interchangeable", "is_same_thing"]

_WORDS = word_classes("coreference")
_TEMPLATES = templates("coreference")
_MAX_STEPS = 1
"""At most so many steps, one behind the other, stand in one description: of two, readers of four catalogues said that nobody
can follow."""
_MAX_WORDS = 10
_NO_NAMES = ("", "trouble")
"""Kinds of names by which nobody says which thing is meant; what breaks is told, not named."""
_LASTS = re.compile(r"\b(?:until|till|up to)\b")
"""Of a time at the end of what a list takes; found on the document of Plaid: "call off the latest bank transfer until Tuesday"."""
_SHORT_PART, _SHORT_OWNER = 3, 4  # words: a longer owner stands after the noun


@dataclass(slots=True, kw_only=True)
class Choice:
    """What a text says of the things that a step returns.

    :param single: whether one thing is meant: it was named, or singled out before.
    :param selective: whether the text says which things are meant.
    """

    single: bool = False
    selective: bool = False


def anaphora(
    frame: ToolFrame,
    edges: tuple[PathEdge, ...],
    frames: Mapping[str, ToolFrame],
    last: str,
    sampler: Sampler,
    chosen: dict[str, Choice],
) -> References:
    """Input → anaphor, for a step that follows the steps that it depends on.

    :param last: the tool of the step before it.
    :param chosen: tool → what the text says of the things that it returns; changed for those that are referred to.
    :raises GenerationError: when nothing singles out the one thing of a list that is meant.
    """
    found: dict[str, str] = {}
    for edge in edges:
        argument = frame.argument(edge.parameter)
        if argument is not None and edge.parameter not in found and edge.source in frames:
            source, state = frames[edge.source], chosen.setdefault(edge.source, Choice())
            near = edge.source == last and not {"it", "them"}.intersection(found.values())
            if argument.many and source.many and frame.verb in _WORDS["undo_verbs"]:
                raise GenerationError("all things of a list would be undone")
            if source.many and not argument.many and not state.single:
                _require_choice(frame, source, state)
            found[edge.parameter] = anaphor(argument, source, sampler, near=near, single=state.single)
            state.single = state.single or (not argument.many and is_same_thing(argument, source))
    return found


def _require_choice(frame: ToolFrame, source: ToolFrame, state: Choice) -> None:
    """Check that one thing of a list can be told from the others: the latest of dated things, the first of selected ones.

    :raises GenerationError: when nothing does, or when the first one that comes would be changed.
    """
    if _is_dated(source.noun):
        return
    if not state.selective:
        raise GenerationError("nothing singles out one thing of the list that a step returns")
    if not (frame.reads or frame.kind == "create" or is_interchangeable(source.noun)):
        raise GenerationError("the first thing of a list would be changed, whatever it is")


def anaphor(argument: Argument, source: ToolFrame, sampler: Sampler, *, near: bool, single: bool = False) -> str:
    """A referring expression for what a step gives to an argument.

    :param near: whether the step stands just before; then it can be ``it``.
    :param single: whether the text states that a list has one thing.
    """
    noun = argument.noun
    if noun is None:
        label = _value_label(argument)
        plural = label.endswith("s") and not label.endswith("ss")
        return sampler.phrase(_TEMPLATES["values" if plural else "value"], label=label)
    same = is_same_thing(argument, source)
    word = sampler.noun(source.noun if source.noun.key.startswith(f"{noun.key} ") else noun)
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
    order = sampler.pick(_TEMPLATES["dated"]) if _is_dated(source.noun) else "first"
    if not same:
        one = sampler.noun(source.noun)
        return sampler.phrase(_TEMPLATES["part_of_one"], word=word, order=order, one=one)
    return sampler.phrase(_TEMPLATES["near_one" if near else "far_one"], word=word, order=order)


def is_interchangeable(noun: Noun) -> bool:
    """Whether any of the things of this noun will do."""
    return noun.key.split()[-1] in _WORDS["interchangeable"]


def _value_label(argument: Argument) -> str:
    """The everyday name of a plain value."""
    return argument.field.label if argument.field is not None else argument.label or "result"


def _is_dated(noun: Noun) -> bool:
    """Whether things of this noun come one after the other, so that one of them is the latest."""
    return noun.key.split()[-1] in _WORDS["dated"]


def is_same_thing(argument: Argument | None, source: ToolFrame) -> bool:
    """Whether an argument takes the thing itself that a tool is about."""
    if argument is None or argument.noun is None:
        return False
    key, other = argument.noun.key, source.noun.key
    is_whole = other in {f"{key} {word}" for word in _WORDS["wholes"]}
    same = key == other or key.endswith(f" {other}") or other.endswith(f" {key}") or other.startswith(f"{key} ")
    return same or is_whole


def descriptions(
    tool: str,
    path: ToolPath,
    frames: Mapping[str, ToolFrame],
    sampler: Sampler,
    skip: str = "",
    *,
    depth: int = _MAX_STEPS,
) -> References:
    """Input → description, of all inputs of a tool that earlier steps fill; those steps are not stated.

    :param skip: a step that is stated, whose outputs are left out.
    :param depth: how many steps, one behind the other, a description may stand for.
    :raises GenerationError: when a description would stand for more steps, or have too many words.
    """
    found: dict[str, str] = {}
    for edge in path.into(tool):
        argument = frames[tool].argument(edge.parameter)
        if argument is None or edge.parameter in found or edge.source == skip:
            continue
        if argument.many and frames[edge.source].many and frames[tool].verb in _WORDS["undo_verbs"]:
            raise GenerationError("all things of a list would be undone")
        if depth == 0:
            raise GenerationError("too many steps stand one behind the other for one description")
        references = descriptions(edge.source, path, frames, sampler, depth=depth - 1)
        text = _description(argument, frames[edge.source], edge.output, references, sampler)
        if not frames[tool].reads and frames[tool].is_general and _LASTS.search(text):
            raise GenerationError("until when a step looks would be read as until when the action lasts")
        if len(text.split()) > _MAX_WORDS:
            raise GenerationError("the description of what the steps look up is too long")
        found[edge.parameter] = text
    return found


def clause_by_name(
    argument: Argument, frame: ToolFrame, output: str, references: References, sampler: Sampler
) -> Clause | None:
    """The clause of a list of which one thing is meant by the name that stands beside its identifier; None where none is.

    The input takes the identifier only, so the list is needed for it. A list that takes a name says so in its own words.
    """
    kind = kind_of_name(frame.noun.key)
    if not frame.many or output not in frame.beside_names or kind in _NO_NAMES or argument.many or argument.or_name:
        return None
    takes_name = any(one.role != "id" and one.label in ("name", "title") for one in frame.arguments)
    if takes_name or _is_dated(frame.noun) or not is_same_thing(argument, frame):
        return None
    needed = tuple(one for one in frame.arguments if one.required or not references.keys().isdisjoint(one.names))
    clause = clause_of(replace(frame, arguments=needed), references, sampler, short=True)
    return replace(clause, name=sampler.thing_name(kind))


def _description(argument: Argument, frame: ToolFrame, output: str, references: References, sampler: Sampler) -> str:
    word = _value_label(argument) if argument.noun is None else sampler.noun(argument.noun)
    if frame.own and not frame.many:
        if argument.noun is None or not argument.noun.person:
            raise GenerationError(
                "a step before the last reads the asker's only thing of a kind, which nobody looks up"
            )
        return "me"
    if frame.many:
        named = clause_by_name(argument, frame, output, references, sampler)
        return _one_of_list(argument, named or clause_of(frame, references, sampler, short=True), word)
    if frame.kind == "get":
        return _result(argument, clause_of(frame, references, sampler, minimal=True), word)
    raise GenerationError("a step before the last changes something, which the text must state")


def _one_of_list(argument: Argument, clause: Clause, word: str) -> str:
    """One thing of a list, or all of them."""
    frame, noun, sampler = clause.frame, clause.frame.noun, clause.sampler
    same = is_same_thing(argument, frame)
    tail = f"{clause.whose}{clause.tail}"
    if clause.name:
        one, tail = sampler.noun(noun), _singular(tail)
        # Of "remove customer-cache" two readers of a catalogue of vendors could not tell what it is.
        is_bare = not frame.is_general and (noun.person or noun.pool in _WORDS["personal_pools"])
        named = f"{clause.name if is_bare else f'the {one} {clause.name}'}{tail}"
        return named if same or argument.noun is None else _part(word, named, argument, sampler)
    if argument.many and same:
        if noun.person and clause.owner and clause.preposition == "on":
            return f"everyone on {clause.owner}{clause.tail}"
        things = sampler.noun(noun, many=True)
        return f"{sampler.pick(_TEMPLATES['all'])} {things}{tail}"
    one = _chosen_one(frame, _singular(tail), sampler, clause)
    return one if same else _part(word, one, argument, sampler)


def _chosen_one(frame: ToolFrame, tail: str, sampler: Sampler, clause: Clause) -> str:
    """One of several things: the latest of dated ones, any of interchangeable ones that something selects."""
    noun, one = frame.noun, sampler.noun(frame.noun)
    if noun.uncountable:
        return f"the {one}{tail}"
    slots = {"one": one, "a_one": article(one), "tail": tail}
    if _is_dated(noun):
        if not (clause.selective or clause.narrowed):
            raise GenerationError("the latest of all things of a kind is whoever's it is")
        return sampler.phrase(_TEMPLATES["latest_selected"], order=sampler.pick(_TEMPLATES["dated"]), **slots)
    if not is_interchangeable(noun) or not clause.selective:
        raise GenerationError("nothing selects the one of several that a step before the last is to give")
    return sampler.phrase(_TEMPLATES["any"], **slots)


def _part(word: str, thing: str, argument: Argument, sampler: Sampler) -> str:
    """A part of a thing, or its person: ``the vendor on bill 5105``, ``the person behind it``, ``Jan's pay``."""
    if argument.noun is not None and argument.noun.person:
        return sampler.phrase(_TEMPLATES["person_of"], word=word, thing=thing)
    short = len(thing.split()) <= _SHORT_PART and not thing.startswith(("a ", "an "))
    if short and sampler.chance(0.4):
        return f"{possessive(thing)} {word}"
    return sampler.phrase(_TEMPLATES["part_of"], word=word, thing=thing)


def _result(argument: Argument, clause: Clause, word: str) -> str:
    """What a step returns that reads one thing."""
    frame, owner, sampler = clause.frame, clause.owner, clause.sampler
    same = is_same_thing(argument, frame)
    for_person = argument.noun is not None and argument.noun.person
    if frame.noun.person and owner and not clause.identity and (same or for_person):
        role = sampler.noun(frame.noun)
        short = len(owner.split()) <= _SHORT_OWNER
        return f"{f'{possessive(owner)} {role}' if short else f'the {role} of {owner}'}{clause.tail}"
    if same and clause.identity:
        raise GenerationError("a step before the last only returns the number that is stated, so nothing needs it")
    thing = f"{clause.identity}{clause.whose}" if clause.identity else owner
    if not thing:
        raise GenerationError("nothing says which thing a step before the last looks up")
    if same:
        return f"the {word}{clause.whose}{clause.tail}"
    return f"{_part(word, thing, argument, sampler)}{clause.tail}"


def _singular(tail: str) -> str:
    return tail.replace(" that are ", " that is ").replace(" that have ", " that has ")
