"""Information retrieval + multi-intent: a question of general knowledge beside a personal request."""

from __future__ import annotations

import re

from datagen.generation.coreference import descriptions
from datagen.generation.data_files import fill, templates, word_classes
from datagen.generation.grammar import article, capital, gerund, sentence_end
from datagen.generation.realisation import realise
from datagen.generation.sampler import Sampler
from datagen.generation.style import SPEAKER, finish, with_names
from datagen.generation.template_context import TemplateContext
from datagen.generation.tool_frame import GenerationError, ToolFrame

__all__ = ["generate"]

_TEMPLATES = templates("knowledge")
_WORDS = word_classes("knowledge")
_MAX_TOOLS = 3
_MAX_WORDS = 2  # of a thing that people ask about
_FIRST_PERSON = re.compile(r"\b(?:I|I'm|I'd|I've|my|me|mine|myself)\b")


def generate(context: TemplateContext) -> str:
    """The question, then the personal requests."""
    context.require_one_subject()
    sampler, steps = context.sampler, context.steps
    if len(steps) > _MAX_TOOLS:
        raise GenerationError("a question stands beside so many requests")
    known = next((step for step in steps if step.noun.general_knowledge), None)
    if known is None and len(steps) > 1:
        context.require_dependence()
    question = _question_for(known, sampler) if known is not None else _definition(steps[0], sampler)
    sources = {edge.source for edge in context.path.edges if edge.kind == "R-P"}
    rest = [step for step in steps if step is not known and step.tool not in sources]
    if not rest and known is None:
        rest = [steps[-1]]
    personal = [_personal(context, step) for step in rest]
    text = f"{with_names(question, sampler)}?"
    for sentence in personal:
        following = sampler.phrase(_TEMPLATES["joiners"], sentence=sentence)
        text = f"{text}{sentence_end(text)} {capital(following)}"
    return finish(text, sampler)


def _question_for(frame: ToolFrame, sampler: Sampler) -> str:
    """A question that a knowledge tool answers."""
    texts = (one for one in frame.arguments if one.role == "text")
    required = (one for one in frame.arguments if one.required)
    argument = next(texts, None) or next(required, None)
    if argument is None:
        return _definition(frame, sampler)
    topic = sampler.value(frame.tool, argument, frame.noun.pool or "topic")
    questions = [question for question in frame.noun.questions if "{x}" in question]
    if questions:
        return sampler.phrase(questions, x=topic)
    return sampler.phrase(_TEMPLATES["about_topic"], topic=topic)


def _definition(frame: ToolFrame, sampler: Sampler) -> str:
    """A question about a thing in general."""
    noun = frame.noun
    one, many = sampler.noun(noun), sampler.noun(noun, many=True)
    everyday = _WORDS["everyday"].issuperset(one.lower().split())
    if noun.person or everyday or len(one.split()) > _MAX_WORDS or (not noun.mass and one == many):
        raise GenerationError("nobody asks what such a thing is")
    if noun.uncountable:
        return sampler.phrase(_TEMPLATES["about_mass_thing"], one=one)
    return sampler.phrase(_TEMPLATES["about_thing"], one=article(one), many=many)


def _personal(context: TemplateContext, step: ToolFrame) -> str:
    """A request of the user's own."""
    sampler = context.sampler
    references = descriptions(step.tool, context.path, context.frames, sampler)
    realisation = realise(step, references, sampler, minimal=True)
    own = [question for question in realisation.questions if _FIRST_PERSON.search(question)]
    if own and sampler.chance(0.5):
        return f"{sampler.pick(own)}?"
    kinds = ["orders", *(["needs"] if realisation.noun_phrase and step.reads else [])]
    if not SPEAKER.search(realisation.order):
        kinds.append("own_tasks")
    pattern = with_names(sampler.pick([one for kind in kinds for one in _TEMPLATES[kind]]), sampler)
    order = realisation.order
    return fill(pattern, do=order, doing=gerund(order), need=realisation.noun_phrase)
