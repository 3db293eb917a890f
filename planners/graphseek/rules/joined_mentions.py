"""Names and values that are joined: "A and B", "A, B or C", "A but not B"; a name behind the first may be a plain word."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from planners.graphseek.rules.question_mentions import Mention
from planners.graphseek.rules.question_reading import Joined, JoinedBy, Stop
from planners.graphseek.rules.said_question import SaidQuestion, UnreadableError, is_plural, names_of

__all__ = ["Joint", "add_plain_names", "join_names", "joint_between", "joints_of"]

# A closed class of English; the reading of no shipped question depends on them.
_JOINT = re.compile(r"\s*,?\s*(,|and not|but not|and|or|not)\s*")
_SMALL = re.compile(r"\b(?:the|an?|also|both|either)\b|['\"“”‘’]")
_BY: dict[str, JoinedBy] = {"and": "and", "or": "or", "not": "not", "and not": "not", "but not": "not"}
# Words before the type of one thing: "the parameter plant", "or parameter plant". Found on questions on the tool graph.
_OF_ONE = frozenset("the and or not".split())


@dataclass(frozen=True, slots=True)
class Joint:
    """How a mention is joined to the first one of its row; ``cues``: what says so."""

    first: Mention
    by: JoinedBy
    cues: tuple[Mention, ...]


def joints_of(said: SaidQuestion, mentions: Sequence[Mention]) -> dict[Mention, Joint]:
    """Return how mentions are joined to those before them, of those that are.

    :param mentions: in their order.
    :raises UnreadableError: when "and" and "or" stand in one row, or "and" behind "not".
    """
    found: dict[Mention, Joint] = {}
    row: list[tuple[Mention, str]] = []
    for each in (*mentions, None):
        said_by = joint_between(said, row[-1][0], each) if row and each else ""
        if each and said_by:
            row.append((each, said_by))
            continue
        found |= dict(_row(said, row))
        row = [(each, "")] if each else []
    return found


def _row(said: SaidQuestion, row: Sequence[tuple[Mention, str]]) -> Iterator[tuple[Mention, Joint]]:
    later: JoinedBy = "and"
    by: list[JoinedBy] = []
    for _, said_by in reversed(row[1:]):  # a comma means what stands behind it
        later = later if said_by == "," else _BY[said_by]
        by.insert(0, "and" if said_by == "," and later == "not" else later)
    for at, ((before, _), (each, _)) in enumerate(itertools.pairwise(row)):
        if "not" in by[:at]:
            if by[at] == "and":
                raise UnreadableError("it is not clear how far “not” goes; say it before each of them")
            by[at] = "not"
        cues = [cue for cue in said.cues("or", "not") if before.end <= cue.start < each.start]
        yield each, Joint(row[0][0], by[at], tuple(cues))
    if {"and", "or"} <= set(by):
        raise UnreadableError("it joins things by “and” and by “or”; say one of them")


def joint_between(said: SaidQuestion, left: Mention, right: Mention) -> str:
    """Return what joins two mentions, where nothing else stands between them but the type of the second one."""
    text = list(said.text[left.end : right.start].lower())
    for each in said.all:
        is_relation = bool(each.relations) and not all(
            type_.own for type_ in each.types
        )  # "output": that it is returned
        if left.end <= each.start < right.start and each in said.used and each.types and not is_relation:
            text[each.start - left.end : each.end - left.end] = " " * (each.end - each.start)
    match = _JOINT.fullmatch(" ".join(_SMALL.sub(" ", "".join(text)).split()))
    return match[1] if match else ""


def join_names(said: SaidQuestion, names: dict[Mention, Stop]) -> set[Mention]:
    """Join the stops of names to the first one of their row; return the names that were joined.

    :raises UnreadableError: as :func:`joints_of`.
    """
    joints = joints_of(said, sorted(names, key=lambda each: each.start))
    for each, joint in joints.items():
        first = names[joint.first]
        names[each].related = first.related
        first.joined.append(Joined(by=joint.by, stop=names[each], cues=joint.cues))
    return set(joints)


def add_plain_names(said: SaidQuestion, names: dict[Mention, Stop]) -> None:
    """Add plain words that are names where they stand, beside a name: joined to it, or behind the type of one thing."""
    for each in list(_together(said)):
        before = said.before(each)
        is_typed = (
            before is not None
            and bool(before.types)
            and not is_plural(before.text)
            and before.before in _OF_ONE
            and not said.between(before, each).strip()
        )
        types = names_of(before.types) if before is not None and is_typed else ()
        if before is not None and is_typed:
            said.used.add(before)
        last = max((name for name in names if name.end <= each.start), key=lambda name: name.start, default=None)
        is_joined = last is not None and bool(joint_between(said, last, each))
        if is_joined or (is_typed and last is not None):
            named = replace(each, name=each.text)
            said.take_as_name(named)
            names[named] = Stop(at=each.start, types=types, name=each.text, is_plain=True)
        elif before is not None and is_typed:
            said.used.discard(before)


def _together(said: SaidQuestion) -> Iterator[Mention]:
    """Yield words that mean nothing, those that stand together as one."""
    row: list[Mention] = []
    for each in (*said.unread, None):
        if each and row and not said.text[row[-1].end : each.start].strip():
            row.append(each)
            continue
        if row:
            yield replace(row[0], end=row[-1].end, text=said.text[row[0].start : row[-1].end])
        row = [each] if each else []
