"""The explanation of a returned tool: one line of at most 25 words that a person can use."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import islice, pairwise
from typing import NamedTuple

from retrieval.explain.tool_facts import GivenInputs, Input, ToolFacts, given_values, named_nouns, tool_facts
from retrieval.index.bm25 import terms
from retrieval.index.phrases import phrases_of
from retrieval.query.context import QueryContext
from retrieval.query.typed_values import find_values, short_name
from retrieval.snapshot.graph_views import supplier_edges
from retrieval.snapshot.reader import Snapshot

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


MIN_CONFIDENCE = 0.9  # of the edge behind a claim
_MIN_OUTSIDE = 0.95  # for a tool that the answer does not have
_CONFIDENCE_STEPS = 50
# Verbs of tools that make an object.
_CREATES = frozenset("create add insert start register new put open request import issue make define".split())


class FirstCall(NamedTuple):
    """A tool to call first, by its number, and the input that it fills."""

    supplier: int
    parameter: Input


def _first_calls(
    snapshot: Snapshot,
    tool: int,
    facts: ToolFacts,
    open_inputs: Collection[Input],
    ranks: Mapping[int, int],
    callable_first: Callable[[FirstCall], bool],
) -> list[FirstCall]:
    """The best supplier of each open input, in the order of the inputs; none where no claim is safe: the supplier must
    find the object, or make it where the answer wants that first. Tools that find come first, then those of the answer,
    then the surest. ``ranks``: number of each tool of the answer → its rank; executed tools have rank 0."""
    wanted = {each.name: each for each in open_inputs if not _is_said(facts, each)}
    claims: list[tuple[tuple[bool, bool, int, int, int], FirstCall]] = []
    for edge, supplier, _ in supplier_edges(snapshot, tool) if wanted else ():
        confidence, outside = float(snapshot.adjacency.confidences[edge]), supplier not in ranks
        if confidence < (_MIN_OUTSIDE if outside else MIN_CONFIDENCE):
            continue
        record, its_words = snapshot.edges[edge], set(terms(snapshot.tool_id(supplier)))
        # A value of a list: the supplier need not know the object already.
        finds = "[]" in record.output and not its_words & _CREATES
        if record.parameter in wanted and (finds or (not outside and ranks[supplier] < min(ranks[tool], 2))):
            its_name = len(its_words.intersection(facts.name))
            order = (not finds, outside, -round(confidence * _CONFIDENCE_STEPS), -its_name, supplier)
            claims.append((order, FirstCall(supplier, wanted[record.parameter])))
    claims.sort(key=lambda each: each[0])
    found = []
    for needed in wanted.values():
        rivals = (call for _, call in claims if call.parameter is needed)
        found += [call for call in rivals if callable_first(call)][:1]
    return found


def _is_said(facts: ToolFacts, needed: Input) -> bool:
    """Whether a person says the value of an input: the name of a thing (``BudgetName``), or of what the tool makes."""
    if needed.is_name:
        return True
    makes = facts.verb in _CREATES and (not needed.entity or needed.location != "path")
    return makes and needed.entity[-1:] in ((), (facts.object,))


MAX_WORDS = 25
_MAX_NAME_CHARS = 60
_MAX_ID_CHARS = 120
_MAX_VALUE_CHARS = 32
# How many values, suppliers and open inputs a line shows; the first of these that fits.
_SHOWN = ((2, 2, 3), (2, 2, 2), (1, 2, 2), (1, 1, 2), (1, 1, 1), (0, 1, 1), (0, 1, 0), (0, 0, 0))


class _Inputs(NamedTuple):
    given: Mapping[str, str]  # input → the value of the request or of the caller
    calls: Sequence[FirstCall]  # the tools to call first
    still: Sequence[Input]  # the required inputs that nothing supplies


class Explainer:
    """Explains the tools of one answer. ``returned``: numbers of the returned tools, best first."""

    def __init__(self, context: QueryContext, returned: Sequence[int]) -> None:
        self._context = context
        self._text = context.query.text
        self._ranks = {tool: 0 for tool in context.done} | {tool: rank for rank, tool in enumerate(returned, start=1)}
        values = context.query.values or find_values(self._text, context.snapshot.value_shapes)
        is_word = context.snapshot.fields["whole"].frequency
        given, nouns = given_values(self._text, values), named_nouns(self._text, is_word)
        self._given = GivenInputs(given, nouns, context.request.have)
        self._known: dict[int, _Inputs] = {}
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
            missing = self._given.missing(facts, given)
            open_inputs = [
                each
                for each in missing
                if each not in facts.surroundings and not self._given.may_give(each, given.values())
            ]
            needed = {each.terms for each in facts.required}

            def callable_first(call: FirstCall) -> bool:
                """Whether a tool was called, or can be with what the request gives and its consumer needs too."""
                if call.supplier in self._context.done:
                    return True
                its_facts = tool_facts(self._context.snapshot, call.supplier)
                has, too = self._given.of(call.supplier, its_facts), needed - {call.parameter.terms}
                return all(each.name in has or each.terms in too for each in its_facts.required)

            snapshot, ranks = self._context.snapshot, self._ranks
            calls = _first_calls(snapshot, tool, facts, open_inputs, ranks, callable_first)
            supplied = {call.parameter.name for call in calls}
            self._known[tool] = _Inputs(given, calls, [each for each in missing if each.name not in supplied])
        return self._known[tool]

    def _served(self, tool: int) -> str:
        """What a supporting tool is for: that it goes before a returned tool, or what it gives to one; empty for others."""
        found = ""
        for each in self._context.supporting:
            if each.tool != tool or each.consumer not in self._ranks:
                continue
            consumer = _cut(self._context.snapshot.tool_id(each.consumer), _MAX_ID_CHARS)
            if not each.parameter:
                found = found or f"{'goes' if each.confidence >= MIN_CONFIDENCE else 'may go'} before {consumer}"
                continue
            calls = {(call.supplier, call.parameter.name) for call in self._inputs(each.consumer).calls}
            gives = "gives" if (tool, each.parameter) in calls else "can give"
            own = {needed.terms for needed in tool_facts(self._context.snapshot, tool).required}
            if gives == "can give" and tuple(terms(short_name(each.parameter))) in own:
                continue  # it needs the value itself
            line = f"{gives} {_cut(short_name(each.parameter), _MAX_NAME_CHARS)} to {consumer}"
            if gives == "gives":
                return line
            found = found or line
        return found

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


def _cut(text: str, most: int) -> str:
    text = " ".join("".join(" " if unicodedata.category(one)[0] == "C" else one for one in text[: 4 * most]).split())
    return text if len(text) <= most else f"{text[: most - 1]}…"
