"""Coreference: referring expressions for what an earlier step gives to a later one.

An anaphor points back to a stated step ("the first one", "that vendor"). A description stands for a step that is not
stated ("the vendor behind bill 5105600211").
"""

from __future__ import annotations

from collections.abc import Mapping

from datagen.generation.arguments import Argument
from datagen.generation.clause import Clause, clause_of
from datagen.generation.data_files import templates, word_classes
from datagen.generation.grammar import article, possessive
from datagen.generation.lexicon import Noun
from datagen.generation.phrases import References
from datagen.generation.sampler import Sampler
from datagen.generation.tool_frame import GenerationError, ToolFrame
from datagen.tool_path import PathEdge, ToolPath

__all__ = ["anaphor", "anaphora", "descriptions"]

_WORDS = word_classes("coreference")
_TEMPLATES = templates("coreference")
_MAX_STEPS = 2
"""At most so many steps, one behind the other, stand in one description."""
_MAX_WORDS = 13
_SHORT_PART, _SHORT_OWNER = 3, 4  # words: a longer owner stands after the noun


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
    :param single: whether the text states that a list has one thing.
    """
    noun = argument.noun
    if noun is None:
        label = _value_label(argument)
        plural = label.endswith("s") and not label.endswith("ss")
        return sampler.phrase(_TEMPLATES["values" if plural else "value"], label=label)
    same, word = _is_same_thing(argument, source), sampler.noun(noun)
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
    order = sampler.pick(_TEMPLATES["dated"]) if _is_dated(source.noun) else "first"
    that_one = "that person" if source.noun.person else "that one"
    return sampler.phrase(_TEMPLATES["near_one" if near else "far_one"], word=word, order=order, that_one=that_one)


def _value_label(argument: Argument) -> str:
    """The everyday name of a plain value."""
    return argument.field.label if argument.field is not None else argument.label or "result"


def _is_dated(noun: Noun) -> bool:
    """Whether things of this noun come one after the other, so that one of them is the latest."""
    return noun.key.split()[-1] in _WORDS["dated"]


def _is_same_thing(argument: Argument, source: ToolFrame) -> bool:
    """Whether an argument takes the thing itself that a tool is about."""
    if argument.noun is None:
        return False
    key, other = argument.noun.key, source.noun.key
    is_whole = other in {f"{key} {word}" for word in _WORDS["wholes"]}
    return key == other or key.endswith(f" {other}") or other.endswith(f" {key}") or is_whole


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
        if depth == 0:
            raise GenerationError("too many steps stand one behind the other for one description")
        undone = frames[tool].reads or frames[tool].verb in _WORDS["undo_verbs"]
        if frames[edge.source].kind == "create" and undone:
            raise GenerationError("what a step before the last makes would only be looked at, or undone")
        references = descriptions(edge.source, path, frames, sampler, depth=depth - 1)
        text = _description(argument, frames[edge.source], references, sampler)
        if len(text.split()) > _MAX_WORDS:
            raise GenerationError("the description of what the steps look up is too long")
        found[edge.parameter] = text
    return found


def _description(argument: Argument, frame: ToolFrame, references: References, sampler: Sampler) -> str:
    word = _value_label(argument) if argument.noun is None else sampler.noun(argument.noun)
    if frame.own and not frame.many:
        return "me" if argument.noun is not None and argument.noun.person else f"my {word}"
    if frame.many:
        return _one_of_list(argument, clause_of(frame, references, sampler, short=True), word)
    if frame.kind == "get":
        return _result(argument, clause_of(frame, references, sampler, minimal=True), word)
    if frame.kind == "create":
        return _new_thing(clause_of(frame, references, sampler, minimal=True))
    raise GenerationError("a step before the last changes something, which the text must state")


def _new_thing(clause: Clause) -> str:
    """What a step makes: ``a new trip for Jan``."""
    noun, word = clause.frame.noun, clause.noun()
    preposition = "for" if clause.preposition == "of" else clause.preposition
    whose = f" {preposition} {clause.owner}" if clause.owner else ""
    made = word if noun.uncountable else article(f"{clause.sampler.pick(_TEMPLATES['new'])} {word}")
    return f"{made}{whose}{clause.tail}"


def _one_of_list(argument: Argument, clause: Clause, word: str) -> str:
    """One thing of a list, or all of them."""
    frame, noun, sampler = clause.frame, clause.frame.noun, clause.sampler
    same = _is_same_thing(argument, frame)
    tail = f"{clause.whose}{clause.tail}"
    if clause.name:
        one, tail = sampler.noun(noun), _singular(tail)
        is_bare = noun.pool in _WORDS["personal_pools"] or sampler.chance(0.3)
        named = f"{clause.name if is_bare else f'the {one} {clause.name}'}{tail}"
        return named if same or argument.noun is None else _part(word, named, argument, sampler)
    if argument.many and same:
        if noun.person and clause.owner and clause.preposition == "on":
            return f"everyone on {clause.owner}{clause.tail}"
        things = sampler.noun(noun, many=True)
        return f"{sampler.pick(_TEMPLATES['all'])} {things}{tail}"
    one = _chosen_one(frame, _singular(tail), sampler)
    return one if same else _part(word, one, argument, sampler)


def _chosen_one(frame: ToolFrame, tail: str, sampler: Sampler) -> str:
    """One of several things: the latest of dated ones, any of interchangeable ones, else the one that fits the tail."""
    noun, one = frame.noun, sampler.noun(frame.noun)
    if noun.uncountable:
        return f"the {one}{tail}"
    slots = {"one": one, "a_one": article(one), "tail": tail}
    if _is_dated(noun):
        kind = "latest_selected" if tail else "latest"
        return sampler.phrase(_TEMPLATES[kind], order=sampler.pick(_TEMPLATES["dated"]), **slots)
    interchangeable = noun.key.split()[-1] in _WORDS["interchangeable"]
    if not interchangeable and not tail:
        raise GenerationError("nothing selects the one of several that a step before the last is to give")
    many = sampler.noun(noun, many=True)
    return sampler.phrase(_TEMPLATES["any" if interchangeable else "selected"], many=many, **slots)


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
    same = _is_same_thing(argument, frame)
    for_person = argument.noun is not None and argument.noun.person
    if frame.noun.person and owner and not clause.identity and (same or for_person):
        role = sampler.noun(frame.noun)
        short = len(owner.split()) <= _SHORT_OWNER
        return f"{f'{possessive(owner)} {role}' if short else f'the {role} of {owner}'}{clause.tail}"
    if same and clause.identity:
        raise GenerationError("a step before the last only returns the number that is stated, so nothing needs it")
    thing = f"{clause.identity}{clause.whose}" if clause.identity else owner
    if not thing:
        read = clause.noun()
        return f"{f'the {read}' if same else f'the {word} of the {read}'}{clause.tail}"
    if same:
        return f"the {word}{clause.whose}{clause.tail}"
    return f"{_part(word, thing, argument, sampler)}{clause.tail}"


def _singular(tail: str) -> str:
    return tail.replace(" that are ", " that is ")
