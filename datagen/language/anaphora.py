"""Anaphora and descriptions: how a later step speaks of what an earlier one gives.

An anaphor points back at a step that was said ("the first one", "that vendor"); a description stands for a step that is not said
("the vendor behind bill 5105600211").
"""

from __future__ import annotations

from collections.abc import Mapping

from datagen.language.arguments import Argument
from datagen.language.grammar import article, possessive
from datagen.language.phrases import Fills, owner_phrase, parts_of, thing_phrase
from datagen.language.reading import Reading
from datagen.language.scene import Unwordable
from datagen.language.speech import Filler, Speech
from datagen.path import PathEdge, ToolPath

__all__ = ["anaphor", "described_fills", "is_same_thing", "pointing_fills"]

_SUPERLATIVES = (
    "latest", "newest", "last", "oldest", "next", "only", "earliest", "top", "most urgent", "current", "freshest", "biggest", "smallest", "best",
    "first-named", "remaining", "most recent", "longest", "main",
)  # fmt: skip
_UNDOING = frozenset("delete remove cancel withdraw revoke reverse release".split())
_PERSONAL = frozenset("company person celebrity artist".split())


def pointing_fills(
    reading: Reading, edges: tuple[PathEdge, ...], readings: Mapping[str, Reading], last: str, speech: Speech
) -> Fills:
    """Input → anaphor, for a step that follows what was said.

    :param last: the tool that was said just before.
    """
    fills: dict[str, Filler] = {}
    for edge in edges:
        argument = reading.argument(edge.parameter)
        if argument is not None and edge.parameter not in fills and edge.source in readings:
            taken = any(filler.text in ("it", "them") for filler in fills.values())
            fills[edge.parameter] = anaphor(
                argument, readings[edge.source], speech, near=edge.source == last and not taken
            )
    return fills


def anaphor(argument: Argument, source: Reading, speech: Speech, *, near: bool) -> Filler:
    """What points back at a step: ``it`` where it was said just before."""
    noun = argument.noun
    if noun is None:
        label = argument.field.noun if argument.field is not None else argument.label or "result"
        return Filler(
            text=speech.pick(
                (
                    f"that {label}",
                    f"the {label} you get",
                    f"the {label} from there",
                    f"the same {label}",
                    f"the {label} it says",
                )
            )
        )
    same = is_same_thing(argument, source)
    word = speech.noun(noun)
    if source.many:
        if argument.many:
            several = speech.noun(noun, many=True)
            return Filler(
                text=speech.pick(
                    (
                        "them",
                        "all of them",
                        f"those {several}",
                        f"the {several} you find",
                        f"these {several}",
                        "each of those",
                        f"every {word} on that list",
                    )
                ),
                many=True,
            )
        if same:
            return Filler(
                text=speech.pick(
                    (
                        f"the first {word}",
                        "the first one",
                        "the best match",
                        f"the {word} you find",
                        "the top one",
                        f"whichever {word} comes up",
                        "the newest of those",
                        f"the {word} on top",
                        f"the most recent {word}",
                        "whatever comes up",
                        "the last one",
                        "number one",
                        f"that {word}",
                        "the right one",
                    )
                )
            )
        return Filler(
            text=speech.pick(
                (
                    f"the {word} of the first one",
                    f"that {word}",
                    f"the {word} you see there",
                    f"the {word} of the top one",
                )
            )
        )
    if same and near:
        return Filler(
            text="them"
            if noun.person and speech.chance(0.5)
            else speech.pick((f"that {word}", "it" if not noun.person else f"that {word}", f"the same {word}"))
        )
    if same:
        return Filler(text=speech.pick((f"that {word}", f"the {word}", f"the same {word}")))
    whose = "their" if source.noun.person else "its"
    return Filler(
        text=speech.pick(
            (f"{whose} {word}", f"that {word}", f"{whose} {word}", f"the {word} it names", f"the {word} shown there")
        )
        if near
        else f"that {word}"
    )


def is_same_thing(argument: Argument, source: Reading) -> bool:
    """Whether an input takes the very thing that a tool is about."""
    noun = argument.noun
    if noun is None:
        return False
    return (
        noun.key == source.noun.key
        or noun.key.endswith(f" {source.noun.key}")
        or source.noun.key.endswith(f" {noun.key}")
        or (source.noun.key.startswith(noun.key))
    )


def described_fills(
    tool: str, path: ToolPath, readings: Mapping[str, Reading], speech: Speech, skip: str = ""
) -> Fills:
    """Input → description, of all that earlier steps fill; those steps are not said.

    :param skip: a step that is said, whose outputs are left out.
    """
    fills: dict[str, Filler] = {}
    for edge in path.into(tool):
        argument = readings[tool].argument(edge.parameter)
        if argument is not None and edge.parameter not in fills and edge.source != skip:
            if readings[edge.source].kind == "create" and (readings[tool].reads or readings[tool].verb in _UNDOING):
                raise Unwordable("what a step before the last makes would only be looked at, or undone")
            fills[edge.parameter] = _description(argument, edge.source, path, readings, speech)
    return fills


def _description(
    argument: Argument, source: str, path: ToolPath, readings: Mapping[str, Reading], speech: Speech
) -> Filler:
    reading = readings[source]
    fills = described_fills(source, path, readings, speech)
    same = is_same_thing(argument, reading)
    if argument.noun is None:
        word = argument.field.noun if argument.field is not None else argument.label or "result"
    else:
        word = speech.noun(argument.noun)
    if reading.mine and not reading.many:
        return Filler(text="me" if argument.noun is not None and argument.noun.person else f"my {word}")
    if reading.many:
        return _one_of_many(argument, reading, fills, speech, word, same=same)
    if reading.kind == "get":
        return _given(argument, reading, fills, speech, word, same=same)
    if reading.kind == "create":
        owner, parts = owner_phrase(reading, fills, speech), parts_of(reading, fills, speech, spare=True)
        said = speech.noun(reading.noun, reading.heard)
        at = reading.owner.noun.at if reading.owner is not None and reading.owner.noun is not None else "for"
        whose = f" {'for' if at == 'of' else at} {owner}" if owner else ""
        made = (
            said
            if reading.noun.mass or reading.noun.plural
            else article(f"{speech.pick(('new', 'fresh', 'brand-new'))} {said}")
        )
        return Filler(text=f"{made}{whose}{parts.tail}")
    raise Unwordable("a step before the last changes something, which cannot be left unsaid")


def _one_of_many(
    argument: Argument, reading: Reading, fills: Fills, speech: Speech, word: str, *, same: bool
) -> Filler:
    owner, parts = owner_phrase(reading, fills, speech), parts_of(reading, fills, speech, sparse=True)
    noun = reading.noun
    at = reading.owner.noun.at if reading.owner is not None and reading.owner.noun is not None else "for"
    whose = f" {at} {owner}" if owner else ""
    quality = f" {speech.pick(reading.quality)}" if reading.quality else ""
    tail = (
        f"{whose}{quality}{parts.tail}".replace(" that are ", " that is ")
        if not argument.many
        else f"{whose}{quality}{parts.tail}"
    )
    if parts.name:
        one = speech.noun(noun)
        named = parts.name if noun.pool in _PERSONAL and speech.chance(0.6) else f"the {one} {parts.name}"
        if same or argument.noun is None:
            return Filler(text=f"{named}{tail}")
        return Filler(text=f"the {word} of {named}{tail}")
    if argument.many:
        several = speech.noun(noun, many=True)
        return Filler(text=f"{speech.pick(('all the', 'the', 'all'))} {several}{tail}", many=True)
    one = speech.noun(noun)
    chosen = f"the {speech.pick(_SUPERLATIVES)} {one}{tail}" if not noun.mass else f"the {one}{tail}"
    return Filler(text=chosen if same else f"the {word} {speech.pick(('of', 'behind', 'on'))} {chosen}")


def _given(argument: Argument, reading: Reading, fills: Fills, speech: Speech, word: str, *, same: bool) -> Filler:
    thing, owner = thing_phrase(reading, fills, speech), owner_phrase(reading, fills, speech)
    parts = parts_of(reading, fills, speech, spare=True)
    at = reading.owner.noun.at if reading.owner is not None and reading.owner.noun is not None else "of"
    around = f"{thing} {at} {owner}" if thing and owner else thing or owner
    person = argument.noun is not None and argument.noun.person
    if reading.noun.person and not thing and owner and (same or person):
        word = speech.noun(reading.noun)
        named = f"{possessive(owner)} {word}" if len(owner.split()) <= 4 else f"the {word} of {owner}"
        return Filler(text=f"{named}{parts.tail}")
    if same and thing:
        raise Unwordable("a step before the last gives but the number that is said, so that nothing needs it")
    if not around:
        said = speech.noun(reading.noun, reading.heard)
        return Filler(text=f"the {said}{parts.tail}" if same else f"the {word} of the {said}{parts.tail}")
    links: tuple[str, ...] = ("behind", "on", "of") if not person else ("behind", "responsible for", "on")
    if same:
        links = (reading.owner.noun.at if reading.owner is not None and reading.owner.noun is not None else "of",)
    return Filler(text=f"the {word} {speech.pick(links)} {around}{parts.tail}")
