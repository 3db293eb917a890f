"""Conditional multi-step: a condition on the result of a step, and what is to be done when it holds."""

from __future__ import annotations

from collections.abc import Sequence

from datagen.generation.clause import Clause, clause_of
from datagen.generation.condition_outputs import ConditionOutput
from datagen.generation.coreference import anaphor, descriptions
from datagen.generation.data_files import templates
from datagen.generation.grammar import article, joined
from datagen.generation.phrases import References
from datagen.generation.realisation import indefinite, realise
from datagen.generation.sampler import Sampler, draw
from datagen.generation.style import finish
from datagen.generation.template_context import TemplateContext
from datagen.generation.tool_frame import GenerationError, ToolFrame

__all__ = ["generate"]

_TEMPLATES = templates("conditional")
_MAX_GOALS = 2
_VALUE_KINDS = {"money": "money", "rate": "rating", "count": "few"}
"""Kind of output → kind of the value that it is compared with."""


def generate(context: TemplateContext) -> str:
    """The condition and the goals.

    :raises GenerationError: when the steps do not depend on each other, or none before the goals has a result to test.
    """
    context.require_dependence()
    sampler, path, frames = context.sampler, context.path, context.frames
    tested = _tested_step(context)
    context.require_aim()
    references = descriptions(tested.tool, path, frames, sampler, depth=0)
    single = tested.many and not _takes_all(context, tested)
    condition = _condition(tested, references, sampler, single=single)
    _require_consequence(context.goals, tested)
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


def _require_consequence(goals: Sequence[ToolFrame], tested: ToolFrame) -> None:
    """Check that what is to be done follows from the condition: one change of the thing, and what is made or read beside it.

    :raises GenerationError: when nobody would ask for it.
    """
    if tested.many and all(goal.reads and goal.noun.key == tested.noun.key for goal in goals):
        raise GenerationError("what exists would only be looked at again")
    if len(goals) > _MAX_GOALS or sum(goal.kind in ("act", "update") for goal in goals) > 1:
        raise GenerationError("one condition would lead to several changes")


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


def _condition(frame: ToolFrame, references: References, sampler: Sampler, *, single: bool = False) -> str:
    """A condition on the result of a tool, as a clause without ``if``.

    :param single: of a list, that there is one thing; else that there are some.
    """
    clause = clause_of(frame, references, sampler, minimal=frame.kind == "get", short=True)
    if not clause.selective:
        raise GenerationError("the condition would be on any thing at all")
    if frame.many:
        return _one_exists(clause) if single else _some_exist(clause)
    word = clause.noun()
    if clause.identity:
        subject = f"{clause.identity}{clause.whose}"
    else:
        subject = f"my {word}" if frame.own and not clause.owner else f"the {word}{clause.whose}"
    tests = [test for output in frame.outputs for test in _tests(output, subject, sampler)]
    if not tests:
        raise GenerationError("the step before the goal returns nothing that a condition can test")
    condition = sampler.pick(tests)
    return f"{condition}{clause.tail}"


def _tests(output: ConditionOutput, subject: str, sampler: Sampler) -> list[str]:
    """Tests of one output of a thing."""
    label = output.label
    if output.kind == "state":
        if not output.choices:
            return []
        state = sampler.pick(output.choices)
        return [f"{subject} is {state}", f"{subject} isn't {state} yet"]
    if output.kind == "flag":
        return [f"{subject} is {label}", f"{subject} isn't {label}"]
    if output.kind == "date":
        date = sampler.dates.date()
        if label.split()[-1] in ("until", "to"):
            return [f"{subject} runs out before {date}", f"{subject} is good until at least {date}"]
        return [f"the {label} of {subject} is {sampler.pick(_TEMPLATES['date_comparisons'])} {date}"]
    value = draw(_VALUE_KINDS[output.kind], sampler.rng, sampler.lexicon)
    if output.kind == "rate" and "percent" in output.name.lower():
        value = draw("percent", sampler.rng, sampler.lexicon)
    return [f"the {label} of {subject} {sampler.pick(_TEMPLATES['comparisons'])} {value}"]


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
