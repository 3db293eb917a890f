"""The explanation of a returned tool: one line of at most 25 words that a person can use."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from heapq import nlargest
from itertools import islice
from typing import NamedTuple

from retrieval.explain.tool_facts import Input, ToolFacts, given_inputs, given_values, tool_facts
from retrieval.index.bm25 import terms
from retrieval.index.phrases import phrases_of
from retrieval.query.context import QueryContext
from retrieval.query.typed_values import find_values, short_name
from retrieval.snapshot.graph_views import supplier_edges

# Chosen, not tuned.
_MOST_MATCHED = 5
_MAX_CHARS = 60
_MAX_READ = 400  # words of the request
_NAME_WEIGHT = 4.0
_WORD = re.compile(r"[^\W_]+(?:['’./-][^\W_]+)*")
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
        text = context.query.text
        self._returned = {*returned}
        self._given = given_values(text, context.query.values or find_values(text, context.snapshot.value_shapes))
        in_values = {at for given in self._given for at in range(given.value.start, given.value.end)}
        words = islice(_WORD.finditer(text), _MAX_READ)
        self._words = [(word[0], terms(word[0])) for word in words if word.start() not in in_values]

    def explain(self, tool: int) -> str:
        """The line of one tool; of what it could say, the later parts give way where it would be longer than 25 words."""
        context = self._context
        matched = self._matched(tool_facts(context.snapshot, tool))
        count = context.past_sessions.get(tool)
        used = f"used for {count} similar request{'s' if count > 1 else ''}" if count else ""
        opening = [part for part in (matched, self._served(tool), used) if part]
        if not opening:  # the first everyday phrase that has a word of the request
            phrases = phrases_of(context.snapshot.tool(tool)) if context.phrases is not None else ()
            phrase = next((each for each in phrases if context.query.weights.keys() & set(terms(each))), "")
            opening = [f'people say "{_cut(phrase, _MAX_NAME_CHARS)}"' if phrase else "no word in common"]
        inputs = self._inputs(tool)
        for shown in _SHOWN:
            line = "; ".join((*opening, *self._parts(inputs, shown)))
            if len(line.split()) <= MAX_WORDS:
                return line
        return opening[0] if len(opening[0].split()) <= MAX_WORDS else "no word in common"

    def _matched(self, facts: ToolFacts) -> str:
        """The words of the request that say most of a tool, at most five, in the order of the request: the rarest that
        its document has, of which a word of its name counts four times."""
        idf = self._context.snapshot.fields["whole"].idf
        weights, seen = dict[str, float](), set[str]()
        for word, its in self._words:
            if its and seen.isdisjoint(its) and all(term in facts.name or term in facts.description for term in its):
                weights[word] = max(idf(term) * (_NAME_WEIGHT if term in facts.name else 1.0) for term in its)
                seen.update(its)
        best = nlargest(_MOST_MATCHED, weights, key=lambda word: weights[word])
        return f'matches "{" ".join(word for word in weights if word in best)[:_MAX_CHARS]}"' if best else ""

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
        """What a supporting tool is for: that it goes before a returned tool, or what it gives to one that the request
        does not give; empty for others."""
        snapshot, have = self._context.snapshot, self._context.request.have
        own = {needed.terms for needed in tool_facts(snapshot, tool).required}
        for each in self._context.supporting:
            if each.tool != tool or each.consumer not in self._returned:
                continue
            if each.parameter in given_inputs(self._given, have, each.consumer, tool_facts(snapshot, each.consumer)):
                continue
            consumer = _cut(snapshot.tool_id(each.consumer), _MAX_ID_CHARS)
            is_sure = each.confidence >= MIN_CONFIDENCE
            if not each.parameter:
                return f"{'goes' if is_sure else 'may go'} before {consumer}"
            if tuple(terms(short_name(each.parameter))) not in own:  # else it needs the value itself
                return f"{'gives' if is_sure else 'can give'} {_label(each.parameter)} to {consumer}"
        return ""

    def _parts(self, inputs: _Inputs, shown: tuple[int, int, int]) -> Iterator[str]:
        values, suppliers, others = shown
        for name, value in [(name, value) for name, value in inputs.given.items() if value.strip()][:values]:
            yield f"{_label(name)} is {_cut(value, _MAX_VALUE_CHARS)}"
        for name, supplier in [*inputs.suppliers.items()][:suppliers]:
            verb, first = ("use the result of", "") if supplier in self._context.done else ("call", " first")
            yield f"{verb} {_cut(self._context.snapshot.tool_id(supplier), _MAX_ID_CHARS)}{first} for {_label(name)}"
        names = [_label(each.name) for each in inputs.others]
        if names and others:
            more = f" and {len(names) - others} more" if len(names) > others else ""
            yield f"takes {', '.join(names[:others])}{more}"


def _label(name: str) -> str:
    """The name of an input; of a nested field with that of the object around it: ``transition.id``."""
    parts = "_".join(name.replace("[]", "").split()).removeprefix("body.").split(".")
    return _cut(".".join(filter(None, parts[-2:])) or name, _MAX_NAME_CHARS)


def _cut(text: str, most: int) -> str:
    text = " ".join("".join(" " if unicodedata.category(one)[0] == "C" else one for one in text[: 4 * most]).split())
    return text if len(text) <= most else f"{text[: most - 1]}…"
