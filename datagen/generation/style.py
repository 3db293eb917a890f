"""Tone: how people at work put what they want: direct, polite, in a hurry; and the edges of what they type."""

from __future__ import annotations

import re

from datagen.generation.grammar import capital, gerund, lowered, tidy
from datagen.generation.realisation import Want
from datagen.generation.sampler import Speech

__all__ = ["SPEAKER", "filled", "finished", "order_of", "said"]

_ORDERS = (
    *("{do}",) * 22, "please {do}", "please {do}", "{do} please", "{do}, please", "pls {do}", "could you {do}?", "could you {do}?", "can you {do}?", "can you {do}?",
    "could you please {do}?", "can you please {do}?", "would you mind {doing}?", "any chance you could {do}?", "would you {do}?", "can you quickly {do}?",
    "I need you to {do}", "I'd like you to {do}", "are you able to {do}?", "just {do}", "could you help me and {do}?", "I'd be grateful for help {doing}",
)  # fmt: skip
_OURS = (
    "I need to {do}", "I'd like to {do}", "I want to {do}", "I have to {do}", "we need to {do}", "we have to {do}", "we'd like to {do}", "can we {do}?",
    "let's {do}", "I'm trying to {do}", "{first} asked me to {do}", "{first} wants us to {do}", "I promised {first} to {do}", "help me {do}",
    "I'm supposed to {do} for {first}", "we should {do}", "{first} from {department} wants to {do}", "{first} needs help {doing}", "how do I {do}?",
    "can I {do}?", "{first} told me to {do}", "could we {do}?", "I'm meant to {do}", "my job today is to {do}", "I still have to {do}",
)  # fmt: skip
"""What only those say who do it themselves: an order that says ``me`` does not go with it."""
SPEAKER = re.compile(r"\b(?:me|us|my|your)\b")
"""Words of the one who asks."""
_NEEDS = (
    "I need {need}", "I'm after {need}", "looking for {need}", "{need} please", "we need {need}", "I'd like {need}", "I could do with {need}",
    "I need {need} asap", "can I have {need}?", "could I get {need}?", "I want {need}", "what I need is {need}", "where do I find {need}?",
    "can't find {need}", "trying to find {need}", "{first} wants {need}", "the client wants {need}", "I'm waiting for {need}",
    "{first} is asking for {need}", "{first} needs {need}", "does anyone have {need}?", "{department} is asking for {need}", "can you send {first} {need}?",
)  # fmt: skip
_ASKS = (
    *("{ask}?",) * 24, "quick question: {ask}?", "just wondering: {ask}?", "so {ask}?", "sorry, {ask}?", "one question: {ask}?", "{ask}??",
    "out of interest: {ask}?", "{first} is asking: {ask}?", "{department} wants to know: {ask}?",
)  # fmt: skip
_OPENERS = (
    "Hi,", "Hey,", "Hi there,", "Morning,", "Hello,", "Quick one:", "Customer's on the phone:", "Sorry to bother you,", "Afternoon,",
    "In a rush here:", "For the audit:", "Me again:", "Hello team,", "For the weekly call:", "Short notice, sorry:", "For month-end:", "Small favour:",
    "Good morning,", "Urgent:", "Hi {first},", "Hello {first},", "Hey {first},", "{first} here.", "For {first}:", "@{first}",
    "I'm standing in for {first} today.", "{first} from {department} here.", "{first} called from {city}:", "I'm with {company} right now:",
    "New in {department}, so bear with me:", "{first} is off sick, so I'm on this:", "On the train to {city}:", "I'm in a call with {company}:",
    "{company} is on the line:", "Just back from {city}:", "For my meeting with {first}:", "For the {department} call:", "Got a mail from {first}:",
    "{first} {last} wrote to me:", "Morning {first},", "{city} office here:", "Between two meetings:", "Greetings from {city}.", "{last} speaking.", "{first} {last}, {department}.",
    "Got {company} waiting:", "Following up on {company}:", "{department} again:", "Sitting with {first}:", "My colleague {first} needs a hand.", "Visiting {city} this week.",
    "Writing for {first} {last}:", "Before I leave for {city}:", "Driving to {company}, so short:", "As discussed with {first}:", "Message from {department}:", "For {first} {last}:",
)  # fmt: skip
_CLOSERS = (
    "Thanks!", "thx", "Cheers.", "It's urgent.", "Would help a lot.", "No rush.", "Thank you!", "Much appreciated.", "Ta!", "Today please.",
    "It's for the audit.", "I have a call at four.", "Sorry for the trouble.", "The customer is furious.", "I need it by lunch.",
    "This is the third time I ask.", "I can't log in myself.", "I'm on my phone.", "Thanks, {first}", "Best, {first}", "Cheers, {first}",
    "{first} needs it.", "Thx {first}", "I promised {first}.", "{first} is waiting.", "{first} keeps asking.", "Regards, {first} {last}",
    "{first} in {city} is waiting for it.", "It's for {first} in {department}.", "{department} is asking.", "I'm seeing {company} at two.",
    "{company} is pressing us.", "My train to {city} leaves in ten minutes.", "I owe {first} an answer.", "{first} {last} asked me twice.",
    "I'm in {city} all day.", "The boss of {department} wants it.", "{first} is on holiday.", "Thanks from {city}!", "It came up in {department}.",
    "{company} called again.", "I told {first} it would be done today.", "{first} can't get at it from {city}.", "Cc {first} {last}.", "{first} said you could help.",
    "{city} closes at five.", "Auditors arrive on Monday.", "We fly out to {city} tonight.", "Greetings to {city}.",
    "My shift ends soon.", "{department} has been on my back all week.", "{first} swears it was done already.", "Nobody in {city} picks up the phone.",
    "Please copy {first} {last}.", "{last} gets nervous.", "Had {company} on the phone about it.", "Somebody in {department} forgot.", "{first} starts tomorrow.",
    "Big day in {city}.", "Board meeting in an hour.", "{company} visits us this afternoon.", "Got to run.", "Sent from my phone.", "{first} would do it but is ill.",
    "Talk later, {first}", "Lots going on in {city} right now.", "Ms {last} insists.", "Mr {last} complained.", "{department} won't wait.", "Much obliged!",
    "Call {first} with any questions.", "Long story, ask {first}.", "Keep {first} posted.", "Saves me a trip to {city}.", "{company} pays well for it.",
    "Never done this myself.", "{first} is new here.", "Speak soon, {first} {last}", "Everyone from {department} left early.", "Hope {city} is sunny!",

)  # fmt: skip

_WHO = (
    "{first}", "{first}", "{first} {last}", "{first} from {department}", "{company}", "{department}", "{first} in {city}", "the {city} office", "Mr {last}", "Ms {last}",
    "{first} at {company}",
)  # fmt: skip
_WHY = (
    "needs it", "is waiting", "won't let go", "called twice", "asked nicely", "gets impatient", "signs tonight", "leaves soon", "insists", "pays", "was promised this",
    "flagged it", "relies on me", "complained", "expects news", "reported that", "has no idea", "sent me here", "can't", "forgot", "will check", "wants proof",
    "counts on it", "owes me lunch", "takes over tomorrow", "noticed", "is on leave", "hates delays", "had the idea", "agreed", "knows", "brought it up",
    "lost patience", "set this deadline", "ran out of time", "couldn't find it", "starts early", "depends on this", "doubts me", "wrote again", "must see it",
)  # fmt: skip
"""Who is behind a request, and what they do: closers made of two halves."""
_OPENED, _CLOSED, _LOWER, _BARE = 0.22, 0.32, 0.15, 0.25
_TELEGRAPHIC, _SHORTENED = 0.45, 0.08
_TERSE = 11
"""So many words at most has a message whose writer leaves out articles."""
_ARTICLES = re.compile(
    r"(?<=[a-z,] )(?:the|an|a) (?!first|last|few|couple|same|best|right|top|newest|most|audit|answer|result|moment|end|list|look|lot|\d)"
)
_SENTENCE = re.compile(
    r"[?:]|[.!] |\b(?:I|I'm|I'd|we|you|me|is|are|has|have|had|do|does|should|needs?|want|wants|that|who|which|what|if|let's|then|once|after)\b|'s\b",
    re.I,
)
_SHORT_FORMS = (("with", "w/"), ("please", "plz"), ("you", "u"))
_SLOT = re.compile(r"\{(first|last|city|department|company)\}")


def order_of(want: Want, speech: Speech, *, plain: bool = False) -> str:
    """A want as an order of some politeness, without a final full stop.

    :param plain: no ``and`` and no ``if`` in the politeness.
    """
    ours = speech.chance(0.22) and not SPEAKER.search(want.do)
    patterns = _OURS if ours else _ORDERS
    pattern = speech.rng.choice([one for one in patterns if not plain or "and" not in one.split()])
    return filled(pattern, speech).format(do=want.do, doing=gerund(want.do))


def said(want: Want, speech: Speech, *, plain: bool = False) -> str:
    """A want as a question, an order, a statement or a thing that is needed."""
    roll = speech.rng.random()
    if want.asks and roll < 0.45:
        return filled(speech.rng.choice(_ASKS), speech).format(ask=speech.rng.choice(want.asks))
    if want.states and roll < 0.6:
        return speech.rng.choice(want.states)
    if want.need and roll < 0.62:
        return filled(speech.rng.choice(_NEEDS), speech).format(need=want.need)
    return order_of(want, speech, plain=plain)


def finished(text: str, speech: Speech, *, plain: bool = False) -> str:
    """The edges of a message: an opener or a closer now and then, a capital, a stop; or neither, as people type.

    :param plain: closers without ``if`` and ``otherwise``.
    """
    text = text.rstrip()
    if not text.endswith((".", "?", "!")):
        text += "."
    text = _hurried(text, speech)
    if speech.chance(_OPENED):
        opener = speech.rng.choice(_OPENERS)
        text = f"{filled(opener, speech)} {capital(text) if opener.endswith('.') else text}"
    elif speech.chance(_CLOSED):
        closers = [one for one in _CLOSERS if not plain or ("if" not in one and "otherwise" not in one)]
        closer = (
            f"{capital(speech.rng.choice(_WHO))} {speech.rng.choice(_WHY)}."
            if speech.chance(0.4)
            else speech.rng.choice(closers)
        )
        text = f"{capital(text)} {filled(closer, speech)}"
    text = capital(text)
    if speech.chance(_LOWER) and text.split()[0].rstrip(",.") not in speech.lexicon.pools["first"]:
        text = lowered(text)
    if text.endswith(".") and speech.chance(_BARE):
        text = text[:-1]
    return tidy(text)


def filled(pattern: str, speech: Speech) -> str:
    """A pattern with names of people, places and companies where it has room for them."""

    def name(slot: re.Match[str]) -> str:
        if slot[1] == "company":
            return f"{name_of('company_first')} {name_of('company_last')}"
        return name_of(slot[1])

    def name_of(pool: str) -> str:
        return speech.rng.choice(speech.lexicon.pools[pool])

    return _SLOT.sub(name, pattern)


def _hurried(text: str, speech: Speech) -> str:
    """Some leave out the articles of a short order, some write short forms."""
    if len(text.split()) <= _TERSE and not _SENTENCE.search(text) and speech.chance(_TELEGRAPHIC):
        return _ARTICLES.sub("", text)
    if speech.chance(_SHORTENED):
        for long, short in _SHORT_FORMS:
            if speech.chance(0.5):
                text = text.replace(f" {long} ", f" {short} ")
    return text
