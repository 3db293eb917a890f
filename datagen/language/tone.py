"""Tone: how people at work put what they want: direct, polite, in a hurry; and the edges of what they type."""

from __future__ import annotations

import re

from datagen.language.clauses import Want
from datagen.language.grammar import capital, gerund, lowered, tidy
from datagen.language.speech import Speech

__all__ = ["finished", "order_of", "said"]

_ORDERS = (
    *("{do}",) * 26, "please {do}", "please {do}", "{do} please", "pls {do}", "could you {do}?", "could you {do}?", "can you {do}?", "can u {do}?",
    "could you please {do}?", "would you mind {doing}?", "mind {doing}?", "any chance you could {do}?", "would you {do}?", "I need you to {do}",
    "I'd like you to {do}", "are you able to {do}?", "be a dear and {do}", "go ahead and {do}", "kindly {do}", "can somebody {do}?",
    "time to {do}", "you can {do}", "let's {do}", "just {do}", "I want you to {do}", "somebody has to {do}", "we have to {do}",
    "can we {do}?", "how about {doing}?", "I'm supposed to {do}", "help me {do}", "we'd better {do}", "do me a favour and {do}",
    "quickly {do}", "can you go and {do}?", "would it be ok to {do}?", "is it possible to {do}?", "I'd appreciate you {doing}", "to do: {do}",
)  # fmt: skip
_PLAIN = tuple(order for order in _ORDERS if "and" not in order.split())
_NEEDS = (
    "I need {need}", "I'm after {need}", "looking for {need}", "{need} please", "we need {need}", "I'd like {need}", "I could do with {need}",
    "need {need} asap", "give me {need}", "can I have {need}?", "could I get {need}?", "I want {need}", "{need}, thanks", "I'm missing {need}",
    "what I need is {need}", "where do I find {need}?", "{need}?", "{need}", "got {need} handy?", "I can't find {need}", "trying to find {need}",
    "they want {need}", "the client wants {need}", "I'm waiting for {need}", "sales is asking for {need}", "anyone got {need}?",
)  # fmt: skip
_ASKS = (
    *("{ask}?",) * 24, "quick question: {ask}?", "just wondering: {ask}?", "so {ask}?", "sorry, {ask}?", "erm, {ask}?",
    "one question: {ask}?", "{ask}??", "out of interest: {ask}?", "hm, {ask}?",
    "{ask}, roughly?", "and {ask}?",
)  # fmt: skip
_OPENERS = (
    "Hi,", "Hey,", "Hi there,", "Morning,", "Hello,", "Quick one:", "Customer's on the phone:", "Sorry to bother you,", "ok so", "Hiya,",
    "Afternoon all,", "In a rush here:", "From the meeting:", "Boss is asking:", "For the audit:", "Me again:", "Hello team,", "Evening,",
    "For the weekly call:", "FYI I'm on the train,", "Dear all,", "New here:", "Short notice, sorry:", "Right,", "Listen,", "Monday chaos:",
    "For month-end:", "Small favour:", "Guys,", "Good morning!", "Still in the car:", "Driver's at the gate:", "Jan asked me:", "Urgent:",
    "For the steering committee:", "Out of office but:", "Hi bot,", "Hi {first},", "{first} asked me:", "Hello {first},", "Hey {first},", "{first} here.", "Question from {first}:", "For {first}:", "{first},", "@{first}", "Stuck in a call,", "Budget round:", "Night shift here:",
)  # fmt: skip
_CLOSERS = (
    "Thanks!", "thx", "Cheers.", "It's urgent.", "Would help a lot.", "No rush.", "Thank you!", "Much appreciated.",
    "They're waiting.", "Ta!", "Today if you can.", "My boss keeps asking.", "Deadline's close.", "Thanks, {first}", "Best, {first}", "Cheers, {first}", "{first} needs it.", "Thx {first}", "I promised {first}.", "/{first}", "{first} is waiting.", "tia",
    "Been waiting for days.", "It's for the audit.", "I have a call at four.", "Ping me with the result.", "Sorry for the trouble.",
    "The customer is furious.", "Need it by lunch.", "This is the third time I ask.", "You're a star.", "Greetings from Leeds.", "Regards",
    "It drives me mad.", "Can't log in myself.", "I'm on my phone.", "Promised it yesterday.", "Everyone's on holiday here.",
)  # fmt: skip

_TELEGRAPHIC, _SHORTENED = 0.42, 0.15
_ARTICLES = re.compile(
    r"(?<=[a-z,] )(?:the|an|a) (?!first|last|few|couple|same|best|right|top|newest|most|audit|answer|result|moment|end|\d)"
)
_SHORT_FORMS = (
    ("with", "w/"), ("you", "u"), ("because", "cos"), ("please", "plz"), ("and", "&"), ("and", "+"),
)  # fmt: skip


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
    text = text.rstrip()
    if not text.endswith((".", "?", "!")):
        text += "."
    if speech.chance(0.14):
        opener = speech.rng.choice(_OPENERS)
        text = f"{_named(opener, speech)} {lowered(text)}"
    elif speech.chance(0.13):
        closers = [one for one in _CLOSERS if not plain or ("if" not in one and "otherwise" not in one)]
        text = f"{text} {_named(speech.rng.choice(closers), speech)}"
    text = capital(text)
    if speech.chance(0.2):
        text = lowered(text)
    if text.endswith(".") and speech.chance(0.3):
        text = text[:-1]
    return tidy(_hurried(text, speech, plain=plain))


def _named(phrase: str, speech: Speech) -> str:
    return phrase.replace("{first}", speech.rng.choice(speech.lexicon.pools["first"]))


def _hurried(text: str, speech: Speech, *, plain: bool) -> str:
    """Some leave out articles, some write short forms."""
    roll = speech.rng.random()
    if roll < _TELEGRAPHIC:
        return _ARTICLES.sub("", text)
    if roll < _TELEGRAPHIC + _SHORTENED:
        for long, short in _SHORT_FORMS:
            if not (plain and short in ("&", "+")) and speech.chance(0.7):
                text = text.replace(f" {long} ", f" {short} ")
    return text
