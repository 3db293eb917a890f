"""The explanation of a returned tool: one line of at most 25 words that a person can use."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache
from heapq import nlargest
from itertools import islice

from retrieval.completion.needs import SUPPLIES
from retrieval.explain.tool_facts import ToolFacts, given_inputs, given_values, tool_facts
from retrieval.index.bm25 import terms
from retrieval.query.context import QueryContext, SupportingTool
from retrieval.query.typed_values import find_values, short_name
from retrieval.snapshot.graph_views import supplier_edges

# Chosen, not tuned.
_MOST_MATCHED = 5
_MAX_CHARS = 60
_MAX_READ = 400  # words of the request
_NAME_WEIGHT = 4.0
# No quantifier, which says nothing of a tool. Found on 60 answers over three vendors' documents.
_WORD = re.compile(r"(?<![^\W_])(?!(?i:all|any|both|each|every)\b)[^\W_]+(?:['’./-][^\W_]+)*")
MAX_WORDS = 25
_FIRST = 3  # tools of an answer that the user may have asked for. Chosen with the first lines that were read, not tuned
_MAX_NAME_CHARS = 60
_MAX_ID_CHARS = 120
_MAX_VALUE_CHARS = 32
MIN_CONFIDENCE = 0.9  # of the edge behind a claim
# How many values, suppliers and other required inputs a line shows; the first of these that fits.
_SHOWN = ((2, 2, 3), (2, 2, 2), (1, 2, 2), (1, 1, 2), (1, 1, 1), (0, 1, 1), (0, 1, 0), (0, 0, 0))


class Explainer:
    """Explains the tools of one answer. ``returned``: numbers of the returned tools, in their order."""

    def __init__(self, context: QueryContext, returned: Sequence[int]) -> None:
        self._context = context
        text = context.query.text
        self._asked = {*returned[:_FIRST], *context.answering}
        self._given = given_values(text, context.query.values or find_values(text, context.snapshot.value_shapes))
        self._values = cache(  # a consumer has several suppliers
            lambda tool: given_inputs(self._given, context.request.have, tool, tool_facts(context.snapshot, tool))
        )
        in_values = {at for given in self._given for at in range(given.value.start, given.value.end)}
        words = islice(_WORD.finditer(text), _MAX_READ)
        self._words = [(word[0], terms(word[0])) for word in words if word.start() not in in_values]

    def explain(self, tool: int) -> str:
        """The line of one tool; of what it could say, the later parts give way where it would be longer than 25 words."""
        context = self._context
        count = context.past_sessions.get(tool)
        used = f"used for {count} similar request{'s' if count > 1 else ''}" if count else ""
        opening = [*filter(None, (self._matched(tool_facts(context.snapshot, tool)), self._served(tool), used))]
        if not opening:  # the first everyday phrase that has a word of the request
            phrases = tool_facts(context.snapshot, tool).phrases if context.phrases is not None else ()
            phrase = next((each for each in phrases if context.query.weights.keys() & set(terms(each))), "")
            opening = [f'people say "{_cut(phrase, _MAX_NAME_CHARS)}"'] if phrase else []
        parts = self._inputs(tool)
        for shown in _SHOWN:
            line = "; ".join((*opening, *_shown(*parts, shown)))
            if line and len(line.split()) <= MAX_WORDS:
                return line
        return next((part for part in opening if len(part.split()) <= MAX_WORDS), "no word in common")

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

    def _inputs(self, tool: int) -> tuple[list[str], list[str], list[str]]:
        """The texts on values, suppliers and other required inputs. A supplier was executed, or makes the object for another
        need, or completes the answer with a value of a list: it need not know the object already, as one that reads it."""
        context, snapshot, given = self._context, self._context.snapshot, self._values(tool)
        facts = tool_facts(snapshot, tool)
        suppliers: dict[str, str] = {}
        for edge, supplier, _ in supplier_edges(snapshot, tool) if context.done else ():
            if supplier in context.done and snapshot.adjacency.confidences[edge] >= MIN_CONFIDENCE:
                suppliers.setdefault(snapshot.edges[edge].parameter, f"use the result of {self._id(supplier)}")
        mine, need = [each for each in context.supporting if each.consumer == tool], context.answering.get(tool)
        for each in sorted(filter(self._gives, mine), key=lambda each: "[]" in each.output):
            if "[]" in each.output and each.confidence >= MIN_CONFIDENCE:
                suppliers.setdefault(each.parameter, f"call {self._id(each.tool)} first")
            elif "[]" not in each.output and need is not None and context.answering.get(each.tool, need) != need:
                suppliers.setdefault(each.parameter, f"use the result of {self._id(each.tool)}")
        wanted = {each.name for each in facts.required} - given.keys()
        suppliers = {name: whose for name, whose in suppliers.items() if name in wanted}
        stated = sorted((name for name in given if given[name].strip()), key=lambda name: name in facts.context)
        values = [f"{_label(name)} is {_cut(given[name], _MAX_VALUE_CHARS)}" for name in stated]
        others = (each.name for each in (*facts.required, *facts.surroundings) if each.name not in {*given, *suppliers})
        return values, [f"{whose} for {_label(name)}" for name, whose in suppliers.items()], [*map(_label, others)]

    def _served(self, tool: int) -> str:
        """What a supporting tool is for: that it goes before a tool that was asked for, or what it gives to one that the
        request does not give; empty for others."""
        for each in self._context.supporting:
            if each.tool == tool and each.consumer in self._asked and self._gives(each):
                is_sure = each.confidence >= MIN_CONFIDENCE
                if not each.parameter:
                    return f"{'goes' if is_sure else 'may go'} before {self._id(each.consumer)}"
                if each.parameter not in self._values(each.consumer):
                    return f"{'gives' if is_sure else 'can give'} {_label(each.parameter)} to {self._id(each.consumer)}"
        return ""

    def _gives(self, each: SupportingTool) -> bool:
        """Whether a supporting tool gives what it is for: not an unknown output, an echo, or what it needs itself."""
        facts = tool_facts(self._context.snapshot, each.tool)
        wanted, output = (tuple(terms(short_name(name))) for name in (each.parameter, each.output))
        return not wanted or not (
            (not each.output and each.predicate == SUPPLIES)  # it is unknown
            or ("[]" not in each.output and any(output == one.terms for one in facts.inputs))  # it is an echo
            or any(wanted == one.terms for one in facts.required)
        )

    def _id(self, tool: int) -> str:
        return _cut(self._context.snapshot.tool_id(tool), _MAX_ID_CHARS)


def _shown(values: list[str], suppliers: list[str], others: list[str], most: tuple[int, int, int]) -> Iterator[str]:
    yield from (*values[: most[0]], *suppliers[: most[1]])
    if others and most[2]:
        more = f" and {len(others) - most[2]} more" if len(others) > most[2] else ""
        yield f"takes {', '.join(others[: most[2]])}{more}"


def _label(name: str) -> str:
    """The name of an input; of a nested field with that of the object around it: ``transition.id``."""
    parts = "_".join(name.replace("[]", "").split()).removeprefix("body.").split(".")
    return _cut(".".join(filter(None, parts[-2:])) or name, _MAX_NAME_CHARS)


def _cut(text: str, most: int) -> str:
    text = " ".join("".join(" " if unicodedata.category(one)[0] == "C" else one for one in text[: 4 * most]).split())
    return text if len(text) <= most else f"{text[: most - 1]}…"
