"""Information retrieval + multi-intent: a question of general knowledge beside a personal request."""

from __future__ import annotations

import re
from collections.abc import Sequence

from datagen.generation.coreference import descriptions
from datagen.generation.data_files import fill, templates, word_classes
from datagen.generation.grammar import capital, gerund, sentence_end
from datagen.generation.lexicon import Noun
from datagen.generation.realisation import realise
from datagen.generation.sampler import Sampler
from datagen.generation.style import SPEAKER, finish, with_names
from datagen.generation.template_context import TemplateContext
from datagen.generation.tool_frame import GenerationError, ToolFrame

__all__ = ["generate"]

_TEMPLATES = templates("knowledge")
_EVERYDAY = word_classes("knowledge")["everyday"]
_OF_EVERYTHING = word_classes("knowledge")["of_everything"]
_MAX_TOOLS = 3
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
    sources = {edge.source for edge in context.path.edges if edge.kind == "R-P"}
    rest = [step for step in steps if step is not known and step.tool not in sources]
    if not rest and known is None:
        rest = [steps[-1]]
    question = _question_for(known, rest, sampler) if known is not None else _general_question(context, rest)
    personal = [_personal(context, step) for step in rest]
    text = f"{with_names(question, sampler)}?"
    for sentence in personal:
        following = sampler.phrase(_TEMPLATES["joiners"], sentence=sentence)
        text = f"{text}{sentence_end(text)} {capital(following)}"
    return finish(text, sampler)


def _question_for(frame: ToolFrame, others: Sequence[ToolFrame], sampler: Sampler) -> str:
    """A question that a knowledge tool answers: of the things of the request beside it where they are of its system."""
    texts = (one for one in frame.arguments if one.role == "text")
    required = (one for one in frame.arguments if one.required)
    argument = next(texts, None) or next(required, None)
    if argument is None:
        raise GenerationError("nothing says what the question is about")
    near = [step.noun for step in others if step.namespace == frame.namespace and _has_rules(step.noun)]
    if near and not frame.noun.questions:
        topic = sampler.noun(near[0], many=True)
        sampler.record(frame.tool, argument, topic)
        return sampler.phrase(_TEMPLATES["about_topic"], topic=topic)
    if not frame.noun.pool or frame.noun.pool in _OF_EVERYTHING:
        raise GenerationError("nobody asks for rules of something else beside the request")
    topic = sampler.value(frame.tool, argument, frame.noun.pool)
    questions = [question for question in frame.noun.questions if "{x}" in question]
    return sampler.phrase(questions or _TEMPLATES["about_topic"], x=topic, topic=topic)


def _has_rules(noun: Noun) -> bool:
    """Whether people ask for the rules of a thing: of nothing that everybody has to do with every day."""
    return not noun.person and not _EVERYDAY.intersection(word for name in noun.words for word in name.lower().split())


def _general_question(context: TemplateContext, steps: Sequence[ToolFrame]) -> str:
    """A question that no tool answers, and that somebody has who works with the thing of one of the steps."""
    for step in steps:
        if able := context.questions.beside(step):
            return context.sampler.pick(able)
    raise GenerationError("the documents say nothing of the thing that somebody would ask about")


def _personal(context: TemplateContext, step: ToolFrame) -> str:
    """A request of the user's own."""
    sampler = context.sampler
    context.require_needed(step)
    references = descriptions(step.tool, context.path, context.frames, sampler)
    realisation = realise(step, references, sampler, minimal=True)
    if step.many and not realisation.narrowed:
        raise GenerationError("the request lists all things of a kind")
    own = [question for question in realisation.questions if _FIRST_PERSON.search(question)]
    if own and sampler.chance(0.5):
        return f"{sampler.pick(own)}?"
    kinds = ["orders", *(["needs"] if realisation.noun_phrase and step.reads else [])]
    if not SPEAKER.search(realisation.order):
        kinds.append("own_tasks")
    pattern = with_names(sampler.pick([one for kind in kinds for one in _TEMPLATES[kind]]), sampler)
    order = realisation.order
    return fill(pattern, do=order, doing=gerund(order), need=realisation.noun_phrase)
