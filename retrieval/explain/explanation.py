"""The explanation of a returned tool: one line of at most 25 words that a person can use."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import islice, pairwise
from typing import NamedTuple

from retrieval.explain.tool_facts import Input, given_inputs, given_values, tool_facts
from retrieval.index.bm25 import terms
from retrieval.index.phrases import phrases_of
from retrieval.query.context import QueryContext
from retrieval.query.typed_values import find_values, short_name
from retrieval.snapshot.graph_views import supplier_edges

Span = tuple[int, int]  # first character of a stretch of the request, and the one after it

# Chosen, not tuned.
_MAX_WORDS = 5
_MAX_CHARS = 60
_MAX_READ = 400  # words of the request
_NAME_WEIGHT = 4.0
_WORD = re.compile(r"[^\W_]+(?:['’./-][^\W_]+)*")
_BREAK = re.compile(r"[.!?;:,\n()\[\]\"“”]")
# Words that say nothing alone.
_GENERAL = frozenset(
    "put get take give make have do go let bring see set turn run come send use add new list find show".split()
)
# Words that may stand between words that match; what else does not match ends a stretch.
_LINKS = frozenset("a an the of".split())


class _Word(NamedTuple):
    start: int
    end: int
    text: str
    terms: tuple[str, ...]  # its index terms
    joined: bool  # whether the word after it follows in the same part of a sentence


def _request_words(text: str, values: Collection[Span]) -> tuple[_Word, ...]:
    """The words of a request, the first 400, without what lies in typed values."""
    taken = {at for start, end in values for at in range(start, end)}
    matches = islice(_WORD.finditer(text), _MAX_READ)
    spans = [match.span() for match in matches if match.start() not in taken]
    after = [
        not (_BREAK.search(text, one[1], two[0]) or taken & {*range(one[1], two[0])}) for one, two in pairwise(spans)
    ]
    return tuple(
        _Word(start, end, text[start:end], tuple(terms(text[start:end])), joined)
        for (start, end), joined in zip(spans, (*after, False), strict=False)
    )


def _matched_phrase(
    text: str, words: Sequence[_Word], name: Sequence[str], others: Collection[str], rarity: Callable[[str], float]
) -> str:
    """The stretch of a request, at most five words, that matches a tool best; empty where no more than a chance word
    does. A stretch lies in one part of a sentence, and all its words match but articles. A word of the name counts four
    times. ``name``: index terms of the tool's name and title, in order."""
    weights = {term: rarity(term) for word in words for term in word.terms if term in others}
    weights |= {term: _NAME_WEIGHT * rarity(term) for word in words for term in word.terms if term in name}
    matches = [{term: weights[term] for term in word.terms if term in weights} for word in words]
    names, best = {*name}, (0.0, 0, -1)
    for start in (start for start, match in enumerate(matches) if match):
        found: dict[str, float] = {}
        for stop in range(start, min(start + _MAX_WORDS, len(words))):
            found |= matches[stop]
            says = len(found) > 1 or (found.keys() & names and words[start].text.lower() not in _GENERAL)
            if matches[stop] and says:
                best = max(best, (sum(found.values()), -start, -stop))
            if not words[stop].joined or not (matches[stop] or words[stop].text.lower() in _LINKS):
                break
    if not best[0]:
        return ""
    start, stop = -best[1], -best[2]
    return " ".join(text[words[start].start : words[stop].end].split())[:_MAX_CHARS]


MAX_WORDS = 25
_MAX_NAME_CHARS = 60
_MAX_ID_CHARS = 120
_MAX_VALUE_CHARS = 32
MIN_CONFIDENCE = 0.9  # of the edge behind a claim
# How many values, suppliers and other required inputs a line shows; the first of these that fits.
_SHOWN = ((2, 2, 3), (2, 2, 2), (1, 2, 2), (1, 1, 2), (1, 1, 1), (0, 1, 1), (0, 1, 0), (0, 0, 0))


class _Inputs(NamedTuple):
    given: Mapping[str, str]  # input → the value of the request or of the caller
    suppliers: Mapping[str, int]  # input → the tool whose result fills it
    others: Sequence[Input]  # the required inputs of neither


class Explainer:
    """Explains the tools of one answer. ``returned``: numbers of the returned tools."""

    def __init__(self, context: QueryContext, returned: Sequence[int]) -> None:
        self._context = context
        self._text = context.query.text
        self._returned = {*returned}
        values = context.query.values or find_values(self._text, context.snapshot.value_shapes)
        self._given = given_values(self._text, values)
        self._words = _request_words(self._text, [(value.start, value.end) for value in values])

    def explain(self, tool: int) -> str:
        """The line of one tool; of what it could say, the later parts give way where it would be longer than 25 words."""
        context = self._context
        facts = tool_facts(context.snapshot, tool)
        rarity = context.snapshot.fields["whole"].idf
        phrase = _matched_phrase(self._text, self._words, facts.name, facts.description, rarity)
        matched = f'matches "{phrase}"' if phrase else ""
        count = context.past_sessions.get(tool)
        used = f"used for {count} similar request{'s' if count > 1 else ''}" if count else ""
        opening = [part for part in (matched, self._served(tool), used) if part]
        if not opening:  # the first everyday phrase that has a word of the request
            phrases = phrases_of(context.snapshot.tool(tool)) if context.phrases is not None else ()
            said = next((each for each in phrases if context.query.weights.keys() & set(terms(each))), "")
            opening = [f'people say "{_cut(said, _MAX_NAME_CHARS)}"' if said else "near in meaning"]
        inputs = self._inputs(tool)
        for shown in _SHOWN:
            line = "; ".join((*opening, *self._parts(inputs, shown)))
            if len(line.split()) <= MAX_WORDS:
                return line
        return opening[0] if len(opening[0].split()) <= MAX_WORDS else "near in meaning"

    def _inputs(self, tool: int) -> _Inputs:
        """Where the inputs of a tool come from. A supplier was executed, or completes the answer with a value of a list:
        it need not know the object already, as one that reads or changes it."""
        context, snapshot = self._context, self._context.snapshot
        facts = tool_facts(snapshot, tool)
        given = given_inputs(self._given, context.request.have, tool, facts)
        suppliers: dict[str, int] = {}
        for edge, supplier, _ in supplier_edges(snapshot, tool) if context.done else ():
            if supplier in context.done and snapshot.adjacency.confidences[edge] >= MIN_CONFIDENCE:
                suppliers.setdefault(snapshot.edges[edge].parameter, supplier)
        for each in context.supporting:
            if each.consumer == tool and each.confidence >= MIN_CONFIDENCE and "[]" in each.output:
                suppliers.setdefault(each.parameter, each.tool)
        wanted = {each.name for each in facts.required} - given.keys()
        suppliers = {name: supplier for name, supplier in suppliers.items() if name in wanted}
        others = [each for each in (*facts.required, *facts.surroundings) if each.name not in {*given, *suppliers}]
        return _Inputs(given, suppliers, others)

    def _served(self, tool: int) -> str:
        """What a supporting tool is for: that it goes before a returned tool, or what it gives to one; empty for others."""
        own = {needed.terms for needed in tool_facts(self._context.snapshot, tool).required}
        for each in self._context.supporting:
            if each.tool != tool or each.consumer not in self._returned:
                continue
            consumer = _cut(self._context.snapshot.tool_id(each.consumer), _MAX_ID_CHARS)
            is_sure = each.confidence >= MIN_CONFIDENCE
            if not each.parameter:
                return f"{'goes' if is_sure else 'may go'} before {consumer}"
            if tuple(terms(short_name(each.parameter))) not in own:  # else it needs the value itself
                given = _cut(short_name(each.parameter), _MAX_NAME_CHARS)
                return f"{'gives' if is_sure else 'can give'} {given} to {consumer}"
        return ""

    def _parts(self, inputs: _Inputs, shown: tuple[int, int, int]) -> Iterator[str]:
        values, suppliers, others = shown
        for name, value in [(name, value) for name, value in inputs.given.items() if value.strip()][:values]:
            yield f"{_cut(short_name(name), _MAX_NAME_CHARS)} is {_cut(value, _MAX_VALUE_CHARS)}"
        for name, supplier in [*inputs.suppliers.items()][:suppliers]:
            called, needed = self._context.snapshot.tool_id(supplier), _cut(short_name(name), _MAX_NAME_CHARS)
            is_done = supplier in self._context.done
            verb, first = ("use the result of", "") if is_done else ("call", " first")
            yield f"{verb} {_cut(called, _MAX_ID_CHARS)}{first} for {needed}"
        names = [_cut(each.short, _MAX_NAME_CHARS) for each in inputs.others]
        if names and others:
            more = f" and {len(names) - others} more" if len(names) > others else ""
            yield f"takes {', '.join(names[:others])}{more}"


def _cut(text: str, most: int) -> str:
    text = " ".join("".join(" " if unicodedata.category(one)[0] == "C" else one for one in text[: 4 * most]).split())
    return text if len(text) <= most else f"{text[: most - 1]}…"
