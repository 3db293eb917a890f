"""The clause of a tool: its thing, its owner, and the arguments that a request states."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from datagen.generation.arguments import Argument
from datagen.generation.data_files import word_classes
from datagen.generation.dates import TIMES
from datagen.generation.phrases import (
    Phrase,
    References,
    Step,
    decision_phrase,
    identifier,
    label_of,
    phrase_of,
    plain_value,
)
from datagen.generation.sampler import Sampler
from datagen.generation.tool_frame import GenerationError, ToolFrame, is_change, is_same, is_value

__all__ = ["Change", "Clause", "clause_of"]

_WORDS = word_classes("phrases")
_OPTIONAL = (0.55, 0.16)
"""How likely a first and a second optional value are stated."""
_SYSTEM_PLACE = 2
_MAX_STATED = 2.0
"""What one clause states beside its thing, at most. Readers of the shipped company and of three other vendors took more for a
form that is read aloud. A place, a time or an amount weighs half: people say from where, to where and when in one breath."""
_LIGHT = frozenset((*TIMES, "city", "count", "money", "small", "few", "km", "currency"))


class Change(NamedTuple):
    """What an update changes: the label of an input, and its new value."""

    label: str
    value: str


@dataclass(slots=True, kw_only=True)  # not frozen: that takes a tenth of the time of all wording
class Clause:
    """The parts of a clause about one tool.

    :param identity: the thing that the tool is about (``order 4500123``, or a referring expression), or empty.
    :param owner: what the thing belongs to, or empty.
    :param after: phrases after the object, in their order.
    :param name: the name of a thing that is searched for, or empty.
    :param decision: the verb phrase of a decision, with ``~`` for the object, or empty.
    :param change: what an update changes, or None.
    :param narrowed: whether a value, also one of a few allowed ones, is stated beside the thing.
    :param verbs: the name of the verb phrases of an order, or empty for those of the tool.
    :param filters: number of values that are stated and select the thing, beside its name and its owner.
    """

    frame: ToolFrame
    sampler: Sampler
    identity: str
    owner: str
    after: tuple[str, ...]
    name: str
    decision: str
    change: Change | None
    filters: int = 0
    narrowed: bool = False
    verbs: str = ""

    @property
    def selective(self) -> bool:
        """Whether something selects the thing among others: its number, its name, its owner or a value."""
        frame = self.frame
        owned = self.owner and (
            frame.preposition or not frame.is_general or (frame.owner is not None and frame.owner.required)
        )  # else the document does not say what belongs to what
        if not frame.many:
            return bool(self.identity or self.owner or self.filters or frame.own)
        return bool(self.name or owned or self.filters)

    @property
    def tail(self) -> str:
        """The phrases after the object, each after a space."""
        return "".join(f" {phrase}" for phrase in self.after)

    @property
    def preposition(self) -> str:
        """The preposition before the owner."""
        if self.frame.preposition:
            return self.frame.preposition
        own = self.frame.owner_noun.preposition if self.frame.owner_noun is not None else "for"
        return (
            "of" if own == "from" and self.frame.kind == "get" else own
        )  # certificates from a supplier, the rating of one

    @property
    def whose(self) -> str:
        """The owner with its preposition, after a space; or empty."""
        return f" {self.preposition} {self.owner}" if self.owner else ""

    @property
    def questions(self) -> tuple[str, ...]:
        """The questions of the lexicon about the thing, as far as it is identified."""
        thing = self.identity or self.owner
        able = (question for question in self.frame.noun.questions if thing or "{x}" not in question)
        return tuple(question.replace("{x}", thing) + self.tail for question in able)

    def noun(self, *, many: bool = False) -> str:
        """A word for the thing."""
        return self.sampler.noun(self.frame.noun, self.frame.document_words, many=many)


def clause_of(
    frame: ToolFrame, references: References, sampler: Sampler, *, minimal: bool = False, short: bool = False
) -> Clause:
    """The parts of a clause about a tool; the values that it states are drawn.

    :param minimal: without optional values.
    :param short: with one optional value at most, for a noun phrase.
    """
    step = Step(frame=frame, references=references, sampler=sampler)
    chosen = _chosen(step, minimal=minimal, short=short)
    _require_plain(step, chosen)
    identity = _identity(step)
    owner = "" if _is_stated(step, frame.owner) else identifier(step, frame.owner)
    decision = decision_phrase(step, frame.decision) if frame.decision is not None and frame.decision in chosen else ""
    change: Change | None = None
    name, filters = "", 0
    phrases: list[Phrase] = []
    for argument in chosen:
        if argument is frame.decision:
            continue
        reference = step.reference(argument)
        if _is_stated(step, argument):
            continue
        if change is None and frame.kind == "update" and is_change(argument):
            label = label_of(frame, argument, sampler)
            value = reference if reference is not None else plain_value(step, argument)
            change = Change(
                label, f"'{value}'" if reference is None and argument.kind in _WORDS["quoted_kinds"] else value
            )
        elif not name and reference is None and _is_name(frame, argument):
            name = sampler.value(frame.tool, argument, frame.noun.pool or argument.kind)
        elif change is not None and reference is None and is_value(argument):
            raise GenerationError("it changes two things at once")
        else:
            phrases.append(phrase_of(step, argument, reference))
            filters += not argument.choices and (reference is not None or argument.role != "state")
    if frame.changes_value and change is None and not decision:
        raise GenerationError("nothing that it changes can be said")
    narrowed = bool(phrases)
    if frame.system and frame.system not in sampler.systems:
        sampler.systems.add(frame.system)
        phrases.append(Phrase(_SYSTEM_PLACE, f"in {frame.system}"))
    phrases.sort(key=lambda phrase: phrase.place)
    after = tuple(phrase.text for phrase in phrases)
    return Clause(
        frame=frame, sampler=sampler, identity=identity, owner=owner, after=after, name=name, decision=decision,
        change=change, filters=filters, narrowed=narrowed,
    )  # fmt: skip


def _identity(step: Step) -> str:
    """The thing itself; ``that order`` where its number stands in the text already."""
    argument = step.frame.identity
    if argument is None or argument.noun is None or not _is_stated(step, argument):
        return identifier(step, argument)
    return f"that {step.sampler.noun(argument.noun)}"


def _is_stated(step: Step, argument: Argument | None) -> bool:
    """Whether the text has the number of the thing of an argument already, so that nobody says it again; its value is noted."""
    if argument is None or argument.role != "id" or step.reference(argument) is not None:
        return False
    if not argument.sayable or not step.sampler.is_stated(argument):
        return False
    step.sampler.number(step.frame.tool, argument)
    return True


def _require_plain(step: Step, chosen: Sequence[Argument]) -> None:
    """Check that the values of a clause are few, and no two of them are numbers of one kind of thing.

    :raises GenerationError: when they are not.
    """
    frame = step.frame
    stated = [one for one in (frame.owner, *chosen) if one is not None and one is not frame.decision]
    keys = [one.noun.key for one in (frame.identity, *stated) if one is not None and one.role == "id" and one.noun]
    if len(set(keys)) < len(keys):
        raise GenerationError("it takes two numbers of one kind of thing")
    references = [one for one in (frame.identity, *stated) if one is not None and step.reference(one) is not None]
    if len(references) > 1:
        raise GenerationError("it takes two things from steps before it")
    said = [one for one in (frame.identity, *stated) if one is not None and one not in references]
    around = {whole.noun.key for one in said for whole in one.within}
    if any(one.noun is not None and one.noun.key in around for one in references):
        raise GenerationError("the text says what a step before it gives")
    if frame.kind == "update" and any(one is not frame.identity and one is not frame.owner for one in references):
        raise GenerationError("what it changes is not what a step before it gives")
    if sum(0.5 if _is_light(one) else 1.0 for one in stated) > _MAX_STATED + 0.5 * (frame.kind == "update"):
        raise GenerationError("it takes more values than people state in one request")


def _is_light(argument: Argument) -> bool:
    """Whether an argument is a place, a time or an amount; a place may be said by its code."""
    return argument.kind in _LIGHT or (argument.noun is not None and argument.noun.pool in _LIGHT)


def _chosen(step: Step, *, minimal: bool, short: bool) -> list[Argument]:
    """The arguments that are stated: the required and the filled ones, and optional ones by chance."""
    frame, sampler = step.frame, step.sampler
    others = [one for one in frame.arguments if one is not frame.identity and one is not frame.owner]
    needed = [one for one in others if one.required or step.reference(one) is not None]
    able = [one for one in others if one not in needed and _is_optional(frame, one) and not _is_named(step, one)]
    able = [one for one in able if one.sayable]
    count = int(sampler.verbose)
    if not minimal:
        shares = [share / 2 if short and at else share for at, share in enumerate(_OPTIONAL)]
        count = max(count, sum(sampler.chance(share) for share in shares))
    unspecific = not needed and (
        frame.kind in ("search", "create") or (frame.identity is None and frame.owner is None and not frame.own)
    )
    if frame.one_of and frame.owner not in frame.one_of and not any(one in frame.one_of for one in needed):
        needed.append(_one_needed(frame))
    if frame.kind == "update" and not any(map(is_change, needed)):
        changeable = [one for one in able if is_change(one)]
        if changeable:
            telling = [one for one in changeable if one.kind not in _WORDS["unasked_kinds"]]
            needed.append(sampler.rng.choice(telling or changeable))
        count = 0
    if frame.kind == "create" and frame.is_general and all(one.role == "id" for one in needed):
        needed.extend([one for one in able if one.role != "id"][:1])  # who makes something says what it is like
        if all(one.role == "id" for one in needed):
            raise GenerationError("nothing says what the new one is like")
    if unspecific and able:
        count = max(1, count)
    able = [one for one in able if one not in needed]
    names = [one for one in able if _is_name(frame, one)]
    if any(_is_name(frame, one) for one in needed):  # who knows the name says nothing else
        count = 0
    elif names and count and frame.owner is None:
        able, count = names[:1], 1
    needed.extend(sampler.rng.sample(able, min(count, len(able))))
    return sorted(needed, key=frame.arguments.index)


def _one_needed(frame: ToolFrame) -> Argument:
    """The first argument that people can say of those of which a call needs one.

    :raises GenerationError: when there is none.
    """
    found = next((one for one in frame.one_of if one.sayable), None)
    if found is None:
        raise GenerationError("its document asks for one of several inputs, of which none can be said")
    return found


def _is_named(step: Step, argument: Argument) -> bool:
    """Whether a number would be stated twice: one more of the same thing, or of a thing that stands in the text or is given."""
    if argument.noun is None:
        return False
    sampler, key, frame = step.sampler, argument.noun.key, step.frame
    given = [one for one in frame.arguments if step.reference(one) is not None]
    mine = [one.noun.key for one in (frame.identity, frame.owner, *given) if one is not None and one.noun is not None]
    return any(is_same(key, one) for one in (frame.noun.key, *mine)) or (
        sampler.shares_numbers and key in sampler.named
    )


def _is_optional(frame: ToolFrame, argument: Argument) -> bool:
    """Whether people state it although they need not; nobody states the value of an unknown input."""
    general = argument.kind in _WORDS["unasked_kinds"] or (argument.role == "id" and not frame.many)
    if frame.is_general and (general or (frame.noun.person and argument.kind in ("login", "email"))):
        return False
    if frame.is_general and argument.kind == "past" and not frame.many:
        return False  # a time since when says which of several things are meant, not which one is read or what a new one is like
    if argument.role == "id" or argument.field is None:
        return True
    if frame.many and argument.kind in _WORDS["unsearched_kinds"]:
        return False
    if argument.field.phrases and argument.field.phrases[0].startswith("with {v} as the"):
        return False
    return argument.label != "limit" or argument.kind not in _WORDS["unlimited_kinds"]


def _is_name(frame: ToolFrame, argument: Argument) -> bool:
    """Whether the argument is the name of the thing that is searched for."""
    if not frame.many or argument.role == "id":
        return False
    if argument.kind in ("slug", "title") and frame.is_general:
        return argument.label in ("name", "title")
    if frame.noun.pool not in _WORDS["name_pools"]:
        return False
    return argument.field is not None and (argument.role == "text" or argument.kind in ("name", "company", "title"))
