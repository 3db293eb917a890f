"""Anaphora and descriptions: how a later step speaks of what an earlier one gives.

An anaphor points back at a step that was said ("the first one", "that vendor"); a description stands for a step that is not said
("the vendor behind bill 5105600211").
"""

from __future__ import annotations

from collections.abc import Mapping

from datagen.generation.arguments import Argument
from datagen.generation.grammar import article, possessive
from datagen.generation.phrases import Fills, owner_phrase, parts_of, thing_phrase
from datagen.generation.sampler import Filler, Speech
from datagen.generation.template_context import Unwordable
from datagen.generation.tool_frame import Reading
from datagen.tool_path import PathEdge, ToolPath

__all__ = ["anaphor", "described_fills", "is_same_thing", "pointing_fills"]

_DATED = ("latest", "most recent", "last", "newest", "oldest", "first")
"""Which one, of things that come one after the other."""
_DATED_HEADS = frozenset(
    "invoice bill payment order quote quotation contract agreement nda draft requisition request incident ticket case complaint delivery shipment "
    "parcel return report claim trip booking reservation event task visit posting entry notification transaction interview count survey message "
    "email award payslip timesheet matter opportunity change document receipt hold risk milestone session offer notice rfq review movie show "
    "episode season album track song release issue transfer defect batch lot operation enrolment certificate invitation".split()
)
_ANY_HEADS = frozenset(
    "room desk hotel flight offering venue technician slot carrier course bin session offer restaurant".split()
)
"""Things of which any will do."""
_WHOLES = ("header", "document", "overview", "detail", "record", "status", "profile")
"""What is said of a thing itself, not of a part of it."""
_HIDDEN = 2
"""So many steps at most are said as one description."""
_LONGEST = 13
"""So many words at most has a description."""
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


def anaphor(argument: Argument, source: Reading, speech: Speech, *, near: bool, only: bool = False) -> Filler:
    """What points back at a step: ``it`` where it was said just before.

    :param only: whether the step was said to give one thing.
    """
    noun = argument.noun
    if noun is None:
        label = argument.field.noun if argument.field is not None else argument.label or "result"
        if label.endswith("s") and not label.endswith("ss"):
            return Filler(
                text=speech.pick((f"those {label}", f"the same {label}", f"the {label} from there")), many=True
            )
        return Filler(
            text=speech.pick((f"that {label}", f"the same {label}", f"the {label} from there", f"the {label} you find"))
        )
    same, word = is_same_thing(argument, source), speech.noun(noun)
    if source.many and not only:
        return _from_several(argument, source, word, speech, near=near, same=same)
    if same:
        near_ones = (
            ("them", "them", f"that {word}", "that person")
            if noun.person
            else ("it", "it", "it", f"that {word}", "that one")
        )
        return Filler(text=speech.pick(near_ones if near else (f"that {word}", f"the {word}", f"that same {word}")))
    whose = "their" if source.noun.person else "its"
    return Filler(
        text=speech.pick(
            (f"{whose} {word}", f"{whose} {word}", f"that {word}") if near else (f"that {word}", f"the {word}")
        )
    )


def _from_several(argument: Argument, source: Reading, word: str, speech: Speech, *, near: bool, same: bool) -> Filler:
    """What points back at a list."""
    noun = argument.noun
    if noun is None or argument.many:
        several = speech.noun(noun, many=True) if noun is not None else "those"
        ones: tuple[str, ...] = (f"those {several}", f"all those {several}", f"the {several} you find")
        if near:
            ones = ("them", "them all", "all of them", *ones)
        return Filler(text=speech.pick(ones), many=True)
    if not same:
        return Filler(
            text=speech.pick(
                (f"that {word}", f"that {word}", f"the {word} on the first one", f"the first one's {word}")
            )
        )
    if source.noun.mass:
        return Filler(text=f"that {word}")
    order = speech.pick(_DATED) if source.noun.key.split()[-1] in _DATED_HEADS else "first"
    ones = (f"that {word}", f"that {word}", f"the {order} {word}", f"the {word} you find")
    if near:
        ones = (
            *ones,
            f"the {order} one",
            f"the {order} one",
            "that person" if source.noun.person else "that one",
            "one of them",
        )
    return Filler(text=speech.pick(ones))


def is_same_thing(argument: Argument, source: Reading) -> bool:
    """Whether an input takes the very thing that a tool is about."""
    noun = argument.noun
    if noun is None:
        return False
    return (
        noun.key == source.noun.key
        or noun.key.endswith(f" {source.noun.key}")
        or source.noun.key.endswith(f" {noun.key}")
        or source.noun.key in {f"{noun.key} {part}" for part in _WHOLES}
    )


def described_fills(
    tool: str, path: ToolPath, readings: Mapping[str, Reading], speech: Speech, skip: str = "", *, deep: int = _HIDDEN
) -> Fills:
    """Input → description, of all that earlier steps fill; those steps are not said.

    :param skip: a step that is said, whose outputs are left out.
    :param deep: how many steps, one behind the other, a description may stand for.
    :raises Unwordable: when a description would stand for more steps, or be too long to be said.
    """
    fills: dict[str, Filler] = {}
    for edge in path.into(tool):
        argument = readings[tool].argument(edge.parameter)
        if argument is not None and edge.parameter not in fills and edge.source != skip:
            if deep == 0:
                raise Unwordable("too many steps stand one behind the other to be said as one description")
            if readings[edge.source].kind == "create" and (readings[tool].reads or readings[tool].verb in _UNDOING):
                raise Unwordable("what a step before the last makes would only be looked at, or undone")
            filler = _description(argument, edge.source, path, readings, speech, deep - 1)
            if len(filler.text.split()) > _LONGEST:
                raise Unwordable("what the steps look up makes too long a description")
            fills[edge.parameter] = filler
    return fills


def _description(
    argument: Argument, source: str, path: ToolPath, readings: Mapping[str, Reading], speech: Speech, deep: int
) -> Filler:
    reading = readings[source]
    fills = described_fills(source, path, readings, speech, deep=deep)
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
        return Filler(text=_made(reading, fills, speech))
    raise Unwordable("a step before the last changes something, which cannot be left unsaid")


def _made(reading: Reading, fills: Fills, speech: Speech) -> str:
    """What a step makes that is not said: ``a new trip for Jan``."""
    owner, parts = owner_phrase(reading, fills, speech), parts_of(reading, fills, speech, spare=True)
    said = speech.noun(reading.noun, reading.heard)
    at = reading.owner.noun.at if reading.owner is not None and reading.owner.noun is not None else "for"
    whose = f" {'for' if at == 'of' else at} {owner}" if owner else ""
    made = (
        said if reading.noun.mass or reading.noun.plural else article(f"{speech.pick(('new', 'new', 'fresh'))} {said}")
    )
    return f"{made}{whose}{parts.tail}"


def _one_of_many(
    argument: Argument, reading: Reading, fills: Fills, speech: Speech, word: str, *, same: bool
) -> Filler:
    owner, parts = owner_phrase(reading, fills, speech), parts_of(reading, fills, speech, sparse=True)
    noun = reading.noun
    at = reading.owner.noun.at if reading.owner is not None and reading.owner.noun is not None else "for"
    quality = f" {speech.pick(reading.quality)}" if reading.quality else ""
    tail = f"{f' {at} {owner}' if owner else ''}{quality}{parts.tail}"
    if parts.name:
        one = speech.noun(noun)
        tail = tail.replace(" that are ", " that is ")
        named = parts.name if noun.pool in _PERSONAL or speech.chance(0.3) else f"the {one} {parts.name}"
        return Filler(
            text=f"{named}{tail}" if same or argument.noun is None else _of(word, f"{named}{tail}", argument, speech)
        )
    if argument.many and same:
        if noun.person and at == "on" and owner:
            return Filler(text=f"everyone on {owner}{quality}{parts.tail}", many=True)
        several = speech.noun(noun, many=True)
        return Filler(text=f"{speech.pick(('all the', 'the', 'all'))} {several}{tail}", many=True)
    chosen = _chosen_one(reading, tail.replace(" that are ", " that is "), speech)
    return Filler(text=chosen if same else _of(word, chosen, argument, speech))


def _chosen_one(reading: Reading, tail: str, speech: Speech) -> str:
    """One of several: the last of things that come one after the other, any of those that do the same, else the one that is told."""
    noun = reading.noun
    one = speech.noun(noun)
    if noun.mass or noun.plural:
        return f"the {one}{tail}"
    head = noun.key.split()[-1]
    if head in _DATED_HEADS:
        order = speech.pick(_DATED)
        ways: tuple[str, ...] = (
            f"the {order} {one}{tail}",
            f"the {order} {one}{tail}",
            f"the {one}{tail}" if tail else f"the {order} {one}",
        )
    elif head in _ANY_HEADS:
        ways = (f"{article(one)}{tail}", f"any {one}{tail}", f"one of the {speech.noun(noun, many=True)}{tail}")
    elif not tail:
        raise Unwordable("nothing says which one of several a step before the last is to give")
    else:
        ways = (f"the {one}{tail}", f"the {one}{tail}", f"one of the {speech.noun(noun, many=True)}{tail}")
    return speech.pick(ways)


def _of(word: str, thing: str, argument: Argument, speech: Speech) -> str:
    """What belongs to a thing, or the one who does: ``the vendor on bill 5105``, ``the person behind it``, ``Kestrel Ltd's pay``."""
    if argument.noun is not None and argument.noun.person:
        return f"the {word} {speech.pick(('on', 'behind', 'in charge of'))} {thing}"
    if len(thing.split()) <= 3 and not thing.startswith(("a ", "an ")):
        return (
            f"{possessive(thing)} {word}"
            if speech.chance(0.4)
            else f"the {word} {speech.pick(('on', 'of', 'for'))} {thing}"
        )
    return f"the {word} {speech.pick(('on', 'of', 'for'))} {thing}"


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
    if same:
        at = reading.owner.noun.at if reading.owner is not None and reading.owner.noun is not None else "of"
        return Filler(text=f"the {word} {at} {around}{parts.tail}")
    return Filler(text=f"{_of(word, around, argument, speech)}{parts.tail}")
