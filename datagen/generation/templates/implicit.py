"""Implicit multi-step: the text states the goal; descriptions stand for the steps that look something up for it."""

from __future__ import annotations

from datagen.generation.coreference import descriptions
from datagen.generation.realisation import realise
from datagen.generation.style import finish, sentence_of
from datagen.generation.template_context import TemplateContext
from datagen.generation.tool_frame import GenerationError

__all__ = ["generate"]

_MAX_WORDS = 32


def generate(context: TemplateContext) -> str:
    """The goal.

    :raises GenerationError: when the steps do not depend on each other, have several goals, or make a long sentence.
    """
    context.require_dependence()
    context.require_few()
    if len(context.goals) != 1:
        raise GenerationError("its steps have several goals, and a sentence without 'and' can state one")
    goal, sampler = context.goals[0], context.sampler
    context.require_needed(goal)
    references = descriptions(goal.tool, context.path, context.frames, sampler)
    realisation = realise(goal, references, sampler, minimal=True)
    text = finish(sentence_of(realisation, sampler, plain=True), sampler, plain=True)
    if len(text.split()) > _MAX_WORDS:
        raise GenerationError("the description of what the steps look up is too long")
    return text
