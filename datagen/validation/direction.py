"""Directions: a tool that does the opposite of what is asked for, and values of opposite ends that changed places."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from functools import cache
from itertools import islice

from datagen.patterns import load_patterns
from datagen.synthetic_request import SampleValue
from datagen.validation.parsed_request import ParsedRequest
from datagen.validation.path_fit import PathFit
from ontology.names import verb_lemma, words

__all__ = ["are_ends", "find_swapped_ends", "find_wrong_direction"]

_DIRECTIONS = load_patterns("validation/directions")
_WORD = re.compile(r"[a-z]+")
_COURTESIES = _DIRECTIONS.words("courtesies")
_REVERSALS = tuple(_DIRECTIONS.words("reversals"))
_ENDS = _DIRECTIONS.pairs("ends")
_MAX_BEFORE = 20  # characters before a value in which its preposition is looked for


def find_wrong_direction(parsed: ParsedRequest, fit: PathFit) -> str:
    """Why a tool does the opposite of what is asked for, or empty.

    A request for one action of a pair needs a tool of that action, and none of the other. It says nothing where it has both
    words, or takes one back: "do not block".
    """
    said = frozenset(_WORD.findall(parsed.masked))
    for mine, theirs in (("inward", "outward"), ("outward", "inward")):
        here, there = _DIRECTIONS.words(mine), _DIRECTIONS.words(theirs)
        about = next((tool.id for tool in fit.tools if not here.isdisjoint(tool.name)), "")
        both = any(not there.isdisjoint(tool.name) for tool in fit.tools)
        if about and not both and said.isdisjoint(here) and not said.isdisjoint(there):
            return f"it is about what goes the other way than {about}"
    if _DIRECTIONS["ended"].search(parsed.masked):
        return _made_though_ended(parsed, fit)
    if _DIRECTIONS["negation"].search(parsed.masked):
        return ""
    lifted = {verb_lemma(match["state"]) for match in _DIRECTIONS["taken_off"].finditer(parsed.masked)}
    decided = {
        slot.tool for tool in fit.tools for slot in tool.slots if slot.kind in ("enum", "flag") and slot.required
    }
    done = {
        verb_lemma(word): tool.id
        for tool in fit.tools
        if tool.id not in decided  # The value of such an input says the direction.
        for word in words(tool.id.rpartition("/")[2])
    }
    for state in sorted(lifted & done.keys()):
        if done.keys().isdisjoint(_opposites(state)):
            return f"it asks to lift the {state}, and {done[state]} does the opposite"
    reversed_actions = {
        verb_lemma(word)
        for word in _WORD.findall(parsed.masked)
        if any(word == f"{r}{verb}" for r in _REVERSALS for verb in done)
    }
    for verb in sorted(_asked_actions(parsed) | reversed_actions):
        for opposite in sorted(_alike({*_opposites(verb)})):
            if opposite in done and _alike({verb}).isdisjoint(done) and opposite not in parsed.lemmas:
                return f"it asks to {verb}, and {done[opposite]} does the opposite"
    return ""


def _made_though_ended(parsed: ParsedRequest, fit: PathFit) -> str:
    """What is not wanted any more is made by the only tool, whose own action is not said."""
    making = _DIRECTIONS.words("making")
    if len(fit.tools) > 1:
        return ""
    tool = fit.tools[0]
    done = {verb_lemma(word) for word in words(tool.id.rpartition("/")[2])} & making
    asked = _asked_actions(parsed)
    return "" if not done or asked & done else f"it is not wanted any more, and {tool.id} makes it"


def _asked_actions(parsed: ParsedRequest) -> set[str]:
    """The actions that the request asks for: verbs that open a want, and "put a block on" for "block"."""
    found = {verb_lemma(match["verb"]) for match in _DIRECTIONS["listed"].finditer(parsed.masked)}
    names = {word for value in parsed.of_kind("name") for word in _WORD.findall(value.text.lower())}
    for clause in parsed.clauses:
        if clause.kind in ("condition", "opening"):
            continue
        said = (word for word in _WORD.findall(clause.text) if word not in names and word not in _COURTESIES)
        first = {verb_lemma(word) for word in islice(said, 1)}
        # No dictionary has "deregister": with such a verb a clause may be read as a statement.
        found |= first if clause.kind != "statement" else {verb for verb in first if verb.startswith(_REVERSALS)}
        for match in _DIRECTIONS["put_on"].finditer(clause.text):
            found.add(verb_lemma(match["state"]))
        for match in _DIRECTIONS["switched"].finditer(clause.text):
            found.add("enable" if match["way"] == "on" else "disable")
    return found


@cache
def _opposites(verb: str) -> tuple[str, ...]:
    """The verbs of the opposite action, by pairs of English and by the prefixes of reversal."""
    found = [two for one, other in _DIRECTIONS.pairs("actions") for two in _other(verb, one, other)]
    for prefix in _REVERSALS:
        found.append(verb.removeprefix(prefix) if verb.startswith(prefix) else f"{prefix}{verb}")
    return tuple(found)


def _alike(verbs: Collection[str]) -> frozenset[str]:
    """Verbs with those that say the same."""
    pairs = _DIRECTIONS.pairs("alike")
    return frozenset(verbs).union(word for pair in pairs if not set(verbs).isdisjoint(pair) for word in pair)


def _other(verb: str, one: str, other: str) -> Iterator[str]:
    if verb == one:
        yield other
    if verb == other:
        yield one


def find_swapped_ends(parsed: ParsedRequest, values: Sequence[SampleValue]) -> str:
    """Two values of one tool of which each is said with the preposition of the other's input; or empty."""
    for one in values:
        for other in values:
            if one.tool == other.tool and are_ends(one.parameter, other.parameter):
                said_one, said_other = _end_said(parsed, one.value), _end_said(parsed, other.value)
                if said_one == "last" and said_other == "first":
                    return f"{one.value!r} and {other.value!r} are each the value of the other's input"
    return ""


def are_ends(one: str, other: str) -> bool:
    """Whether the names of two inputs differ in the words of two ends alone: the first end, then the last."""
    first, last = (list(map(verb_lemma, words(name))) for name in (one, other))
    return any(begin in first and [end if word == begin else word for word in first] == last for begin, end in _ENDS)


def _end_said(parsed: ParsedRequest, value: str) -> str:
    """Which end the preposition before a value says."""
    at = parsed.text.find(value)
    if at < 0 or parsed.text.find(value, at + 1) >= 0:
        return ""
    before = parsed.text[max(0, at - _MAX_BEFORE) : at].lower()
    said = _DIRECTIONS["end_before"].search(before)
    if said is None:
        return ""
    return "first" if said["end"] in _DIRECTIONS.words("first_ends") else "last"
