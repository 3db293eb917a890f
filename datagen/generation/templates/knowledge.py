"""Information retrieval + multi-intent: a question of general knowledge beside something for the person who asks."""

from __future__ import annotations

import re

from datagen.generation.coreference import described_fills
from datagen.generation.grammar import article, capital, gerund
from datagen.generation.realisation import want_of
from datagen.generation.sampler import Speech
from datagen.generation.style import SPEAKER, filled, finished
from datagen.generation.template_context import Scene
from datagen.generation.tool_frame import Reading

__all__ = ["word"]

_ABOUT = (
    "did anybody ever write down rules for {t}", "does anyone know how {t} is treated here", "I keep hearing about {t}, what's true", "are there limits when it comes to {t}",
    "who decides about {t}", "which rules apply to {t}", "{first} asked about {t}, what do I say", "did anything change around {t} lately",
    "could somebody sum up the basics of {t}", "{t}: what's the official position", "can you explain {t} like I'm five", "how strict is {department} about {t}",
    "do we treat {t} differently in {city}", "what would {department} say about {t}", "where's the small print about {t}", "am I right that nobody checks {t}",
    "how do we go about {t} these days", "got a short intro to {t}", "which page covers {t}", "which document covers {t}", "any dos and don'ts regarding {t}",
    "what do newcomers have to learn about {t}", "is there guidance from {department} about {t}", "{t} - what's the current practice", "does {city} follow the same rules for {t}",
    "what do the rules say about {t}", "what's our line on {t}", "is there anything written down on {t}", "what should I know about {t}",
    "how do we handle {t}", "what's the deal with {t}", "where do we stand on {t}", "what does the company say on {t}",
    "can you explain {t} to me", "what counts when it comes to {t}", "what is there to know about {t}", "any guidance on {t}", "what's usual for {t}",
    "remind me, what applies to {t}", "is there a page on {t}", "who can tell me about {t}", "what's allowed in terms of {t}",
)  # fmt: skip
_WHAT = (
    "{first} mentioned {many}, what are those", "which team looks after {many}", "are {many} the same everywhere, even in {city}", "what makes {one} complete",
    "does {department} deal with {many}", "could you define {one} for me", "who invented {many} around here", "how formal are {many} supposed to be",
    "why does {department} care so much about {many}", "which details does {one} always have", "what happens with {many} after a year", "is {one} something I may see",
    "how would you describe {one} to an apprentice", "in what order do {many} pass through {department}", "how many eyes have to look at {many}",
    "do {many} ever expire", "may trainees touch {many}", "what's the difference between {one} and a plain note", "are old {many} kept somewhere",
    "which mistakes do people make with {many}", "do we still use {many} in {city}", "when did we start having {many}",
    "what exactly is {one}", "how do {many} work around here", "what are the rules for {many}", "who gets to decide on {many}",
    "what's the point of {one}", "what does one need to know about {many}", "how long does it usually take with {many}",
    "what do we mean by {one}", "can you explain how {many} work", "is there a limit on {many}", "what's the usual way with {many}",
    "who is in charge of {many}", "what are {many} good for", "how does one get {one}", "why do we have {many} at all", "what is meant by {one}",
    "what belongs in {one}", "when do I need {one}", "are there any guidelines for {many}", "what's {one} in plain English",
    "how are {many} handled in general", "as a newbie: what's {one}",
    "for my understanding: what is {one}", "where can I read up on {many}", "how strict are we about {many}",
)  # fmt: skip
_MASS = (
    "how does {department} look at {one}", "{first} mentioned {one}, what's that", "which team looks after {one}", "could you define {one} for me", "is there a primer on {one}",
    "why does {department} care so much about {one}", "what do beginners get wrong about {one}", "is {one} handled the same way in {city}",
    "what exactly is {one}", "how does {one} work around here", "what are the rules for {one}", "what do we mean by {one}",
    "what counts as {one}", "where can I read up on {one}", "how strict are we about {one}", "who decides about {one}",
    "for my understanding: what is {one}", "what's meant by {one} in general",
)  # fmt: skip
_BETWEEN = (
    *("Also, {s}",) * 2, *("And {s}",) * 2, *("{s}",) * 12, "Plus {s}", "Apart from that, {s}", "Separately, {s}", "Second thing: {s}", "While you're at it, {s}", "Oh, and {s}", "Besides, {s}", "Either way, {s}",
)  # fmt: skip
_ORDERS = (
    "could you {do} for me?", "please {do} for me", "I'd like you to {do}", "I need you to {do}", "can you {do} for me?", "I want you to {do}",
    "would you {do} for me?", "can I ask you to {do}?", "can I get you to {do}?", "I'd be glad of some help {doing}", "please {do}, I can't get to it",
    "could you {do}? I'm out all day", "can you {do}? I'm stuck in a meeting", "would you {do}? I have no access", "I asked {first} to {do}, can you do it instead?",
)  # fmt: skip
_OURS = (
    "help me {do}", "I still have to {do}", "my boss wants me to {do}", "I need to {do}", "I forgot to {do}, can you?", "I promised {first} to {do}",
    "{first} asked me to {do}", "I want to {do}", "I'd like to {do}", "I have to {do} for {first}", "I'm trying to {do}", "I'm supposed to {do}",
    "{first} from {department} wants me to {do}", "let me {do}", "I was told to {do}", "I meant to {do} yesterday",
)  # fmt: skip
"""What does not go with an order that says ``me`` itself."""
_NEEDS = (
    "I need {need}",
    "I'm after {need}",
    "can I have {need}?",
    "I'd like {need}",
    "could I get {need}?",
    "I want {need}",
    "I'm looking for {need}",
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
    text = f"{filled(question, speech)}?"
    for one in texts:
        end = "" if text.endswith(("?", ".", "!")) else "."
        joiner = speech.rng.choice(_BETWEEN)
        text = f"{text}{end} {capital(joiner.format(s=one))}"
    return finished(text, speech)


def _asked(reading: Reading, speech: Speech) -> str:
    """A question that a knowledge tool answers."""
    argument = next((one for one in reading.arguments if one.role == "text"), None) or next(
        (one for one in reading.arguments if one.required), None
    )
    if argument is None:
        return _defined(reading, speech)
    topic = speech.value(reading.tool, argument, reading.noun.pool or "topic")
    asks = [ask for ask in reading.noun.ask if "{x}" in ask]
    return speech.rng.choice(asks).replace("{x}", topic) if asks else speech.rng.choice(_ABOUT).replace("{t}", topic)


def _defined(reading: Reading, speech: Speech) -> str:
    noun = reading.noun
    one, many = speech.noun(noun), speech.noun(noun, many=True)
    if noun.mass or noun.plural:
        return speech.rng.choice(_MASS).replace("{one}", one)
    return speech.rng.choice(_WHAT).replace("{one}", article(one)).replace("{many}", many)


def _personal(step: Reading, scene: Scene) -> str:
    """A want of the one who asks."""
    speech = scene.speech
    fills = described_fills(step.tool, scene.path, scene.readings, speech)
    want = want_of(step, fills, speech, spare=speech.chance(0.8))
    own = [ask for ask in want.asks if _PERSONAL.search(ask)]
    if own and speech.chance(0.5):
        return f"{speech.rng.choice(own)}?"
    patterns = _ORDERS + (_NEEDS if want.need else ()) + (() if SPEAKER.search(want.do) else _OURS)
    return filled(speech.rng.choice(patterns), speech).format(do=want.do, doing=gerund(want.do), need=want.need)
