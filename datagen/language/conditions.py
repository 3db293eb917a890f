"""Conditions: what may be said of a tool's answer: more than, before, still open, there are any."""

from __future__ import annotations

from datagen.language.grammar import article
from datagen.language.outputs import Output
from datagen.language.phrases import Fills, owner_phrase, parts_of, thing_phrase
from datagen.language.reading import Reading
from datagen.language.speech import Speech
from datagen.language.values import draw

__all__ = ["condition_of"]

_STATES = ("still open", "approved", "on hold", "not done yet", "pending", "closed", "ready", "in the green", "blocked")
_MORE = ("is more than", "is over", "is above", "exceeds", "has gone past")
_LESS = ("is less than", "is under", "is below", "has dropped below")


def condition_of(reading: Reading, fills: Fills, speech: Speech) -> str:
    """A condition on what the tool gives, as a clause without ``if``; empty where there is nothing to test."""
    thing, owner = thing_phrase(reading, fills, speech), owner_phrase(reading, fills, speech)
    parts = parts_of(reading, fills, speech, sparse=True, spare=reading.kind == "get")
    at = reading.owner.noun.at if reading.owner is not None and reading.owner.noun is not None else "for"
    if reading.many:
        return _existence(reading, f" {at} {owner}" if owner else "", parts.tail, parts.name, speech)
    said = speech.noun(reading.noun, reading.heard)
    of_owner = f" {at} {owner}" if owner else ""
    subject = f"{thing}{of_owner}" if thing else f"the {said}{of_owner}" if owner or not reading.mine else f"my {said}"
    tests = [test for output in reading.outputs for test in _tests(output, subject, speech)]
    if tests:
        return f"{speech.rng.choice(tests)}{parts.tail}"
    if owner and not thing and not reading.noun.mass and not reading.noun.plural:
        return speech.pick((f"there is {article(said)} {at} {owner}", f"{owner} has {article(said)}")) + parts.tail
    return (
        speech.pick(
            (
                f"there is a trace of {subject}",
                f"you can find {subject}",
                f"we have {subject} on file",
                f"you come across {subject}",
            )
        )
        + parts.tail
    )


def _tests(output: Output, subject: str, speech: Speech) -> list[str]:
    spoken = output.spoken
    if output.kind == "state":
        state = speech.rng.choice(output.choices) if output.choices else speech.rng.choice(_STATES)
        return [f"{subject} is {state}", f"{subject} isn't {state} yet" if output.choices else f"{subject} is {state}"]
    if output.kind == "flag":
        return [f"{subject} is {spoken}", f"{subject} isn't {spoken}"]
    if output.kind == "date":
        date = draw("date", speech.rng, speech.lexicon)
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


def _existence(reading: Reading, whose: str, tail: str, name: str, speech: Speech) -> str:
    noun = reading.noun
    quality = f" {speech.pick(reading.quality)}" if reading.quality else ""
    if name:
        one = speech.noun(noun, reading.heard)
        return speech.pick(
            (
                f"there's {article(one)} called {name}{whose}{tail}",
                f"you can find the {one} {name}{whose}{tail}",
                f"{name} is among our {speech.noun(noun, many=True)}{whose}{tail}",
            )
        )
    said = f"{speech.noun(noun, reading.heard, many=True)}{whose}{quality}{tail}"
    if noun.mass:
        return speech.pick((f"there is any {said}", f"there's {said}"))
    more = speech.pick(("one", "two", "three", "four", "five", "six", "ten", "a dozen"))
    if tail or whose:
        return speech.pick(
            (f"there are any {said}", f"there are {said}", f"there are over {more} {said}", f"you find {said}", f"we've got {said}",
             f"there aren't any {said}", f"we have {said}", f"you see {said}")
        )  # fmt: skip
    return speech.pick((f"any {said} turn up", f"{said} exist", f"there are {said}", f"at least {more} {said} show up"))
