"""Multi-intent: wants that have nothing to do with each other, in any order."""

from __future__ import annotations

from datagen.generation.grammar import capital, gerund, joined
from datagen.generation.realisation import Want, want_of
from datagen.generation.sampler import Speech
from datagen.generation.style import finished, said
from datagen.generation.template_context import Scene, Unwordable

__all__ = ["word"]

_BETWEEN = (
    *("Also, {s}",) * 3, *("And {s}",) * 2, "Plus, {s}", "Separately, {s}", *("{s}",) * 8, "Apart from that, {s}", "In other news, {s}", "Second: {s}", "Second topic: {s}", "Oh, and {s}", "On another note, {s}",
    "Besides, {s}", "While you're at it, {s}", "Another thing: {s}", "Something else: {s}", "Unrelated: {s}", "P.S. {s}", "One more: {s}",
    "Different question: {s}", "Not related, but {s}", "Almost forgot: {s}",
)  # fmt: skip
_NUMBERS = ("", "", "two", "three", "four", "five")
_LISTS = (
    "{n} things: {list}",
    "I want {n} things: {list}",
    "{n} jobs for you: {list}",
    "got {n} things for you: {list}",
    "my list for today: {list}",
    "on my desk: {list}",
    "open points: {list}",
    "this is what I need today: {list}",
    "for the weekly round: {list}",
)
_FRAMES = ("{list}", "could you {list}?", "please {list}", "can you {list}?", "I need you to {list}", "{list} please")


def word(scene: Scene) -> str:
    """All wants, each with values of its own.

    :raises Unwordable: when the path has one tool only.
    """
    if len(scene.path.tools) < 2:
        raise Unwordable("several wants need several tools")
    speech = scene.speech
    speech.remembers = False
    wants: list[Want] = []
    for step in scene.steps:
        speech.named.clear()
        speech.dates.forget()
        wants.append(want_of(step, {}, speech, spare=len(scene.steps) > 2 or speech.chance(0.8)))
    if speech.chance(0.4):
        speech.rng.shuffle(wants)
    style = speech.rng.choice((_sentences, _sentences, _one_sentence, _listed))
    return finished(style(wants, speech), speech)


def _sentences(wants: list[Want], speech: Speech) -> str:
    text = said(wants[0], speech)
    for want in wants[1:]:
        end = "" if text.endswith(("?", ".", "!")) else "."
        nexts = said(want, speech)
        bare = speech.chance(0.15) and len(wants) == 2
        text = f"{text}{end} {capital(nexts if bare else speech.rng.choice(_BETWEEN).format(s=nexts))}"
    return text


def _one_sentence(wants: list[Want], speech: Speech) -> str:
    if len(wants) == 2 and wants[0].asks and wants[1].asks and speech.chance(0.5):
        return f"{speech.rng.choice(wants[0].asks)}, and {speech.rng.choice(wants[1].asks)}?"
    return speech.rng.choice(_FRAMES).format(
        list=joined([want.do for want in wants], speech.pick(("and", "and also", "and")))
    )


def _listed(wants: list[Want], speech: Speech) -> str:
    count = _NUMBERS[len(wants)]
    form = speech.rng.choice(("numbers", "gerunds", "comma"))
    if form == "numbers":
        items = " ".join(f"{at}) {want.do}{',' if at < len(wants) else ''}" for at, want in enumerate(wants, 1))
    elif form == "gerunds":
        return f"I need help with {count} things: {joined([gerund(want.do) for want in wants])}"
    else:
        items = joined([want.do for want in wants])
    return speech.rng.choice(_LISTS).format(n=count, list=items)
