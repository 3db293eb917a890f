"""Conditional multi-step: a condition on the result of a step, and what is to be done when it holds."""

from __future__ import annotations

from datagen.generation.anaphora import anaphor
from datagen.generation.conditions import condition_of
from datagen.generation.data_files import templates
from datagen.generation.descriptions import descriptions
from datagen.generation.grammar import joined
from datagen.generation.phrases import References
from datagen.generation.realisation import realise
from datagen.generation.style import finish
from datagen.generation.template_context import TemplateContext
from datagen.generation.tool_frame import GenerationError, ToolFrame

__all__ = ["generate"]

_TEMPLATES = templates("conditional")


def generate(context: TemplateContext) -> str:
    """The condition and the goals.

    :raises GenerationError: when the steps do not depend on each other, or none before the goals has a result to test.
    """
    context.require_dependence()
    sampler, path, frames = context.sampler, context.path, context.frames
    tested = _tested_step(context)
    references = descriptions(tested.tool, path, frames, sampler, depth=1)
    single = tested.many and not _takes_all(context, tested)
    condition = condition_of(tested, references, sampler, single=single)
    orders: list[str] = []
    for goal in context.goals:
        references = {
            **descriptions(goal.tool, path, frames, sampler, skip=tested.tool, depth=1),
            **_anaphora(context, goal, tested, near=not orders, single=single),
        }
        minimal = len(context.steps) > 2 or sampler.chance(0.8)
        orders.append(realise(goal, references, sampler, minimal=minimal).order)
    text = sampler.phrase(_TEMPLATES["orders"], condition=condition, do=joined(orders))
    if sampler.chance(0.18) and not text.endswith("?"):
        text = f"{text}.{sampler.pick(_TEMPLATES['otherwise'])}"
    return finish(text, sampler)


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
