"""The seam of date readers, and the two behind it: ``rules.v1``, and ``llm.v1`` as in QueryWeaver's appendix A1.2, which the rules check."""

from __future__ import annotations

import json
from datetime import date, timedelta
from typing import Protocol

from inference.chat import ChatModel, Message
from ontology.errors import InvalidArgumentError, ModelError
from planners.query.dates.date_range import DateRange, DateReading
from planners.query.dates.read_range import DateOperator, apply_operator, read_range, sentence

__all__ = ["DateReader", "LlmDates", "RulesDates"]

_MAX_TOKENS = 60
_SCHEMA = {
    "type": "object",
    "properties": {
        "first": {"type": "string", "pattern": "^([0-9]{4}-[0-9]{2}-[0-9]{2})?$"},
        "last": {"type": "string", "pattern": "^([0-9]{4}-[0-9]{2}-[0-9]{2})?$"},
    },
    "required": ["first", "last"],
    "additionalProperties": False,
}
_INSTRUCTIONS = """You turn a date expression into the first and the last day that it covers, both as YYYY-MM-DD.

- Count relative expressions ("last month", "yesterday", "a couple of weeks ago") from today's date, which is given.
- A month, a weekday or a day without a year is its last occurrence that has begun.
- "before X" covers everything up to the day before X begins: "first" is empty. "since X" and "after X" cover everything from the beginning of X on: "last" is empty.
- A week begins on Monday.
- Where the expression is no date, both are empty.

Example: today is 2026-02-15. "in March" gives {"first": "2025-03-01", "last": "2025-03-31"}.
Answer with one JSON object and nothing else."""


class DateReader(Protocol):
    """Reads date expressions."""

    @property
    def name(self) -> str:
        """The versioned name."""
        ...

    def read(self, expression: str, today: date, op: DateOperator = "=") -> DateReading:
        """Return the range of an expression under an operator.

        :raises InvalidArgumentError: when it is no date, and when it contradicts the operator.
        """
        ...


class RulesDates:
    """Reads dates by rules; deterministic."""

    name = "rules.v1"

    def read(self, expression: str, today: date, op: DateOperator = "=") -> DateReading:
        """Return the range of an expression; see :class:`DateReader`."""
        return read_range(expression, today, op)


class LlmDates:
    """Reads dates with a chat model. Where its answer is none, or shares no day with what the rules read, the rules decide.

    :param model: the chat model; it gets the expression and today's date.
    """

    name = "llm.v1"

    def __init__(self, model: ChatModel) -> None:
        self._model = model

    def read(self, expression: str, today: date, op: DateOperator = "=") -> DateReading:
        """Return the range of an expression; see :class:`DateReader`."""
        try:
            by_rules = read_range(expression, today)
        except InvalidArgumentError:
            by_rules = None
        found = self._ask(expression, today)
        if found is None or (by_rules and not _overlap(found, by_rules.range)):
            return read_range(expression, today, op)
        try:
            applied = apply_operator(found, op, expression)
        except ValueError as error:
            raise InvalidArgumentError(
                f"not a date expression: {error}", subject=expression, remedy="Use another operator or expression"
            ) from error
        return DateReading(applied, sentence(expression, applied))

    def _ask(self, expression: str, today: date) -> DateRange | None:
        messages = (
            Message(role="system", content=_INSTRUCTIONS),
            Message(role="user", content=f"Today is {today:%A} {today}.\nDate expression: {expression}"),
        )
        try:
            answer = self._model.complete(messages, schema=_SCHEMA, schema_name="days", max_tokens=_MAX_TOKENS)
            days = json.loads(answer.text)
            first, last = (date.fromisoformat(day) if (day := days[end]) else None for end in ("first", "last"))
            found = DateRange(first, last + timedelta(days=1) if last else None)
        except (ModelError, ValueError, KeyError, TypeError, OverflowError, RecursionError):
            return None
        empty = first is None and last is None
        return None if empty or (first and last and last < first) else found


def _overlap(first: DateRange, second: DateRange) -> bool:
    starts = [each.start for each in (first, second) if each.start]
    ends = [each.end for each in (first, second) if each.end]
    return not starts or not ends or max(starts) < min(ends)
