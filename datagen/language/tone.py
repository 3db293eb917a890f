"""Tone: how people at work put what they want: direct, polite, in a hurry; and the edges of what they type."""

from __future__ import annotations

from datagen.language.clauses import Want
from datagen.language.grammar import capital, gerund, lowered, tidy
from datagen.language.speech import Speech

__all__ = ["finished", "order_of", "said"]

_ORDERS = (
    "{do}",
    "{do}",
    "{do}",
    "please {do}",
    "{do} please",
    "pls {do}",
    "could you {do}?",
    "can you {do}?",
    "can u {do}?",
    "could you please {do}?",
    "would you mind {doing}?",
    "mind {doing}?",
    "any chance you could {do}?",
    "would you {do}?",
    "I need you to {do}",
    "I'd like you to {do}",
    "are you able to {do}?",
    "be a dear and {do}",
    "go ahead and {do}",
    "kindly {do}",
    "can somebody {do}?",
    "time to {do}",
    "you can {do}",
    "let's {do}",
    "it'd help if you could {do}",
)
_PLAIN = tuple(order for order in _ORDERS if " and " not in order and "if" not in order.split())
_NEEDS = (
    "I need {need}",
    "I'm after {need}",
    "looking for {need}",
    "{need} please",
    "we need {need}",
    "I'd like {need}",
    "I could do with {need}",
    "need {need} asap",
    "give me {need}",
    "can I have {need}?",
    "could I get {need}?",
    "I want {need}",
    "{need}, thanks",
    "I'm missing {need}",
    "what I need is {need}",
)
_ASKS = (
    "{ask}?",
    "{ask}?",
    "{ask}?",
    "{ask}?",
    "quick question: {ask}?",
    "just wondering, {ask}?",
    "so {ask}?",
    "tell me, {ask}?",
    "sorry, {ask}?",
)
_OPENERS = (
    "Hi,",
    "Hey,",
    "Hi there,",
    "Morning,",
    "Hello,",
    "Quick one:",
    "Customer's on the phone:",
    "Sorry to bother you,",
    "ok so",
    "Hiya,",
    "Afternoon all,",
    "In a rush here:",
    "From the meeting:",
    "Boss is asking:",
    "For the audit:",
    "Me again:",
    "Hello team,",
    "For the weekly call:",
    "FYI I'm on the train,",
)
_CLOSERS = (
    "Thanks!", "thx", "Cheers.", "It's urgent.", "Would help a lot.", "No rush.", "Thank you!", "Much appreciated.", "I'm stuck otherwise.",
    "They're waiting.", "Ta!", "Today if you can.", "My boss keeps asking.", "Deadline's close.",
)  # fmt: skip
_QUESTION_STARTS = ("could", "can", "would", "are you", "any chance", "mind")


def order_of(want: Want, speech: Speech, *, plain: bool = False) -> str:
    """A want as an order of some politeness, without a final full stop.

    :param plain: no ``and`` and no ``if`` in the politeness.
    """
    pattern = speech.rng.choice(_PLAIN if plain else _ORDERS)
    return pattern.format(do=want.do, doing=gerund(want.do))


def said(want: Want, speech: Speech, *, plain: bool = False) -> str:
    """A want as a question, an order, a statement or a thing that is needed."""
    roll = speech.rng.random()
    if want.asks and roll < 0.45:
        return speech.rng.choice(_ASKS).format(ask=speech.rng.choice(want.asks))
    if want.states and roll < 0.6:
        return speech.rng.choice(want.states)
    if want.need and roll < 0.62:
        return speech.rng.choice(_NEEDS).format(need=want.need)
    return order_of(want, speech, plain=plain)


def finished(text: str, speech: Speech, *, plain: bool = False) -> str:
    """The edges of a message: an opener or a closer now and then, a capital, a stop; or neither, as people type.

    :param plain: closers without ``if`` and ``otherwise``.
    """
    text = tidy(text)
    if not text.endswith((".", "?", "!")):
        text += "."
    if speech.chance(0.16):
        opener = speech.rng.choice(_OPENERS)
        text = f"{opener} {lowered(text)}"
    elif speech.chance(0.13):
        closers = [one for one in _CLOSERS if not plain or ("if" not in one and "otherwise" not in one)]
        text = f"{text} {speech.rng.choice(closers)}"
    text = capital(text)
    if speech.chance(0.2):
        text = lowered(text)
    if text.endswith(".") and speech.chance(0.3):
        text = text[:-1]
    return tidy(text)
