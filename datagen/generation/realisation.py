"""Clauses: an intention as an order, as a question, as a thing that is needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from datagen.generation.grammar import article, possessive
from datagen.generation.phrases import Fills, Parts, owner_phrase, parts_of, thing_phrase
from datagen.generation.sampler import Speech
from datagen.generation.tool_frame import Reading

__all__ = ["Want", "put_in", "want_of"]

_PARTICLES = frozenset("out up off on in down away back over round along aside apart together".split())
_NO_SPLIT = frozenset("go have get keep".split())
_PRONOUNS = frozenset(("it", "them", "me", "that one", "this", "that"))
_WHOSE = {"it": "its", "them": "their", "me": "my"}
_SHORT = 4
_CHANGES = (
    "change the {label} of {x} to {v}",
    "set the {label} on {x} to {v}",
    "switch the {label} of {x} over to {v}",
    "make {v} the {label} of {x}",
    "put {v} down as the {label} of {x}",
    "enter {v} as the {label} of {x}",
    "replace the {label} of {x} with {v}",
    "correct the {label} of {x} to {v}",
    "swap the {label} of {x} for {v}",
    "update the {label} on {x}: {v}",
    "make the {label} of {x} {v}",
    "the {label} on {x} should be {v}",
    "the {label} of {x} is wrong, it has to be {v}",
    "{x} needs {v} as {label}",
    "the {label} for {x} is {v} now",
)
_STATED = tuple(change for change in _CHANGES if change.startswith(("the ", "{x}")))
_ORDERED = tuple(change for change in _CHANGES if change not in _STATED)
_GENERIC = frozenset(
    "get list search find query read show create new insert retrieve fetch lookup delete remove update change edit modify set".split()
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Want:
    """What somebody wants of one tool.

    :param do: an order, from its verb on, without a stop.
    :param need: what is needed, as a noun phrase; or empty.
    :param asks: questions without a question mark.
    :param states: sentences that say what should be.
    """

    do: str
    need: str = ""
    asks: tuple[str, ...] = ()
    states: tuple[str, ...] = ()


def want_of(reading: Reading, fills: Fills, speech: Speech, *, spare: bool = False) -> Want:
    """The want of a tool, some of whose inputs are filled by what was said before."""
    thing = thing_phrase(reading, fills, speech)
    owner = owner_phrase(reading, fills, speech)
    parts = parts_of(reading, fills, speech, spare=spare)
    if reading.kind == "get":
        return _get(reading, thing, owner, parts, speech)
    if reading.many:
        return _several(reading, owner, parts, speech)
    if reading.kind == "create":
        return _create(reading, owner, parts, speech)
    return _act(reading, thing, owner, parts, speech)


def put_in(pattern: str, thing: str) -> str:
    """A verb's phrase with its object: ``call off ~`` with ``it`` becomes ``call it off``."""
    front, _, back = pattern.partition("~")
    words = front.split()
    if (
        thing in _PRONOUNS
        and not back.strip()
        and len(words) == 2
        and words[1] in _PARTICLES
        and words[0] not in _NO_SPLIT
    ):
        return f"{words[0]} {thing} {words[1]}"
    return pattern.replace("~", thing)


def _verb(reading: Reading, speech: Speech, thing: str) -> str:
    own = speech.lexicon.verbs.get(reading.verb, ())
    if reading.kind == "create" and (not own or reading.verb in _GENERIC or speech.chance(0.3)) and reading.noun.make:
        options: Sequence[str] = [f"{make} ~" for make in reading.noun.make]
    elif own and (reading.verb not in _GENERIC or reading.kind not in speech.lexicon.kinds or reading.kind == "act"):
        options = own
    else:
        options = speech.lexicon.kinds[reading.kind]
    if len(thing.split()) > _SHORT:
        options = [option for option in options if option.endswith("~")] or options
    return speech.pick(options, reading.heard)


def _get(reading: Reading, thing: str, owner: str, parts: Parts, speech: Speech) -> Want:
    noun = reading.noun
    asked = tuple(
        question.replace("{x}", thing or owner) + parts.tail
        for question in noun.ask
        if "{x}" not in question or thing or owner
    )
    if thing:
        around = (
            f" {reading.owner.noun.at} {owner}"
            if reading.owner is not None and reading.owner.noun is not None and owner
            else ""
        )
        np = f"{thing}{around}"
        asked = asked or (
            f"what do we know about {np}{parts.tail}",
            f"what does {np} look like{parts.tail}",
            f"what's the latest on {np}{parts.tail}",
            f"can I see {np}{parts.tail}",
            f"any news on {np}{parts.tail}",
            f"what's in {np}{parts.tail}",
            f"what's going on with {np}{parts.tail}",
            f"where are we with {np}{parts.tail}",
            f"what do we have on {np}{parts.tail}",
            f"can you tell me more about {np}{parts.tail}",
        )
        if noun.person and not noun.ask:
            asked = (f"who is {np}{parts.tail}", f"what do we have on {np}{parts.tail}")
        details = speech.pick(("the details of ", "everything on ", *("",) * 12)) if thing not in _PRONOUNS else ""
        return Want(
            do=f"{put_in(_verb(reading, speech, np), details + np)}{parts.tail}",
            need=f"{speech.pick(('the details of', 'everything on', 'a look at'))} {np}{parts.tail}",
            asks=asked,
        )
    named = _owned(reading, owner, speech)
    is_are = "are" if noun.plural else "is"
    asked = asked or (f"what{' are' if noun.plural else chr(39) + 's'} {named}{parts.tail}",) + (
        (f"{is_are} there {_any(reading, speech)}{parts.tail}",) if not owner else ()
    )
    return Want(
        do=f"{put_in(_verb(reading, speech, named), named)}{parts.tail}", need=f"{named}{parts.tail}", asks=asked
    )


def _any(reading: Reading, speech: Speech) -> str:
    said = speech.noun(reading.noun, reading.heard)
    quality = f" {speech.pick(reading.quality)}" if reading.quality else ""
    return f"{f'any {said}' if reading.noun.mass or reading.noun.plural else article(said)}{quality}"


def _owned(reading: Reading, owner: str, speech: Speech, *, many: bool = False) -> str:
    """A thing by whose it is: ``the bills from vendor 40017``, ``Jan's pay``, ``my playlists``."""
    said = speech.noun(reading.noun, reading.heard, many=many)
    quality = f" {speech.pick(reading.quality)}" if reading.quality else ""
    if owner == "it":
        return f"its {said}{quality}"
    if owner in ("them", "they", "me"):
        return f"{'my' if owner == 'me' else 'their'} {said}{quality}"
    if owner and reading.owner is not None and reading.owner.noun is not None:
        short = len(owner.split()) <= 3 and " " not in said[:0]
        if short and reading.owner.noun.person and "of" not in said.split() and speech.chance(0.5):
            return f"{possessive(owner)} {said}{quality}"
        article_ = speech.pick(("the ", "all ", "", "", "")) if many else "the "
        return f"{article_}{said} {reading.owner.noun.at} {owner}{quality}"
    if reading.mine and speech.chance(0.8):
        return f"my {said}{quality}"
    return f"{said if many and speech.chance(0.5) else 'the ' + said}{quality}"


def _several(reading: Reading, owner: str, parts: Parts, speech: Speech) -> Want:
    if parts.name:
        return _named(reading, owner, parts, speech)
    noun = reading.noun
    np = f"{_owned(reading, owner, speech, many=not (noun.mass or noun.plural))}{parts.tail}"
    asks = [question.replace("{x}", owner) + parts.tail for question in noun.ask if "{x}" not in question or owner]
    if not reading.mine and owner not in _PRONOUNS:
        bare = speech.noun(noun, reading.heard, many=True)
        quality = f" {speech.pick(reading.quality)}" if reading.quality else ""
        whose = (
            f" {reading.owner.noun.at} {owner}"
            if owner and reading.owner is not None and reading.owner.noun is not None
            else ""
        )
        said = f"{bare}{whose}{quality}{parts.tail}"
        if noun.mass:
            asks.extend((f"is there any {said}", f"what {bare} do we have{whose}{quality}{parts.tail}"))
        else:
            which = ("which", "what")
            asks.extend(
                (
                    f"{speech.pick(which)} {bare} do we have{whose}{quality}{parts.tail}",
                    f"{speech.pick(which)} {bare} are there{whose}{quality}{parts.tail}",
                    f"are there any {said}",
                    f"do we have any {said}",
                    f"do you know of any {said}",
                    f"got any {said}",
                    f"how many {said} are there",
                    f"how many {said} do we have",
                    f"is there a list of {said}",
                    f"can I see {said}",
                    f"can you find any {said}",
                    f"can I get a list of {said}",
                    f"have we got {said}",
                    f"where do I see {said}",
                )
            )
    else:
        asks.append(f"what are {np}" if not noun.mass else f"what's {np}")
    short = np.removesuffix(parts.tail)
    return Want(do=f"{put_in(_verb(reading, speech, np), short)}{parts.tail}", need=np, asks=tuple(asks))


def _named(reading: Reading, owner: str, parts: Parts, speech: Speech) -> Want:
    """A search for something by its name."""
    one = speech.noun(reading.noun, reading.heard)
    whose = (
        f" {reading.owner.noun.at} {owner}"
        if owner and reading.owner is not None and reading.owner.noun is not None
        else ""
    )
    tail = f"{whose}{parts.tail}"
    called = speech.pick(
        (
            f"the {one} {parts.name}",
            f"{parts.name}",
            f"{article(one)} called {parts.name}",
            f"a {one} by the name of {parts.name}" if one[0] not in "aeiouh" else f"the {one} {parts.name}",
        )
    )
    asks = (
        f"do we have {article(one)} called {parts.name}{tail}",
        f"is there {article(one)} called {parts.name}{tail}",
        f"which {one} is {parts.name}{tail}",
        f"got {article(one)} named {parts.name}{tail}",
    )
    return Want(do=f"{put_in(_verb(reading, speech, called), called)}{tail}", need=f"{called}{tail}", asks=asks)


def _create(reading: Reading, owner: str, parts: Parts, speech: Speech) -> Want:
    noun = reading.noun
    said = speech.noun(noun, reading.heard)
    one = said if noun.mass or noun.plural else article(f"new {said}" if speech.chance(0.12) else said)
    whose = ""
    if owner and reading.owner is not None and reading.owner.noun is not None:
        preposition = "for" if reading.owner.noun.person or reading.owner.noun.at == "of" else reading.owner.noun.at
        whose = f" {preposition} {owner}"
    tail = f"{whose}{parts.tail}"
    return Want(
        do=f"{put_in(_verb(reading, speech, one), one)}{tail}",
        need=f"{one}{tail}",
        asks=(f"can we have {one}{tail}", f"could I get {one}{tail}") if speech.chance(0.2) else (),
        states=(f"we need {one}{tail}", f"I want {one}{tail}") if speech.chance(0.3) else (),
    )


def _act(reading: Reading, thing: str, owner: str, parts: Parts, speech: Speech) -> Want:
    around = ""
    if thing:
        np = thing
        if owner and reading.owner is not None and reading.owner.noun is not None:
            around = f" {'for' if reading.owner.noun.person or reading.owner.noun.at == 'of' else reading.owner.noun.at} {owner}"
            if reading.verb in ("send", "forward", "assign", "reassign", "email") and reading.owner.noun.person:
                around = f" to {owner}"
    else:
        np = _owned(reading, owner, speech) if owner or reading.mine else _loose(reading, speech)
    tail = f"{around}{' ' + reading.tail if reading.tail else ''}{parts.tail}"
    if parts.change is not None and np in _WHOSE:
        label, value = parts.change
        whose = f"{_WHOSE[np]} {label}"
        return Want(
            do=f"{speech.pick(('change', 'set', 'switch', 'correct'))} {whose} to {value}{tail}",
            states=(f"{whose} should be {value}{tail}",),
        )
    if parts.change is not None:
        label, value = parts.change
        order, state = speech.pick(_ORDERED), speech.pick(_STATED)
        return Want(
            do=order.format(label=label, x=np, v=value) + tail,
            states=(state.format(label=label, x=np, v=value) + tail,),
        )
    pattern = parts.decision or _verb(reading, speech, np)
    return Want(do=f"{put_in(pattern, np)}{tail}")


def _loose(reading: Reading, speech: Speech) -> str:
    """A thing that nothing identifies."""
    said = speech.noun(reading.noun, reading.heard)
    if reading.noun.mass or reading.noun.plural:
        return said
    return article(said) if reading.verb in ("send", "send", "schedule", "book") else f"the {said}"
