"""Explicit multi-step: steps that depend on each other, in a stated order."""

from __future__ import annotations

from datagen.generation.coreference import Choice, anaphora
from datagen.generation.data_files import fill, templates
from datagen.generation.grammar import gerund, lowered
from datagen.generation.realisation import realise
from datagen.generation.sampler import Sampler
from datagen.generation.style import finish
from datagen.generation.template_context import TemplateContext

__all__ = ["generate"]

_TEMPLATES = templates("explicit")


def generate(context: TemplateContext) -> str:
    """All steps in their order.

    :raises GenerationError: when the steps do not depend on each other.
    """
    context.require_dependence()
    context.require_aim()
    context.require_news()
    sampler, steps = context.sampler, context.steps
    orders: list[str] = []
    last = ""
    chosen: dict[str, Choice] = {}
    for step in steps:
        references = anaphora(step, context.into(step.tool), context.frames, last, sampler, chosen)
        realisation = realise(step, references, sampler, minimal=not step.many or step is steps[-1])
        chosen[step.tool] = Choice(single=realisation.named, selective=realisation.selective)
        orders.append(realisation.order)
        last = step.tool
    if len(orders) == 2 and sampler.chance(0.25):
        text = sampler.phrase(_TEMPLATES["reversed"], doing=gerund(orders[0]), do=orders[1])
    else:
        text = _in_order(orders, sampler)
    return finish(text, sampler)


def _in_order(orders: list[str], sampler: Sampler) -> str:
    """Each step in a sentence of its own, or all in one."""
    start = sampler.pick(_TEMPLATES["starts"])
    first = fill(start, do=orders[0], doing=gerund(orders[0]))
    if sampler.chance(0.55):
        return _in_one_sentence(first, orders[1:], sampler)
    text = f"{first}."
    for order in orders[1:]:
        text = f"{text} {sampler.phrase(_TEMPLATES['next_sentence'], do=lowered(order))}"
    return text


def _in_one_sentence(text: str, orders: list[str], sampler: Sampler) -> str:
    for at, order in enumerate(orders):
        pattern = sampler.pick(_TEMPLATES["last_clause" if at == len(orders) - 1 else "next_clause"])
        comma = "," if not pattern.startswith("and then") or sampler.chance(0.5) else ""
        text = f"{text}{comma} {fill(pattern, do=order)}"
    return text
