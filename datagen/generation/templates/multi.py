"""Multi-intent: requests that are independent of each other, in any order."""

from __future__ import annotations

from collections.abc import Sequence

from datagen.generation.data_files import templates
from datagen.generation.grammar import capital, gerund, joined, sentence_end
from datagen.generation.phrases import References
from datagen.generation.realisation import Realisation, realise
from datagen.generation.sampler import Sampler
from datagen.generation.style import finish, sentence_of
from datagen.generation.template_context import UNDO_VERBS, TemplateContext
from datagen.generation.tool_frame import GenerationError, ToolFrame

__all__ = ["generate"]

_TEMPLATES = templates("multi")
_NUMBERS = ("", "", "two", "three")
_MAX_REQUESTS = 3
"""At most so many requests stand in one message. Of four and five, readers of four catalogues found none plausible."""


def generate(context: TemplateContext) -> str:
    """All requests: about one thing where they can be, else each with values of its own.

    :raises GenerationError: when the path has one tool only, or nobody would ask for its tools in one message.
    """
    if len(context.path.tools) < 2:
        raise GenerationError("several requests need several tools")
    context.require_one_subject()
    if len(context.steps) > _MAX_REQUESTS:
        raise GenerationError("so many requests are a list of work, not a message")
    said = [(step.phrases, step.noun.key, step.owner_noun) for step in context.steps]
    if any(one in said[:at] for at, one in enumerate(said)):
        raise GenerationError("two of its requests would be the same")
    if any(_lists(step, other) for step in context.steps for other in context.steps):
        raise GenerationError("one of its requests shows what another lists")
    sampler = context.sampler
    steps = list(context.steps)
    if sampler.chance(0.4):
        sampler.rng.shuffle(steps)
    common = _common_thing(steps)
    if common:
        steps.sort(key=lambda step: (not step.reads, not _identifies(step, common)))
    sampler.shares_numbers = bool(common)
    parts: list[Realisation] = []
    for step in steps:
        references = _references(step, common, sampler) if parts else {}
        sampler.named.clear()
        sampler.dates.reset()
        parts.append(realise(step, references, sampler, minimal=not step.many))
        if step.many and not parts[-1].narrowed:
            raise GenerationError("one of its requests lists all things of a kind")
    arrange = sampler.rng.choice((_sentences, _sentences, _one_sentence, _listed))
    return finish(arrange(parts, sampler), sampler)


def _lists(step: ToolFrame, other: ToolFrame) -> bool:
    """Whether a tool lists the things of an owner, of which another shows one."""
    near = step.namespace == other.namespace and step.noun.key == other.noun.key and step.owner_noun == other.owner_noun
    return near and step.many and step.owner_noun is not None and other.kind == "get" and not other.many


def _common_thing(steps: Sequence[ToolFrame]) -> str:
    """The kind of thing with a number that all requests are about, so that one number is meant; or empty.

    :raises GenerationError: when nobody would ask for so much at once: three things that are not about one, two changes of
        one thing, or several things of one kind.
    """
    keys = [{one.noun.key for one in (step.identity, step.owner) if one is not None and one.noun} for step in steps]
    common = sorted(set.intersection(*keys))
    if len(steps) > 2 and not common:
        raise GenerationError("three requests are about several things")
    if not common:
        if any(one & other for at, one in enumerate(keys) for other in keys[:at]):
            raise GenerationError("two of its requests are about several things of one kind")
        return ""
    if sum(not step.reads and _identifies(step, common[0]) for step in steps) > 1:
        raise GenerationError("one thing would be changed twice")
    if any(step.verb in UNDO_VERBS and _identifies(step, common[0]) for step in steps):
        raise GenerationError("one thing would be undone and worked on, or looked at")
    if len({step.reads for step in steps if _identifies(step, common[0])}) > 1:
        raise GenerationError("one thing would be looked at and changed")
    return common[0]


def _identifies(step: ToolFrame, thing: str) -> bool:
    """Whether a tool is about the thing itself, not about what belongs to it."""
    return step.identity is not None and step.identity.noun is not None and step.identity.noun.key == thing


def _references(step: ToolFrame, common: str, sampler: Sampler) -> References:
    """What stands for the thing that was said before, whose number the tool takes too."""
    found: dict[str, str] = {}
    for argument in (step.identity, step.owner):
        if argument is not None and argument.noun is not None and argument.noun.key == common and not found:
            sampler.number(step.tool, argument)
            found[argument.names[0]] = f"that {argument.noun.words[0]}"
    return found


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
