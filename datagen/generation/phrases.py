"""Phrases: the arguments of an intention as the parts of a clause that stand around its verb and its thing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from datagen.generation.arguments import Argument
from datagen.generation.grammar import article
from datagen.generation.sampler import Filler, Speech
from datagen.generation.tool_frame import Reading

__all__ = ["Fills", "Parts", "owner_phrase", "parts_of", "thing_phrase"]

Fills = Mapping[str, Filler]
"""Input → what stands for it, of the inputs that an earlier step fills."""

_DEGREES = frozenset("priority urgency impact severity probability risk".split())
_PREPOSITIONS = frozenset("in on at for to by from with about under of as over".split())
_AT_TIMES = re.compile(
    r"^(?:at (?=(?:Mon|Tues|Wednes|Thurs|Fri)day)|(?:on|at|in) (?=(?:tomorrow|next|today|this|last|Friday week|the day after)\b))"
)
_DETERMINED = re.compile(r"\b(?:the|our) \{v\}")
_LAST = frozenset("reason remark message fix problem flag".split())
_UNSEARCHED = frozenset("count few summary remark title hours".split())
_NAMED = frozenset(
    "company person celebrity movie show artist album song playlist franchise channel project event course part product haulier department "
    "city hardware equipment office room".split()
)
_OPTIONAL = (0.55, 0.16)
"""How likely a first and a second thing are said that need not be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The parts of a clause.

    :param after: phrases after it, in the order of speech.
    :param name: what a searched thing is called, bare, or empty.
    :param decision: the chosen decision as a verb's phrase with ``~``, or empty.
    :param change: the label and the new value of what is changed, or none.
    """

    after: tuple[str, ...] = ()
    name: str = ""
    decision: str = ""
    change: tuple[str, str] | None = None

    @property
    def tail(self) -> str:
        """The phrases after the thing."""
        return "".join(f" {phrase}" for phrase in self.after)


def parts_of(reading: Reading, fills: Fills, speech: Speech, *, spare: bool = False, sparse: bool = False) -> Parts:
    """The parts of a clause for a tool, its thing and owner aside.

    :param spare: say nothing that need not be said.
    :param sparse: say that which is said in a noun phrase: one thing more at most.
    """
    chosen = _chosen(reading, fills, speech, spare=spare, sparse=sparse)
    decision = _decision(reading, speech) if reading.decision in chosen else ""
    change: tuple[str, str] | None = None
    name = ""
    said: list[tuple[int, str]] = []
    for argument in chosen:
        if argument is reading.decision:
            continue
        filler = _filler(argument, fills)
        if (
            change is None
            and reading.kind == "update"
            and argument.role != "id"
            and argument.label
            and _changes(argument)
        ):
            change = (_label(argument, speech), filler.text if filler else _plain(reading, argument, speech))
        elif not name and filler is None and _names(reading, argument):
            name = speech.value(reading.tool, argument, reading.noun.pool)
        else:
            said.append(_phrase(reading, argument, filler, speech))
    said.sort(key=lambda pair: pair[0])
    return Parts(after=tuple(text for _, text in said), name=name, decision=decision, change=change)


def thing_phrase(reading: Reading, fills: Fills, speech: Speech) -> str:
    """Which one a tool is about: ``order 4500123``, or what stands for it; empty where nothing says."""
    argument = reading.identity
    if argument is None:
        return ""
    filler = _filler(argument, fills)
    return filler.text if filler is not None else speech.thing(reading.tool, argument, reading.heard)


def owner_phrase(reading: Reading, fills: Fills, speech: Speech) -> str:
    """Whose it is: ``vendor 40017``, or what stands for it; empty where nothing says."""
    argument = reading.owner
    if argument is None:
        return ""
    filler = _filler(argument, fills)
    return filler.text if filler is not None else speech.thing(reading.tool, argument, reading.heard)


def _chosen(reading: Reading, fills: Fills, speech: Speech, *, spare: bool, sparse: bool) -> list[Argument]:
    others = [one for one in reading.arguments if one is not reading.identity and one is not reading.owner]
    needed = [one for one in others if one.required or _filler(one, fills) is not None]
    able = [
        one for one in others if one not in needed and _optional(reading, one) and not _is_known(reading, one, speech)
    ]
    wanted = 0
    if not spare:
        wanted = sum(speech.chance(share / 2 if sparse and at else share) for at, share in enumerate(_OPTIONAL))
    wanted = max(wanted, int(speech.talkative))
    bare = not needed and reading.identity is None and reading.owner is None
    if reading.kind == "update" and not any(_changes(one) for one in needed):
        changeable = [one for one in able if _changes(one)]
        if changeable:
            needed.append(speech.rng.choice(changeable))
        wanted = 0
    if (bare or (reading.kind == "search" and not needed)) and able:
        wanted = max(1, wanted)
    able = [one for one in able if one not in needed]
    needed.extend(speech.rng.sample(able, min(wanted, len(able))))
    return sorted(needed, key=reading.arguments.index)


def _is_known(reading: Reading, argument: Argument, speech: Speech) -> bool:
    """Whether it would repeat what was said: another number of the same thing, or the number of what is looked for."""
    if argument.noun is None:
        return False
    return argument.noun.key == reading.noun.key or (speech.remembers and argument.noun.key in speech.named)


def _optional(reading: Reading, argument: Argument) -> bool:
    """Whether people would say it of their own accord: no foreign numbers beyond one, no titles made up for unknown inputs."""
    if argument.role == "id":
        return True
    if reading.many and argument.field is not None and argument.field.kind in _UNSEARCHED:
        return False
    if argument.field is not None and argument.field.say and argument.field.say[0].startswith("with {v} as the"):
        return False
    return not (
        argument.field is not None
        and argument.field.kind in ("summary", "code", "reference", "few")
        and argument.label == "limit"
    )


def _changes(argument: Argument) -> bool:
    return argument.role in ("value", "state", "choice", "text") and not (
        argument.field is not None and argument.field.kind in ("reason", "remark", "flag", "problem")
    )


def _names(reading: Reading, argument: Argument) -> bool:
    """Whether the argument is what a searched thing is called."""
    if (
        reading.kind not in ("search", "list")
        or reading.noun.pool not in _NAMED
        or argument.field is None
        or argument.role == "id"
    ):
        return False
    return argument.role == "text" or argument.field.kind in ("name", "company") or (argument.field.kind == "title")


def _filler(argument: Argument, fills: Fills) -> Filler | None:
    return next((fills[name] for name in argument.names if name in fills), None)


def _label(argument: Argument, speech: Speech) -> str:
    if argument.field is not None:
        stranded = argument.label.split()[-1:] in (["by"], ["to"], ["from"], ["for"], ["on"], ["at"])
        return (
            argument.field.noun
            if stranded
            else speech.pick(tuple(dict.fromkeys((argument.field.noun, argument.label))))
        )
    return argument.label


def _decision(reading: Reading, speech: Speech) -> str:
    argument = reading.decision
    if argument is None:
        return ""
    choice = speech.rng.choice(argument.choices)
    verb = speech.lexicon.verb(choice.split()[0]) if choice else ""
    phrases = [phrase for phrase in speech.lexicon.verbs.get(verb, ()) if phrase.endswith("~")]
    if not phrases:
        speech.record(reading.tool, argument, choice)
        return f"mark ~ as {choice}"
    phrase = speech.rng.choice(phrases)
    speech.record(reading.tool, argument, phrase.removesuffix("~").strip())
    return phrase


def _plain(reading: Reading, argument: Argument, speech: Speech) -> str:
    """A value of an argument that is no number of a thing."""
    if argument.choices:
        choice = speech.rng.choice(argument.choices)
        speech.record(reading.tool, argument, choice)
        return choice
    return speech.value(reading.tool, argument, _kind(reading, argument))


def _kind(reading: Reading, argument: Argument) -> str:
    kind = argument.field.kind if argument.field is not None else "thing"
    if kind in ("name", "title", "thing", "topic") and reading.noun.pool:
        return reading.noun.pool
    if kind == "city" and argument.names[0] in ("from", "to") and "rate" in reading.noun.key:
        return "currency"
    return "title" if kind == "name" and not reading.noun.person else kind


def _phrase(reading: Reading, argument: Argument, filler: Filler | None, speech: Speech) -> tuple[int, str]:
    """A phrase and its place: things first, reasons last."""
    if argument.role == "id":
        text = filler.text if filler is not None else _number_or_thing(reading, argument, speech)
        return 1, _with_thing(reading, argument, text)
    if filler is not None:
        return 2, _with_value(argument, filler.text, speech, filled=True)
    field = argument.field
    if field is not None and field.kind == "flag" and not argument.choices:
        phrase = speech.rng.choice(field.say)
        speech.record(reading.tool, argument, phrase.lstrip("- "))
        return 9, phrase
    value = _plain(reading, argument, speech)
    if argument.role == "decision":
        return 5, f"({value})"
    if argument.choices:
        phrase = _with_choice(reading, argument, value, speech)
        return (8 if phrase.startswith("-") else 4), phrase
    return (8 if field is not None and field.kind in _LAST else 5), _with_value(argument, value, speech)


def _number_or_thing(reading: Reading, argument: Argument, speech: Speech) -> str:
    if reading.kind == "create" and argument.noun is not None and argument.noun.key == reading.noun.key:
        return speech.number(reading.tool, argument)
    return speech.thing(reading.tool, argument, reading.heard)


def _with_value(argument: Argument, value: str, speech: Speech, *, filled: bool = False) -> str:
    field = argument.field
    if field is None:
        return f"with {value}"
    able = [say for say in field.say if not filled or not _DETERMINED.search(say)]
    pattern = speech.rng.choice(able or ("with {v}",))
    if filled and pattern.split()[0] not in _PREPOSITIONS:
        pattern = "with {v}"
    return _AT_TIMES.sub("", pattern.replace("{v}", value)).replace("on the end of", "at the end of")


def _with_choice(reading: Reading, argument: Argument, value: str, speech: Speech) -> str:
    last = argument.label.split()[-1] if argument.label else ""
    if argument.role == "state":
        return f"that {'are' if reading.many else 'is'} {value}" if reading.reads else f"as {value}"
    if last in _DEGREES:
        return speech.rng.choice((f"with {value} {last}", f"({last} {value})", f"at {value} {last}"))
    if reading.reads:
        return speech.rng.choice((f"- {value} only", f"({value} only)", f"- just {value}"))
    return speech.rng.choice((f"({value})", f"({value})", f"- {value}", f"- make it {value}"))


def _with_thing(reading: Reading, argument: Argument, text: str) -> str:
    noun = argument.noun
    if noun is None:
        return f"for {text}"
    name = argument.names[0].lower()
    if noun.key == reading.noun.key and reading.kind == "create":
        return f"as number {text}" if text[-1:].isdigit() else f"along the lines of {text}"
    if name.startswith("from"):
        return f"from {text}"
    if (
        name.startswith("to")
        and name[2:3] in ("_", *"abcdefghijklmnopqrstuvwxyz")
        and not name.startswith(("token", "tool", "topic", "total", "tour"))
    ):
        return f"to {text}"
    if reading.verb in ("send", "email", "notify", "forward", "share", "mail") and noun.person:
        return f"to {text}"
    if noun.person:
        role = noun.say[0] if " " in noun.key or noun.key in ("organiser", "caller", "host", "approver") else ""
        return f"with {text} as {article(role)}" if role and not reading.reads and role not in text else f"for {text}"
    preposition = "of" if not reading.reads and noun.at == "of" else noun.at
    return f"{'with' if preposition == 'of' and not reading.reads else preposition} {text}"
