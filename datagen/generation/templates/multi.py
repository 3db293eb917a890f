"""Multi-intent: requests that are independent of each other, in any order."""

from __future__ import annotations

from datagen.generation.data_files import templates
from datagen.generation.grammar import capital, gerund, joined, sentence_end
from datagen.generation.realisation import Realisation, realise
from datagen.generation.sampler import Sampler
from datagen.generation.style import finish, sentence_of
from datagen.generation.template_context import TemplateContext
from datagen.generation.tool_frame import GenerationError

__all__ = ["generate"]

_TEMPLATES = templates("multi")
_NUMBERS = ("", "", "two", "three")
_MAX_REQUESTS = 3
"""At most so many requests stand in one message. Of four and five, readers of four catalogues found none plausible."""


def generate(context: TemplateContext) -> str:
    """All requests, each with values of its own.

    :raises GenerationError: when the path has one tool only.
    """
    if len(context.path.tools) < 2:
        raise GenerationError("several requests need several tools")
    context.require_one_subject()
    if len(context.steps) > _MAX_REQUESTS:
        raise GenerationError("so many requests are a list of work, not a message")
    said = [(step.phrases, step.noun.key, step.owner_noun) for step in context.steps]
    if any(one in said[:at] for at, one in enumerate(said)):
        raise GenerationError("two of its requests would be the same")
    sampler = context.sampler
    sampler.shares_numbers = False
    parts: list[Realisation] = []
    steps = list(context.steps)
    if sampler.chance(0.4):
        sampler.rng.shuffle(steps)
    for step in steps:
        sampler.named.clear()
        sampler.dates.reset()
        parts.append(realise(step, {}, sampler, minimal=True))
    arrange = sampler.rng.choice((_sentences, _sentences, _one_sentence, _listed))
    return finish(arrange(parts, sampler), sampler)


def _sentences(parts: list[Realisation], sampler: Sampler) -> str:
    text = sentence_of(parts[0], sampler)
    for part in parts[1:]:
        sentence = sentence_of(part, sampler)
        bare = sampler.chance(0.15) and len(parts) == 2
        following = sentence if bare else sampler.phrase(_TEMPLATES["joiners"], sentence=sentence)
        text = f"{text}{sentence_end(text)} {capital(following)}"
    return text


def _one_sentence(parts: list[Realisation], sampler: Sampler) -> str:
    if len(parts) == 2 and parts[0].questions and parts[1].questions and sampler.chance(0.5):
        return f"{sampler.pick(parts[0].questions)}, and {sampler.pick(parts[1].questions)}?"
    template = sampler.pick(_TEMPLATES["one_sentence"])
    orders = joined([part.order for part in parts], sampler.pick(("and", "and also", "and")))
    return template.replace("{list}", orders)


def _listed(parts: list[Realisation], sampler: Sampler) -> str:
    count, orders = _NUMBERS[len(parts)], [part.order for part in parts]
    layout = sampler.pick(("numbers", "gerunds", "commas"))
    if layout == "gerunds":
        return f"I need help with {count} things: {joined([gerund(order) for order in orders])}"
    items = joined(orders)
    if layout == "numbers":
        items = ", ".join(f"{at}) {order}" for at, order in enumerate(orders, 1))
    return sampler.phrase(_TEMPLATES["lists"], count=count, list=items)
