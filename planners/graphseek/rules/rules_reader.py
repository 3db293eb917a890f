"""Reads a question into what the rules can plan: general forms of types, names, conditions and relation words, in the order of the text."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ontology.number_words import is_amount
from planners.graphseek.rules.condition_reading import ConditionReading
from planners.graphseek.rules.count_reading import CountReading
from planners.graphseek.rules.joined_mentions import add_plain_names, join_names
from planners.graphseek.rules.question_mentions import Mention
from planners.graphseek.rules.question_reading import Reading, Stop
from planners.graphseek.rules.said_question import SaidQuestion, UnreadableError, names_of
from planners.graphseek.rules.target_reading import TargetReading

__all__ = ["read_question"]

# Ordinary English; the reading of no shipped question depends on them.
_ALONE = ("it", "they", "them")  # what stands for a thing; "their ships" may be of one that the question names
_JOINED = re.compile(r"\b(?:and|but)\b|,")
_WITH = re.compile(r"\b(?:with|having|(?:that|which|who) (?:has|have|had)) (?:the )?$")


def read_question(said: SaidQuestion) -> Reading:
    """Return what a question asks for.

    :raises UnreadableError: when that cannot be told.
    """
    target = TargetReading(said)
    names = dict(target.named_stops())
    add_plain_names(said, names)
    joined = join_names(said, names)
    reading = target.begin()
    target.settle_asked(reading)
    counts = CountReading(said, reading)
    counts.read_counts()
    counts.read_times()
    for stop in names.values() if target.are_sorts else ():
        stop.related = True  # "what types of area is England divided into"
    _read_stops(said, reading, {each: stop for each, stop in names.items() if each not in joined})
    conditions = ConditionReading(said, reading)
    conditions.read_conditions()
    _place_rank(reading)
    reading.relations = list(conditions.relations())
    reading.refers_back = bool(pronouns := said.cues("it")) and not names
    if reading.refers_back:
        reading.pronoun = next((each.text for each in pronouns if each.text.lower() in _ALONE), "")
    reading.doer = said.doer
    conditions.read_remaining()
    reading.mentions = tuple(each for each in said.all if each not in said.passed)
    _refuse_unread_numbers(said, reading)
    _refuse_open_counts(said, reading)
    return reading


def _refuse_open_counts(said: SaidQuestion, reading: Reading) -> None:
    """Refuse a question in which it is open what has so many, or what is counted: the plan counts for what is asked for, and all of them.

    :raises UnreadableError: when it is.
    """
    if reading.counted is None:
        return
    counted = reading.counted.of.at
    text = said.text.lower()
    for chain in reading.chains:
        if chain[0].at > counted and not _JOINED.search(text[counted : chain[0].at]):
            shown = chain[0].name or " or ".join(chain[0].types)
            raise UnreadableError(f"it is not clear whether “{shown}” narrows what is counted; ask in two questions")
        inner = [stop for stop in chain if not stop.name and reading.target.at < stop.at < counted]
        cue = max((each.start for each in said.cues("bound", "top") if each.end <= counted), default=counted)
        if inner and _WITH.search(text[:cue]):
            types = " or ".join(inner[-1].types)
            raise UnreadableError(
                f"what stands behind {types} is counted for what is asked for alone; ask in two questions"
            )


def _refuse_unread_numbers(said: SaidQuestion, reading: Reading) -> None:
    """Refuse a question with a number or a bound that would be left out: the answer would be one to another question.

    :raises UnreadableError: when it has one.
    """
    for each in said.all:
        is_number = each.number is not None and not said.is_pronoun(each)
        if (is_number or each.is_cue("bound")) and each not in said.used:
            raise UnreadableError(f"it is not clear what “{each.text}” counts or compares")
    if amount := next(filter(is_amount, reading.unread), None):
        raise UnreadableError(f"the number “{amount}” could not be read")
    if reading.limit and not reading.is_limited:
        raise UnreadableError(f"it is not clear which {reading.limit} are meant")


def _read_stops(said: SaidQuestion, reading: Reading, names: Mapping[Mention, Stop]) -> None:
    """Read chains of types and names; a name ends one."""
    chain: list[Stop] = []
    for each in said.rest:
        if each in names:
            chain.append(names[each])
            reading.chains.append(chain)
            chain = []
        elif each.types and each not in said.used and not said.is_property(each):
            said.used.add(each)
            if reading.kind in ("loss", "change"):
                reading.targets += names_of(each.types)
            else:
                chain.append(Stop(at=each.start, types=names_of(each.types)))
    if chain:
        reading.chains.append(chain)


def _place_rank(reading: Reading) -> None:
    """Move a rank to the type that has its property: "made of the component with the highest price"."""
    rank = reading.target.rank
    if rank is not None and rank.at is not None:
        placed = next((stop for stop in reading.stops if stop.at == rank.at), None)
        if placed is None:
            raise UnreadableError("it is not clear of what it has the first ones")
        placed.rank, reading.target.rank = rank, None
        return
    if rank is None or rank.total or any(each.owner in reading.targets for each in rank.properties):
        return
    for stop in reading.stops:
        if any(each.owner in stop.types for each in rank.properties):
            stop.rank, reading.target.rank = rank, None
            return
