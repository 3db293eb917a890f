"""Times that are said of a date or a year, as conditions on it: "launched in March 2021", "published after 2020"."""

from __future__ import annotations

import calendar
from collections.abc import Sequence

from planners.graphseek.rules.phrase_lexicon import PropertyOf
from planners.graphseek.rules.question_cues import Cue
from planners.graphseek.rules.question_reading import Condition
from planners.graphseek.rules.said_question import UnreadableError

__all__ = ["date_conditions"]

_MONTHS_OF_QUARTER, _LAST_MONTH = 3, 12
_LATER = (">", "<=")
"""Operators that compare with the end of a year; the others compare with its beginning."""


def date_conditions(key: PropertyOf, times: Sequence[Cue]) -> list[Condition]:
    """Return the conditions.

    :raises UnreadableError: when a month or quarter has no year, there are several times, or a year is no date.
    """
    spans = [cue.value for cue in times if cue.kind == "span"]
    said = {cue.kind: int(cue.value) for cue in times if cue.kind != "span"}
    if len(said) + len(spans) != len(times) or (spans and said) or len(spans) > 1:
        raise UnreadableError(f"it names several times for {key.key.name}")
    if spans:
        operator, year = spans[0]
        day = f"{year}-12-31" if operator in _LATER else f"{year}-01-01"
        return [Condition(of=key, operator=operator, value=day if key.role == "date" else year)]
    if "year" not in said:
        raise UnreadableError(f"it does not say of which year {key.key.name} is")
    year = said["year"]
    if key.role == "year":
        if len(said) > 1:
            raise UnreadableError(f"{key.key.name} is a year, without quarters and months")
        return [Condition(of=key, operator="=", value=year)]
    first, last = _months(said)
    begin, end = f"{year}-{first:02}-01", f"{year}-{last:02}-{calendar.monthrange(year, last)[1]:02}"
    return [Condition(of=key, operator=operator, value=day) for operator, day in ((">=", begin), ("<=", end))]


def _months(said: dict[str, int]) -> tuple[int, int]:
    if "month" in said:
        return said["month"], said["month"]
    if "quarter" in said:
        last = _MONTHS_OF_QUARTER * said["quarter"]
        return last - _MONTHS_OF_QUARTER + 1, last
    return 1, _LAST_MONTH
