"""The explanation of a returned tool: one line of at most 25 words that a person can use."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from retrieval.explain.first_calls import FirstCall, first_calls
from retrieval.explain.given_inputs import GivenInputs, given_values
from retrieval.explain.matched_phrase import matched_phrase, request_words
from retrieval.explain.tool_facts import Input, tool_facts
from retrieval.query.context import QueryContext
from retrieval.query.known_values import short_name
from retrieval.query.typed_values import find_values

__all__ = ["MAX_WORDS", "Explainer"]

MAX_WORDS = 25
_MAX_NAME_CHARS = 60
_MAX_VALUE_CHARS = 32
_SHOWN = ((2, 2, 3), (2, 2, 2), (1, 2, 2), (1, 1, 2), (1, 1, 1), (0, 1, 1), (0, 1, 0), (0, 0, 0))
"""How many values, suppliers and open inputs a line shows; the first of these that fits."""


class Explainer:
    """Explains the tools of one answer.

    :param returned: numbers of the returned tools, best first.
    """

    def __init__(self, context: QueryContext, returned: Sequence[int]) -> None:
        self._context = context
        self._text = context.query.text
        self._ranks = {tool: 0 for tool in context.done} | {tool: rank for rank, tool in enumerate(returned, start=1)}
        values = context.query.values or find_values(self._text, context.snapshot.value_shapes)
        self._given = GivenInputs(given_values(self._text, values), context.request.have)
        self._words = request_words(self._text, [(value.start, value.end) for value in values])

    def explain(self, tool: int) -> str:
        """The line of one tool; of what it could say, the later parts give way where it would be longer than 25 words."""
        snapshot = self._context.snapshot
        facts = tool_facts(snapshot, tool)
        phrase = matched_phrase(self._text, self._words, facts.name, facts.description, self._rarity)
        given = self._given.of(tool, facts)
        missing = [each for each in facts.required if each.name not in given]
        unsaid = [each for each in missing if not self._given.may_give(each, given.values())]
        needed = {each.terms for each in facts.required}
        calls = first_calls(snapshot, tool, facts, unsaid, self._ranks, lambda other: self._can_call(other, needed))
        supplied = {call.parameter.name for call in calls}
        still = [each for each in missing if each.name not in supplied]
        for shown in _SHOWN:
            line = "; ".join(self._parts(phrase, given, calls, still, shown))
            if len(line.split()) <= MAX_WORDS:
                return line
        return "near in meaning"

    def _parts(
        self,
        phrase: str,
        given: Mapping[str, str],
        calls: Sequence[FirstCall],
        still: Sequence[Input],
        shown: tuple[int, int, int],
    ) -> Iterator[str]:
        values, suppliers, inputs = shown
        yield f'matches "{phrase}"' if phrase else "near in meaning"
        for name, value in [(name, value) for name, value in given.items() if value.strip()][:values]:
            yield f"{_cut(short_name(name), _MAX_NAME_CHARS)} is {_cut(value, _MAX_VALUE_CHARS)}"
        for call in calls[:suppliers]:
            called = _one_word(self._context.snapshot.tool_id(call.supplier))
            verb = "use the result of" if call.supplier in self._context.done else "call"
            first = "" if call.supplier in self._context.done else " first"
            yield f"{verb} {called}{first} for {_cut(call.parameter.short, _MAX_NAME_CHARS)}"
        if still and inputs:
            names = [_cut(each.short, _MAX_NAME_CHARS) for each in still]
            more = f" and {len(names) - inputs} more" if len(names) > inputs else ""
            yield f"needs {', '.join(names[:inputs])}{more}"

    def _can_call(self, tool: int, needed: Collection[tuple[str, ...]]) -> bool:
        """Whether a tool was called, or can be with what the request gives and with the inputs that its consumer needs too."""
        if tool in self._context.done:
            return True
        facts = tool_facts(self._context.snapshot, tool)
        given = self._given.of(tool, facts)
        return all(each.name in given or each.terms in needed for each in facts.required)

    def _rarity(self, term: str) -> float:
        return self._context.snapshot.fields["whole"].idf(term)


def _one_word(text: str) -> str:
    return _cut("_".join(text.split()), _MAX_NAME_CHARS)


def _cut(text: str, most: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= most else f"{text[: most - 1]}…"
