"""Conditions: what may be said of a tool's answer: more than, before, still open, there are any."""

from __future__ import annotations

from datagen.generation.condition_outputs import Output
from datagen.generation.grammar import article
from datagen.generation.phrases import Fills, owner_phrase, parts_of, thing_phrase
from datagen.generation.sampler import Speech
from datagen.generation.tool_frame import Reading
from datagen.generation.value_sampler import draw

__all__ = ["condition_of"]

_STATES = ("still open", "approved", "on hold", "not done yet", "pending", "closed", "ready", "in the green", "blocked")
_MORE = ("is more than", "is over", "is above", "exceeds", "has gone past")
_LESS = ("is less than", "is under", "is below", "is down to less than")


def condition_of(reading: Reading, fills: Fills, speech: Speech, *, one: bool = False) -> str:
    """A condition on what the tool gives, as a clause without ``if``; empty where there is nothing to test.

    :param one: say of a list that there is one, rather than that there are some.
    """
    thing, owner = thing_phrase(reading, fills, speech), owner_phrase(reading, fills, speech)
    parts = parts_of(reading, fills, speech, sparse=True, spare=reading.kind == "get")
    at = reading.owner.noun.at if reading.owner is not None and reading.owner.noun is not None else "for"
    if reading.many:
        whose = f" {at} {owner}" if owner else ""
        return (
            _one_there(reading, f"{whose}{parts.tail}", parts.name, speech)
            if one
            else _existence(reading, f"{whose}{parts.tail}", speech)
        )
    said = speech.noun(reading.noun, reading.heard)
    of_owner = f" {at} {owner}" if owner else ""
    subject = f"{thing}{of_owner}" if thing else f"the {said}{of_owner}" if owner or not reading.mine else f"my {said}"
    tests = [test for output in reading.outputs for test in _tests(output, subject, speech)]
    if tests:
        return f"{speech.rng.choice(tests)}{parts.tail}"
    if owner and not thing and not reading.noun.mass and not reading.noun.plural:
        return speech.pick((f"there is {article(said)} {at} {owner}", f"{owner} has {article(said)}")) + parts.tail
    if thing or not owner:
        return (
            speech.pick((f"you find {subject}", f"we have {subject} on file", f"{subject} is in the books"))
            + parts.tail
        )
    return speech.pick((f"there is anything on {subject}", f"you see {subject}")) + parts.tail


def _tests(output: Output, subject: str, speech: Speech) -> list[str]:
    spoken = output.spoken
    if output.kind == "state":
        state = speech.rng.choice(output.choices) if output.choices else speech.rng.choice(_STATES)
        return [f"{subject} is {state}", f"{subject} isn't {state} yet" if output.choices else f"{subject} is {state}"]
    if output.kind == "flag":
        return [f"{subject} is {spoken}", f"{subject} isn't {spoken}"]
    if output.kind == "date":
        date = speech.dates.date()
        if spoken.split()[-1] in ("until", "to"):
            return [f"{subject} runs out before {date}", f"{subject} is good until at least {date}"]
        return [
            f"the {spoken} of {subject} is {speech.pick(('before', 'after', 'later than', 'no later than'))} {date}"
        ]
    value = draw({"money": "money", "rate": "rating"}.get(output.kind, "few"), speech.rng, speech.lexicon)
    if output.kind == "rate" and "percent" in output.name.lower():
        value = draw("percent", speech.rng, speech.lexicon)
    compare = speech.pick((*_MORE, *_LESS))
    return [f"the {spoken} of {subject} {compare} {value}"]


def _one_there(reading: Reading, tail: str, name: str, speech: Speech) -> str:
    """There is one: what is to happen can speak of ``it``."""
    noun = reading.noun
    quality = f" {speech.pick(reading.quality)}" if reading.quality else ""
    said = speech.noun(noun, reading.heard)
    if name:
        ways: tuple[str, ...] = (
            f"there's {article(said)} called {name}{tail}", f"we have {article(said)} called {name}{tail}", f"you come across {name}{tail}",
            f"{name} is among our {speech.noun(noun, many=True)}{tail}", f"there is {article(said)} named {name}{tail}" if not noun.person else f"{name} is with us{tail}",
        )  # fmt: skip
        return speech.pick(ways)
    which = f"{said if noun.mass or noun.plural else article(said)}{quality}{tail}".replace(" that are ", " that is ")
    ways = (
        f"there's {which}",
        f"there is {which}",
        f"you find {which}",
        f"we have {which}",
        f"we've got {which}",
        f"you see {which}",
    )
    return speech.pick(ways)


def _existence(reading: Reading, tail: str, speech: Speech) -> str:
    noun = reading.noun
    quality = f" {speech.pick(reading.quality)}" if reading.quality else ""
    said = f"{speech.noun(noun, reading.heard, many=True)}{quality}{tail}"
    if noun.mass:
        return speech.pick((f"there is any {said}", f"there's {said}"))
    more = speech.pick(("one", "two", "three", "four", "five", "six", "ten", "a dozen"))
    return speech.pick(
        (
            f"there are any {said}",
            f"there are {said}",
            f"there are more than {more} {said}",
            f"you find any {said}",
            f"we've got {said}",
            f"we have {said}",
        )
    )
