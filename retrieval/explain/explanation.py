"""The explanation of a returned tool: one line of at most 25 words that a person can use."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from retrieval.explain.first_calls import MIN_CONFIDENCE, FirstCall, first_calls
from retrieval.explain.given_inputs import GivenInputs, given_values, named_nouns
from retrieval.explain.matched_phrase import matched_phrase, request_words
from retrieval.explain.tool_facts import Input, tool_facts
from retrieval.query.context import QueryContext
from retrieval.query.known_values import short_name
from retrieval.query.typed_values import find_values

__all__ = ["MAX_WORDS", "Explainer"]

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
