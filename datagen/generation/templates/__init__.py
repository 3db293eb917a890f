"""The templates of the six classes of requests: each module has ``generate``, from a context to the text of a request.

A class for which a path has no text raises :class:`~datagen.generation.tool_frame.GenerationError`.
"""

from collections.abc import Callable, Mapping

from datagen.generation.template_context import TemplateContext
from datagen.generation.templates import conditional, explicit, implicit, knowledge, multi, single

__all__ = ["TEMPLATES"]

TEMPLATES: Mapping[str, Callable[[TemplateContext], str]] = {
    "single-intent": single.generate,
    "multi-intent": multi.generate,
    "explicit-multi-step": explicit.generate,
    "implicit-multi-step": implicit.generate,
    "conditional-multi-step": conditional.generate,
    "ir-multi-intent": knowledge.generate,
}
"""Class → the function that generates its text."""
