"""Explicit multi-step: steps that depend on each other, in a stated order."""

from __future__ import annotations

from datagen.generation.coreference import Choice, anaphora
from datagen.generation.data_files import fill, templates
from datagen.generation.grammar import joined
from datagen.generation.realisation import realise
from datagen.generation.sampler import Sampler
from datagen.generation.style import finish
from datagen.generation.template_context import TemplateContext
from datagen.generation.tool_frame import GenerationError, ToolFrame

__all__ = ["generate"]

_TEMPLATES = templates("explicit")
_MAX_SLOTS = 3  # steps that the templates have a place for
_IN_SENTENCES = 0.2
"""How likely the second of two steps has a sentence of its own."""


def generate(context: TemplateContext) -> str:
    """All steps in their order: what is found or seen first, and the aim, which takes it.

    :raises GenerationError: when the steps do not depend on each other, or when nobody would say one of them.
    """
    context.require_dependence()
    context.require_aim()
    context.require_news()
    context.require_told_steps()
    context.require_one_number()
    sampler, steps = context.sampler, context.steps
    orders: list[str] = []
    last = ""
    chosen: dict[str, Choice] = {}
    for step in steps:
        references = anaphora(step, context.into(step.tool), context.frames, last, sampler, chosen)
        minimal = not (step.many and step is steps[0])
        realisation = realise(
            step, references, sampler, minimal=minimal, verbs=_verbs(step, feeds=step is not steps[-1])
        )
        if step.many and not realisation.narrowed:
            raise GenerationError("a step lists all things of a kind, and nobody takes one of those")
        chosen[step.tool] = Choice(single=realisation.named, selective=realisation.selective)
        orders.append(realisation.order)
        last = step.tool if len(steps) <= _MAX_SLOTS else steps[0].tool  # what all steps of a long fork mean is near
    return finish(_joined(orders, sampler), sampler)


def _verbs(step: ToolFrame, *, feeds: bool) -> str:
    """The name of the verb phrases of a step that only reads: nobody says that they check or open something on the way."""
    if not step.reads or step.asks_existence:
        return ""
    if not feeds:
        return "list last" if step.many else "get last"
    return "find first" if step.kind == "search" else "list first" if step.many else "get first"


def _joined(orders: list[str], sampler: Sampler) -> str:
    """The steps in one sentence, or the second of two in a sentence of its own."""
    start = sampler.pick(_TEMPLATES["starts"])
    if len(orders) > _MAX_SLOTS:
        text = joined([fill(start, do=orders[0]), *orders[1:]])
        return f"{text}?" if "you" in start else text
    kind = (
        "three" if len(orders) > 2 else "sentences" if sampler.chance(_IN_SENTENCES) and "you" not in start else "two"
    )
    text = sampler.phrase(_TEMPLATES[kind], one=fill(start, do=orders[0]), two=orders[1], last=orders[-1])
    return f"{text}?" if "you" in start else text
