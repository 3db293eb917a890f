"""The explanation of a returned tool: one line of at most 25 words that a person can use."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from ontology.names import phrases_of_verbs
from retrieval.explain.tool_facts import GivenInputs, Input, ToolFacts, given_values, named_nouns, tool_facts
from retrieval.index.bm25 import STOP_WORDS, terms
from retrieval.query.context import QueryContext
from retrieval.query.typed_values import find_values, short_name
from retrieval.snapshot.graph_views import supplier_edges
from retrieval.snapshot.reader import Snapshot

__all__ = ["MAX_WORDS", "Explainer"]

Span = tuple[int, int]
"""First character of a stretch of the request, and the one after it."""

# Chosen, not tuned.
_MAX_WORDS = 5
_MAX_CHARS = 60
_MAX_READ = 400  # words of the request
_NAME_WEIGHT = 4.0
_GAP_COST = 0.5  # of a word inside the phrase that does not match
_WORD = re.compile(r"[^\W_]+(?:['’./-][^\W_]+)*")
_BREAK = re.compile(r"[.!?;:,\n()\[\]\"“”]")
_GENERAL = frozenset(
    "put get take give make have do go let bring see set turn run come send use add new list find show".split()
)
"""Words that say nothing alone."""
_JOINS = frozenset("and or but then if when while where who which because so before after until".split())
"""Words that no stretch goes beyond."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word of the request.

    :param terms: its index terms.
    :param joined: whether the word after it follows in the same part of a sentence.
    """

    start: int
    end: int
    text: str
    terms: tuple[str, ...]
    joined: bool


def request_words(text: str, values: Collection[Span]) -> tuple[Word, ...]:
    """The words of a request, the first 400, without what lies in typed values."""
    taken = {at for start, end in values for at in range(start, end)}
    spans = [match.span() for match in _first(_WORD.finditer(text)) if match.start() not in taken]
    after = [
        not (_BREAK.search(text, one[1], two[0]) or taken & {*range(one[1], two[0])}) for one, two in pairwise(spans)
    ]
    return tuple(
        Word(start, end, text[start:end], tuple(terms(text[start:end])), joined)
        for (start, end), joined in zip(spans, (*after, False), strict=False)
    )


def _first(matches: Iterator[re.Match[str]]) -> Iterator[re.Match[str]]:
    return (match for match, _ in zip(matches, range(_MAX_READ), strict=False))


def matched_phrase(
    text: str, words: Sequence[Word], name: Sequence[str], others: Collection[str], rarity: Callable[[str], float]
) -> str:
    """The stretch of a request, at most five words, that matches a tool best; empty where no more than a chance word does.

    A stretch lies in one part of a sentence, and its first and last words match. A word of the name counts four times; so does an
    everyday phrase for the name's verb ("get rid of" for *delete*).

    :param words: the words of ``text``.
    :param name: index terms of the tool's name and title, in order.
    :param others: index terms of its description.
    :param rarity: how rare a term is in the catalogue, > 0.
    """
    weights = {term: rarity(term) for word in words for term in word.terms if term in others}
    weights |= {term: _NAME_WEIGHT * rarity(term) for word in words for term in word.terms if term in name}
    everyday = _everyday(words, name)
    matches = [_matches(word, weights, everyday.get(at)) for at, word in enumerate(words)]
    best = max(_stretches(words, matches), default=None, key=lambda one: (one[0], -one[1], -one[2]))
    if best is None:
        return ""
    _, start, stop = best
    inside: dict[str, float] = {}
    for one in matches[start:stop]:
        inside |= one
    is_said = bool(inside.keys() & {*name, *everyday.values()})
    if (not is_said and len(inside) < 2) or (len(inside) == 1 and words[start].text.lower() in _GENERAL):
        return ""
    return " ".join(text[words[start].start : words[stop - 1].end].split())[:_MAX_CHARS]


def _matches(word: Word, weights: Mapping[str, float], verb: str | None) -> dict[str, float]:
    found = {term: weights[term] for term in word.terms if term in weights}
    return found if verb is None else {verb: _NAME_WEIGHT, **found}


def _stretches(words: Sequence[Word], matches: Sequence[Mapping[str, float]]) -> Iterator[tuple[float, int, int]]:
    """Score, first word and end of each stretch."""
    for start, first in enumerate(matches):
        if not first:
            continue
        found: dict[str, float] = {}
        for stop in range(start, min(start + _MAX_WORDS, len(words))):
            found |= matches[stop]
            if words[stop].text.lower() in _JOINS:
                break
            if matches[stop]:
                gaps = sum(not one for one in matches[start : stop + 1])
                yield sum(found.values()) - _GAP_COST * gaps, start, stop + 1
            if not words[stop].joined:
                break


def _everyday(words: Sequence[Word], name: Sequence[str]) -> dict[int, str]:
    """Position of each word that belongs to an everyday phrase for a verb of the name → that verb."""
    said = [word.text.lower() for word in words]
    places: dict[str, list[int]] = {}
    for at, one in enumerate(said):
        places.setdefault(one, []).append(at)
    found: dict[int, str] = {}
    for verb in name:
        for phrase in phrases_of_verbs().get(verb, ()):
            parts = phrase.partition("~")[0].split()
            if not parts or (len(parts) == 1 and (parts[0] in _GENERAL or parts[0] in STOP_WORDS)):
                continue
            for at in places.get(parts[0], ()):
                if said[at : at + len(parts)] == parts:
                    found |= dict.fromkeys(range(at, at + len(parts)), verb)
    return found


MIN_CONFIDENCE = 0.9
"""Of the edge behind a claim."""
_MIN_OUTSIDE = 0.95  # for a tool that the answer does not have
_CONFIDENCE_STEPS = 50
_CREATES = frozenset("create add insert start register new put open request import issue make define".split())
"""Verbs of tools that make an object."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstCall:
    """A tool to call first.

    :param supplier: its number.
    :param parameter: the input that it fills.
    :param output: its output with the value, or empty.
    """

    supplier: int
    parameter: Input
    output: str
    confidence: float


def first_calls(
    snapshot: Snapshot,
    tool: int,
    facts: ToolFacts,
    open_inputs: Collection[Input],
    ranks: Mapping[int, int],
    callable_first: Callable[[int], bool],
) -> list[FirstCall]:
    """The best supplier of each open input, in the order of the inputs; none where no claim is safe.

    :param open_inputs: required inputs that the request does not give.
    :param ranks: number of each tool of the answer → its rank; executed tools have rank 0.
    :param callable_first: whether the request gives what a tool requires, or the consumer requires it too.
    """
    found: list[FirstCall] = []
    by_name = {each.name: each for each in open_inputs if not _is_said(facts, each)}
    claims = [(call, frozenset(terms(snapshot.tool_id(call.supplier)))) for call in _claims(snapshot, tool, by_name)]
    claims = [(call, words) for call, words in claims if _is_safe(call, words, ranks, ranks[tool])]
    claims.sort(key=lambda each: _order(each[0], each[1], facts, ranks))
    for name in by_name:
        rivals = [call for call, _ in claims if call.parameter.name == name]
        best = next((call for call in rivals if callable_first(call.supplier)), None)
        if best is not None:
            found.append(best)
    return found


def _order(
    call: FirstCall, words: frozenset[str], facts: ToolFacts, ranks: Mapping[int, int]
) -> tuple[bool, bool, float, int, int]:
    """Tools that find the object first, then those of the answer, then by confidence; of much the same confidence those that share
    words with the consumer.
    """
    shared = len(words.intersection(facts.name))
    return (
        not _looks_up(call, words),
        call.supplier not in ranks,
        -round(call.confidence * _CONFIDENCE_STEPS),
        -shared,
        call.supplier,
    )


def _is_safe(call: FirstCall, words: frozenset[str], ranks: Mapping[int, int], rank: int) -> bool:
    """Whether a claim is likely true, and the supplier finds the object, or makes it: then it is what the request asks for first."""
    looks_up = _looks_up(call, words)
    if call.supplier not in ranks:
        return call.confidence >= _MIN_OUTSIDE and looks_up
    return looks_up or ranks[call.supplier] < min(rank, 2)


def _looks_up(call: FirstCall, words: frozenset[str]) -> bool:
    """Whether a supplier finds objects: its value is in a list, so that it need not know the object already."""
    return "[]" in call.output and not words & _CREATES


def _is_said(facts: ToolFacts, needed: Input) -> bool:
    """Whether a person says the value of an input: the name of a thing (``BudgetName``), or of what the tool makes."""
    if needed.is_name:
        return True
    makes = facts.verb in _CREATES and (not needed.entity or needed.location != "path")
    return makes and needed.entity[-1:] in ((), (facts.object,))


def _claims(snapshot: Snapshot, tool: int, inputs: Mapping[str, Input]) -> Iterator[FirstCall]:
    """The edges by which another tool fills one of these inputs."""
    for edge, supplier, _ in supplier_edges(snapshot, tool):
        confidence = float(snapshot.adjacency.confidences[edge])
        if confidence < MIN_CONFIDENCE:
            continue
        record = snapshot.edges[edge]
        if record.parameter in inputs:
            yield FirstCall(
                supplier=supplier, parameter=inputs[record.parameter], output=record.output, confidence=confidence
            )


MAX_WORDS = 25
_MAX_NAME_CHARS = 60
_MAX_ID_CHARS = 120
_MAX_VALUE_CHARS = 32
_SHOWN = ((2, 2, 3), (2, 2, 2), (1, 2, 2), (1, 1, 2), (1, 1, 1), (0, 1, 1), (0, 1, 0), (0, 0, 0))
"""How many values, suppliers and open inputs a line shows; the first of these that fits."""


class _Inputs(NamedTuple):
    """Where the inputs of a tool come from.

    :param given: input → the value of the request or of the caller.
    :param calls: the tools to call first.
    :param still: the required inputs that nothing supplies.
    """

    given: Mapping[str, str]
    calls: Sequence[FirstCall]
    still: Sequence[Input]


class Explainer:
    """Explains the tools of one answer.

    :param returned: numbers of the returned tools, best first.
    """

    def __init__(self, context: QueryContext, returned: Sequence[int]) -> None:
        self._context = context
        self._text = context.query.text
        self._ranks = {tool: 0 for tool in context.done} | {tool: rank for rank, tool in enumerate(returned, start=1)}
        values = context.query.values or find_values(self._text, context.snapshot.value_shapes)
        self._given = GivenInputs(given_values(self._text, values), named_nouns(self._text), context.request.have)
        self._known: dict[int, _Inputs] = {}
        self._words = request_words(self._text, [(value.start, value.end) for value in values])

    def explain(self, tool: int) -> str:
        """The line of one tool; of what it could say, the later parts give way where it would be longer than 25 words."""
        facts = tool_facts(self._context.snapshot, tool)
        phrase = matched_phrase(self._text, self._words, facts.name, facts.description, self._rarity)
        matched = f'matches "{phrase}"' if phrase else ""
        opening = [part for part in (matched, self._served(tool), self._used(tool)) if part] or ["near in meaning"]
        for shown in _SHOWN:
            line = "; ".join((*opening, *self._parts(self._inputs(tool), shown)))
            if len(line.split()) <= MAX_WORDS:
                return line
        return opening[0] if len(opening[0].split()) <= MAX_WORDS else "near in meaning"

    def _inputs(self, tool: int) -> _Inputs:
        """Where the inputs of a tool come from; found once for each tool."""
        if tool not in self._known:
            facts = tool_facts(self._context.snapshot, tool)
            given = self._given.of(tool, facts)
            missing = [each for each in facts.required if each.name not in given]
            open_inputs = [each for each in missing if not self._given.may_give(each, given.values())]
            needed = {each.terms for each in facts.required}
            calls = first_calls(
                self._context.snapshot,
                tool,
                facts,
                open_inputs,
                self._ranks,
                lambda other: self._can_call(other, needed),
            )
            supplied = {call.parameter.name for call in calls}
            self._known[tool] = _Inputs(given, calls, [each for each in missing if each.name not in supplied])
        return self._known[tool]

    def _served(self, tool: int) -> str:
        """What a supporting tool gives, to which returned tool; empty for others, and where the other one's line says nothing of it."""
        for each in self._context.supporting:
            if each.tool != tool or each.consumer not in self._ranks or not each.required:
                continue
            consumer = _cut(self._context.snapshot.tool_id(each.consumer), _MAX_ID_CHARS)
            if not each.parameter and each.confidence >= MIN_CONFIDENCE:
                return f"goes before {consumer}"
            if any(
                (call.supplier, call.parameter.name) == (tool, each.parameter)
                for call in self._inputs(each.consumer).calls
            ):
                return f"gives {_cut(short_name(each.parameter), _MAX_NAME_CHARS)} to {consumer}"
        return ""

    def _used(self, tool: int) -> str:
        """What past requests say of a tool; empty where they do not."""
        count = self._context.past_sessions.get(tool)
        return f"used for {count} similar request{'s' if count > 1 else ''}" if count else ""

    def _parts(self, inputs: _Inputs, shown: tuple[int, int, int]) -> Iterator[str]:
        values, suppliers, still = shown
        for name, value in [(name, value) for name, value in inputs.given.items() if value.strip()][:values]:
            yield f"{_cut(short_name(name), _MAX_NAME_CHARS)} is {_cut(value, _MAX_VALUE_CHARS)}"
        for call in inputs.calls[:suppliers]:
            called = _cut(self._context.snapshot.tool_id(call.supplier), _MAX_ID_CHARS)
            verb = "use the result of" if call.supplier in self._context.done else "call"
            first = "" if call.supplier in self._context.done else " first"
            yield f"{verb} {called}{first} for {_cut(call.parameter.short, _MAX_NAME_CHARS)}"
        names = [_cut(each.short, _MAX_NAME_CHARS) for each in inputs.still]
        if names and still:
            more = f" and {len(names) - still} more" if len(names) > still else ""
            yield f"needs {', '.join(names[:still])}{more}"

    def _can_call(self, tool: int, needed: Collection[tuple[str, ...]]) -> bool:
        """Whether a tool was called, or can be with what the request gives and with the inputs that its consumer needs too."""
        if tool in self._context.done:
            return True
        facts = tool_facts(self._context.snapshot, tool)
        given = self._given.of(tool, facts)
        return all(each.name in given or each.terms in needed for each in facts.required)

    def _rarity(self, term: str) -> float:
        return self._context.snapshot.fields["whole"].idf(term)


def _cut(text: str, most: int) -> str:
    text = " ".join("".join(" " if unicodedata.category(one)[0] == "C" else one for one in text[: 4 * most]).split())
    return text if len(text) <= most else f"{text[: most - 1]}…"
