"""Date expressions, the ranges that they stand for, and where they stand in requests."""

from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ontology.errors import InvalidArgumentError
from planners.query.dates import DateRange, date_spans, read_range

TABLE: dict[str, Any] = yaml.safe_load((Path(__file__).parent / "dates.yaml").read_text(encoding="utf-8"))
SPANS: dict[str, Any] = yaml.safe_load((Path(__file__).parent / "spans.yaml").read_text(encoding="utf-8"))
TODAY: date = TABLE.pop("today")
CASES = [(text, str(wanted)) for group in TABLE.values() for text, wanted in group.items()]


def _split(text: str) -> tuple[str, Any]:
    return (text[2:], text[0]) if text[:2] in ("= ", "< ", "> ") else (text, "=")


def _read(text: str) -> str:
    expression, op = _split(text)
    try:
        return read_range(expression, TODAY, op).range.iso()
    except InvalidArgumentError as error:
        assert error.subject == expression
        return "error"


def test_an_expression_is_read_as_its_range() -> None:
    assert {text: _read(text) for text, _ in CASES} == dict(CASES)


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


def test_on_the_edges_of_units(subtests: pytest.Subtests) -> None:
    for today, text, wanted in SPANS["edges"]:
        with subtests.test(ascii(today)):
            assert read_range(text, today).range.iso() == wanted


def test_dates_are_found_and_names_are_not(subtests: pytest.Subtests) -> None:
    for text, wanted in SPANS["spans"].items():
        with subtests.test(ascii(text)):
            spans = date_spans(text, TODAY)
            assert [[span.text, span.op] for span in spans] == wanted
            assert [text[span.start : span.end] for span in spans] == [span.text for span in spans]


def test_a_part_of_a_date_is_not_taken_for_the_whole(subtests: pytest.Subtests) -> None:
    for text in SPANS["parts"]:
        with subtests.test(ascii(text)):
            with pytest.raises(InvalidArgumentError, match="not a date expression"):
                date_spans(text, TODAY)
