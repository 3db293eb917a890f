"""Conditional multi-step: a condition on the result of a step, and what is to be done when it holds."""

from __future__ import annotations

from collections.abc import Sequence

from datagen.generation.action_verbs import action_verbs
from datagen.generation.clause import Clause, clause_of
from datagen.generation.condition_clauses import condition_clauses
from datagen.generation.coreference import anaphor, clause_by_name, descriptions, is_interchangeable, is_same_thing
from datagen.generation.data_files import templates, word_classes
from datagen.generation.grammar import article, joined
from datagen.generation.phrases import References
from datagen.generation.realisation import indefinite, realise
from datagen.generation.style import finish
from datagen.generation.template_context import TemplateContext
from datagen.generation.tool_frame import GenerationError, ToolFrame

__all__ = ["generate"]

_TEMPLATES = templates("conditional")
_REMOVING = word_classes("condition_clauses")["removing"]
_MAX_GOALS = 2
_CONDITION_LAST = 0.35
"""How likely a condition stands behind what is to be done, where one thing is tested and changed. Chosen, not measured."""


def generate(context: TemplateContext) -> str:
    """The condition and the goals.

    :raises GenerationError: when the steps do not depend on each other, none before the goals has a result to test, or
        nobody would make what is to be done depend on it.
    """
    context.require_dependence()
    sampler, path, frames = context.sampler, context.path, context.frames
    tested = _tested_step(context)
    context.require_aim()
    references = descriptions(tested.tool, path, frames, sampler, depth=0)
    single = tested.many and not _takes_all(context, tested)
    clause = _named(context, tested, references) if single else None
    clause = clause or clause_of(tested, references, sampler, minimal=tested.kind == "get", short=True)
    _require_consequence(context.goals, tested, named=bool(clause.name))
    if single and not clause.name:
        _require_few(context.goals, clause)
    for goal in context.goals:
        _require_one_thing(context, goal, tested)
    if _is_turned(context, clause):
        return finish(_condition_last(context, clause), sampler)
    condition = _condition(clause, context.goals, single=single)
    orders: list[str] = []
    for goal in context.goals:
        references = {
            **descriptions(goal.tool, path, frames, sampler, skip=tested.tool, depth=0),
            **_anaphora(context, goal, tested, near=not orders, single=single),
        }
        orders.append(realise(goal, references, sampler, minimal=True).order)
    text = sampler.phrase(_TEMPLATES["orders"], condition=condition, do=joined(orders))
    if sampler.chance(0.18) and not text.endswith("?"):
        text = f"{text}.{sampler.pick(_TEMPLATES['otherwise'])}"
    return finish(text, sampler)


def _named(context: TemplateContext, tested: ToolFrame, references: References) -> Clause | None:
    """The clause of a list that is tested for a thing of a name; None where it gives no names."""
    for goal in context.goals:
        for edge in context.into(goal.tool):
            argument = goal.argument(edge.parameter)
            if edge.source == tested.tool and argument is not None:
                return clause_by_name(argument, tested, edge.output, references, context.sampler)
    return None


def _require_consequence(goals: Sequence[ToolFrame], tested: ToolFrame, *, named: bool) -> None:
    """Check that what is to be done follows from the condition: one change of the thing, and what is made beside it.

    What is only read depends on whether a thing of a name is there, and on nothing else. In the fourth round 15 of 17 texts
    of vendors showed something under a condition, and at least one reader would not have typed 12 of them.

    :raises GenerationError: when nobody would ask for it.
    """
    if tested.many and all(goal.reads and goal.noun.key == tested.noun.key for goal in goals):
        raise GenerationError("what exists would only be looked at again")
    if len(goals) > _MAX_GOALS or sum(goal.kind in ("act", "update") for goal in goals) > 1:
        raise GenerationError("one condition would lead to several changes")
    if any(goal.reads for goal in goals) and not (tested.many and named):
        raise GenerationError("nobody makes it depend on this whether they look at something")
    if tested.is_general and not tested.many and any(goal.kind == "update" for goal in goals):
        raise GenerationError("a new value does not follow from a state of the thing")
    back = tested.owner_noun.key if tested.owner_noun is not None else ""
    if any(goal.noun.key == back for goal in goals):
        raise GenerationError("what is to be done leads back to what is named in the condition")


def _require_few(goals: Sequence[ToolFrame], clause: Clause) -> None:
    """Check that "there is one" can mean one thing: a part of a thing, which no goal finds without that, or one of which any will do.

    An order for a sales channel is one of thousands, found in the third round on the documents of VTEX, and so is a network
    of an organisation, in the fourth on those of Meraki; a cluster has few profiles, and nobody can name one without it. In the
    company, whose lexicon knows which values select, the readers objected to 7 of 300.

    :raises GenerationError: when it is one of any number.
    """
    frame = clause.frame
    if not frame.is_general or is_interchangeable(frame.noun):
        return
    owner = frame.owner_noun if frame.owner is not None and frame.owner.required and clause.owner else None
    held = owner is not None and all(
        any(one.required and one.noun is not None and one.noun.key == owner.key for one in goal.arguments)
        for goal in goals
    )
    if not held or any(goal.identity is None for goal in goals):
        raise GenerationError("the condition would hold for any number of things")


def _require_one_thing(context: TemplateContext, goal: ToolFrame, tested: ToolFrame) -> None:
    """Check that a goal needs no identifier of a further thing that is there already: device 2707 of the network that is found.

    :raises GenerationError: when it does.
    """
    filled = {edge.parameter for edge in context.into(goal.tool)}
    known = {one.noun.key for one in tested.arguments if one.role == "id" and one.required and one.noun is not None}
    open_ids = [
        one
        for one in goal.arguments
        if one.role == "id" and one.required and one.noun is not None and filled.isdisjoint(one.names)
    ]
    further = [one for one in open_ids if one.noun is not None and one.noun.key not in known]
    if not further or goal.kind == "create" or goal.verb in action_verbs().pairs:
        return
    if goal.identity in further or goal.owner in further or goal.reads:
        raise GenerationError("it takes the number of a further thing, of which the condition says nothing")


def _is_turned(context: TemplateContext, clause: Clause) -> bool:
    """Whether the condition stands last, by chance: where one thing is removed if it is there, or changed for its state."""
    if len(context.goals) != 1 or not (clause.name or clause.identity) or not context.sampler.chance(_CONDITION_LAST):
        return False
    goal, tested = context.goals[0], clause.frame
    if tested.noun.person or (tested.many and goal.verb not in _REMOVING):
        return False
    filled = [goal.argument(edge.parameter) for edge in context.into(goal.tool)]
    return len(filled) == 1 and filled[0] is goal.identity and is_same_thing(goal.identity, tested)


def _condition_last(context: TemplateContext, clause: Clause) -> str:
    """``delete the volume archive-2 if there is one``, ``cancel order 4500123 if it isn't shipped yet``."""
    goal, sampler = context.goals[0], context.sampler
    if clause.frame.many:
        thing = f"the {clause.noun()} {clause.name}{clause.whose}{clause.tail}"
        condition = sampler.pick(_TEMPLATES["still_there"])
    else:
        thing = f"{clause.identity}{clause.whose}{clause.tail}"
        condition = _state_of("it", clause, context.goals).replace("it is ", "it's ")
    parameter = next(edge.parameter for edge in context.into(goal.tool))
    order = realise(goal, {parameter: thing}, sampler, minimal=True).order
    return sampler.phrase(_TEMPLATES["orders_first"], condition=condition, do=order)


def _tested_step(context: TemplateContext) -> ToolFrame:
    """The step that the condition is on: the last one that feeds a goal and only reads."""
    goals = {goal.tool for goal in context.goals}
    sources = {edge.source for edge in context.path.edges if edge.kind == "R-P" and edge.target in goals}
    able = [step for step in context.steps if step.tool in sources and step.reads]
    if not able:
        raise GenerationError("no step before the last has a result that a condition could test")
    return able[-1]


def _takes_all(context: TemplateContext, tested: ToolFrame) -> bool:
    """Whether a goal takes the whole list that the tested step returns."""
    pairs = ((goal.argument(edge.parameter), edge) for goal in context.goals for edge in context.into(goal.tool))
    return any(argument is not None and argument.many for argument, edge in pairs if edge.source == tested.tool)


def _anaphora(context: TemplateContext, goal: ToolFrame, tested: ToolFrame, *, near: bool, single: bool) -> References:
    found: dict[str, str] = {}
    for edge in context.into(goal.tool):
        argument = goal.argument(edge.parameter)
        if edge.source == tested.tool and argument is not None:
            is_near = near and not found
            found[edge.parameter] = anaphor(argument, tested, context.sampler, near=is_near, single=single)
    return found


def _condition(clause: Clause, goals: Sequence[ToolFrame], *, single: bool = False) -> str:
    """A condition on the result of a tool, as a clause without ``if``.

    :param single: of a list, that there is one thing; else that there are some.
    """
    if not clause.selective:
        raise GenerationError("the condition would be on any thing at all")
    frame = clause.frame
    if frame.many:
        return _one_exists(clause) if single else _some_exist(clause)
    word = clause.noun()
    if clause.identity:
        subject = f"{clause.identity}{clause.whose}"
    else:
        subject = f"my {word}" if frame.own and not clause.owner else f"the {word}{clause.whose}"
    if frame.is_general:  # its values say which thing it is, no period
        return _state_of(f"{subject}{clause.tail}", clause, goals)
    return f"{_state_of(subject, clause, goals)}{clause.tail}"


def _state_of(subject: str, clause: Clause, goals: Sequence[ToolFrame]) -> str:
    """A test of what a step returns of one thing."""
    frame, sampler = clause.frame, clause.sampler
    verbs = [goal.verb for goal in goals]
    found = [
        test
        for output in frame.outputs
        for test in condition_clauses(
            output, subject, verbs, sampler, is_general=frame.is_general, thing=frame.noun.key.split()
        )
    ]
    if not found:
        raise GenerationError("the step before the goal returns nothing that a condition can test")
    return sampler.pick(found)


def _one_exists(clause: Clause) -> str:
    """There is one, which ``it`` can refer to."""
    noun, word = clause.frame.noun, clause.noun()
    tail = f"{clause.whose}{clause.tail}"
    if clause.name:
        things = clause.sampler.noun(noun, many=True)
        slots = {"a_thing": article(word), "things": things, "name": clause.name, "tail": tail}
        return clause.sampler.phrase(_TEMPLATES["named_person" if noun.person else "named_thing"], **slots)
    one = f"{indefinite(noun, word)}{tail}".replace(" that are ", " that is ")
    return clause.sampler.phrase(_TEMPLATES["one"], one=one)


def _some_exist(clause: Clause) -> str:
    things = f"{clause.noun(many=True)}{clause.whose}{clause.tail}"
    if clause.frame.noun.mass:
        return clause.sampler.phrase(_TEMPLATES["some_mass"], things=things)
    return clause.sampler.phrase(_TEMPLATES["some"], things=things)
