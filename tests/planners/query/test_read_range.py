"""Date expressions and the ranges that they stand for."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ontology.errors import InvalidArgumentError
from planners.query.dates import DateRange, read_range

TABLE: dict[str, Any] = yaml.safe_load((Path(__file__).parent / "dates.yaml").read_text(encoding="utf-8"))
TODAY: date = TABLE.pop("today")
CASES = [(text, str(wanted)) for group in TABLE.values() for text, wanted in group.items()]


def _split(text: str) -> tuple[str, Any]:
    return (text[2:], text[0]) if text[:2] in ("= ", "< ", "> ") else (text, "=")


@pytest.mark.parametrize(("text", "wanted"), CASES, ids=[text for text, _ in CASES])
def test_an_expression_is_read_as_its_range(text: str, wanted: str) -> None:
    expression, op = _split(text)
    if wanted == "error":
        with pytest.raises(InvalidArgumentError) as refused:
            read_range(expression, TODAY, op)
        assert refused.value.subject == expression
        return
    assert read_range(expression, TODAY, op).range.iso() == wanted


READABLE = [text for text, wanted in CASES if wanted != "error" and text == _split(text)[0]]


@given(text=st.sampled_from(READABLE), days=st.integers(0, 5_000))
def test_any_today_gives_a_range_that_is_not_empty_and_survives_as_text(text: str, days: int) -> None:
    found = read_range(text, date(2020, 1, 1) + timedelta(days=days)).range
    assert found.start or found.end
    assert found.start is None or found.end is None or found.start < found.end
    assert DateRange.from_iso(found.iso()) == found


@given(text=st.text(max_size=40))
def test_any_text_is_a_range_or_a_named_error(text: str) -> None:
    try:
        assert read_range(text, TODAY).range.iso()
    except InvalidArgumentError as error:
        assert error.remedy


@pytest.mark.parametrize(
    ("today", "text", "wanted"),
    [
        (date(2026, 2, 16), "Monday", "2026-02-16/2026-02-17"),
        (date(2026, 2, 16), "last Monday", "2026-02-09/2026-02-10"),
        (date(2026, 2, 16), "next Monday", "2026-02-23/2026-02-24"),
        (date(2026, 2, 18), "the weekend", "2026-02-14/2026-02-16"),
        (date(2024, 3, 31), "a month ago", "2024-02-01/2024-03-01"),
        (date(2024, 3, 31), "the past month", "2024-03-01/2024-04-01"),
        (date(2026, 1, 1), "yesterday", "2025-12-31/2026-01-01"),
        (date(2026, 1, 5), "this winter", "2025-12-01/2026-03-01"),
        (date(2026, 7, 1), "last summer", "2025-06-01/2025-09-01"),
        (date(2026, 12, 31), "in December", "2026-12-01/2027-01-01"),
        (date(2020, 1, 1), "between last Monday and Friday", "2019-12-30/2020-01-04"),
        (date(2020, 1, 4), "between last Monday and Friday", "2019-12-30/2020-01-04"),
        (date(2026, 2, 15), "from last June to March", "2025-06-01/2026-04-01"),
    ],
)
def test_on_the_edges_of_units(today: date, text: str, wanted: str) -> None:
    assert read_range(text, today).range.iso() == wanted
