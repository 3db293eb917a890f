"""Information retrieval + multi-intent: a question of general knowledge beside something for the person who asks."""

from __future__ import annotations

import re

from datagen.language.anaphora import described_fills
from datagen.language.clauses import want_of
from datagen.language.grammar import article, capital, lowered
from datagen.language.phrases import parts_of
from datagen.language.reading import Reading
from datagen.language.scene import Scene
from datagen.language.speech import Speech
from datagen.language.tone import finished, said

__all__ = ["word"]

_ABOUT = (
    "what do the rules say about {t}", "what's our line on {t}", "is there anything written down on {t}", "what should I know about {t}", "how do we handle {t}", "what's the deal with {t}", "where do we stand on {t}", "what does the company say on {t}", "can you explain {t} to me", "what counts when it comes to {t}",
)  # fmt: skip
_WHAT = (
    "what exactly is {one}", "how do {many} work around here", "what are the rules for {many}", "who gets to decide on {many}", "what's the point of {one}", "what does one need to know about {many}", "how long does it usually take with {many}", "what makes {one} a good one", "when do people need {one}", "what do we mean by {one}",
)  # fmt: skip
_MASS = (
    "what exactly is {one}",
    "how does {one} work around here",
    "what are the rules for {one}",
    "what do we mean by {one}",
    "what counts as {one}",
)
_BETWEEN = (
    "Also, {s}",
    "And {s}",
    "{s}",
    "While you're at it, {s}",
    "And for me: {s}",
    "Oh, and {s}",
    "Besides, {s}",
    "Then for myself: {s}",
)
_PERSONAL = re.compile(r"\b(?:I|I'm|I'd|I've|my|me|mine|myself)\b")


def word(scene: Scene) -> str:
    """The question first, mostly."""
    speech = scene.speech
    known = next((step for step in scene.steps if step.noun.knows), None)
    question = _asked(known, speech) if known is not None else _defined(scene.steps[0], speech)
    feeding = {edge.source for edge in scene.path.edges if edge.kind == "R-P"}
    rest = [step for step in scene.steps if step is not known and step.tool not in feeding]
    texts = (
        [_personal(step, scene) for step in rest] or [_personal(scene.steps[-1], scene)]
        if known is None or rest
        else []
    )
    text = f"{question}?"
    for one in texts:
        end = "" if text.endswith(("?", ".", "!")) else "."
        joiner = speech.rng.choice(_BETWEEN)
        text = f"{text}{end} {capital(joiner.format(s=lowered(one)))}"
    return finished(text, speech)


def _asked(reading: Reading, speech: Speech) -> str:
    """A question that a knowledge tool answers."""
    argument = next((one for one in reading.arguments if one.role == "text"), None) or next(
        (one for one in reading.arguments if one.required), None
    )
    if argument is None:
        return _defined(reading, speech)
    topic = speech.value(reading.tool, argument, reading.noun.pool or "topic")
    others = parts_of(reading, {}, speech, spare=True)
    del others
    asks = [ask for ask in reading.noun.ask if "{x}" in ask]
    return speech.rng.choice(asks).replace("{x}", topic) if asks else speech.rng.choice(_ABOUT).format(t=topic)


def _defined(reading: Reading, speech: Speech) -> str:
    noun = reading.noun
    one, many = speech.noun(noun), speech.noun(noun, many=True)
    if noun.mass or noun.plural:
        return speech.rng.choice(_MASS).format(one=one)
    return speech.rng.choice(_WHAT).format(one=article(one), many=many)


def _personal(step: Reading, scene: Scene) -> str:
    speech = scene.speech
    fills = described_fills(step.tool, scene.path, scene.readings, speech)
    text = said(want_of(step, fills, speech, spare=len(scene.steps) > 2), speech)
    if _PERSONAL.search(text):
        return text
    end = text[-1] if text[-1] in "?.!" else ""
    return f"{text.removesuffix(end) if end else text}{speech.pick((' for me', ', I need that today', ', it is for my desk', ' for me'))}{end}"
