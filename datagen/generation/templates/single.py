"""Single-intent: one request, no steps, no conditions."""

from __future__ import annotations

from datagen.generation.realisation import realise
from datagen.generation.style import finish, sentence_of
from datagen.generation.template_context import TemplateContext
from datagen.generation.tool_frame import GenerationError

__all__ = ["generate"]


def generate(context: TemplateContext) -> str:
    """One request.

    :raises GenerationError: when the path has several tools.
    """
    if len(context.path.tools) > 1:
        raise GenerationError("a single request needs one tool, and the path has several")
    sampler = context.sampler
    return finish(sentence_of(realise(context.steps[0], {}, sampler), sampler), sampler)
