"""Explicit multi-step: steps that hang on each other, in an order that is said."""

from __future__ import annotations

from datagen.generation.coreference import pointing_fills
from datagen.generation.grammar import gerund, lowered
from datagen.generation.realisation import Want, want_of
from datagen.generation.sampler import Speech
from datagen.generation.style import finished
from datagen.generation.template_context import Scene

__all__ = ["word"]

_NEXT = (
    *("then {do}",) * 4, "after that {do}", "once that's done, {do}", "and then {do}", "next, {do}", "then please {do}",
)  # fmt: skip
_LAST = (
    *("then {do}",) * 4, *("and then {do}",) * 3, "and finally {do}", "and after that {do}", "afterwards {do}", "finally {do}",
    "and with the result {do}", "and only then {do}", "and straight after {do}", "then please {do}",
)  # fmt: skip
_SENTENCES = (
    *("Then {do}.",) * 9, *("Afterwards {do}.",) * 2, *("Next, {do}.",) * 2, "After that, {do}.", "Once that's done, {do}.", "Then please {do}.",
    "Based on that, {do}.", "With that in hand, {do}.", "When that's through, {do}.", "With the answer, {do}.", "After this, {do}.",
    "Once you know, {do}.", "Only then {do}.", "As soon as that's there, {do}.", "Finally, {do}.", "Using that, {do}.", "That done, {do}.", "Next up: {do}.", "Straight after, {do}.", "Following that, {do}.", "From there, {do}.", "Next please {do}.", 
)  # fmt: skip
_STARTS = (
    *("{do}",) * 8,
    "first {do}",
    "first, {do}",
    "please {do}",
    "start by {doing}",
    "could you first {do}",
    "can you {do}",
    "I need you to {do}",
    "begin with {doing}",
    "step one: {do}",
)


def word(scene: Scene) -> str:
    """All steps in their order.

    :raises Unwordable: when the steps do not depend on each other.
    """
    scene.need_dependence()
    speech = scene.speech
    wants: list[Want] = []
    last = ""
    for step in scene.steps:
        fills = pointing_fills(step, scene.into(step.tool), scene.readings, last, speech)
        wants.append(
            want_of(
                step, fills, speech, spare=step is not scene.steps[-1] or len(scene.steps) > 2 or speech.chance(0.6)
            )
        )
        last = step.tool
    if len(wants) == 2 and speech.chance(0.25):
        return finished(_backwards(wants, speech), speech)
    return finished(_forwards(wants, speech), speech)


def _forwards(wants: list[Want], speech: Speech) -> str:
    start = speech.rng.choice(_STARTS)
    first = start.format(do=wants[0].do, doing=gerund(wants[0].do))
    if wants[0].asks and speech.chance(0.2):
        text = f"{speech.rng.choice(wants[0].asks)}?"
    elif speech.chance(0.45):
        text = f"{first}{'?' if start.startswith(('could', 'can')) else '.'}"
    else:
        return _run_on(first, wants[1:], speech)
    for want in wants[1:]:
        text = f"{text} {speech.rng.choice(_SENTENCES).format(do=lowered(want.do))}"
    return text


def _run_on(first: str, wants: list[Want], speech: Speech) -> str:
    text = first
    for at, want in enumerate(wants):
        pattern = speech.rng.choice(_LAST if at == len(wants) - 1 else _NEXT)
        text = f"{text}{',' if not pattern.startswith('and then') or speech.chance(0.5) else ''} {pattern.format(do=want.do)}"
    return text


def _backwards(wants: list[Want], speech: Speech) -> str:
    """The second step is said with the first before it: ``once you've …``."""
    first, second = wants
    pattern = speech.rng.choice(
        (
            "after {doing}, {do}",
            "once you're done {doing}, {do}",
            "start by {doing}, then {do}",
        )
    )
    return pattern.format(doing=gerund(first.do), do=second.do)
