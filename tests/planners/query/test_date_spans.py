"""Where dates stand in requests."""

from __future__ import annotations

from datetime import date

import pytest

from ontology.errors import InvalidArgumentError
from planners.query.dates import date_spans

TODAY = date(2026, 2, 15)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Emails from Jane in February, or before July 2025", [("in February", "="), ("before July 2025", "<")]),
        ("The last email since Monday", [("since Monday", ">")]),
        ("Mails of 2 weeks", []),
        ("I may march in the room 2025", []),
        ("Who was at the Christmas Party and at the Friday Standup?", []),
        ("Mails from 3 to 5 March 2025 about 2025", [("from 3 to 5 March 2025", "=")]),
        ("Mails sent no later than Friday", [("no later than Friday", "=")]),
        ("Mails of 2 weeks ago and since May", [("2 weeks ago", "="), ("since May", ">")]),
        ("Mails of the last twenty-five days", [("the last twenty-five days", "=")]),
        ("Meetings in a dozen weeks", [("in a dozen weeks", "=")]),
    ],
)
def test_dates_are_found_and_names_are_not(text: str, wanted: list[tuple[str, str]]) -> None:
    spans = date_spans(text, TODAY)
    assert [(span.text, span.op) for span in spans] == wanted
    assert [text[span.start : span.end] for span in spans] == [span.text for span in spans]


@pytest.mark.parametrize(
    "text",
    [
        "Mails on Friday the 13th",
        "Mails on Monday 5 March 2025",
        "Meetings every Monday",
        "Mails of more than 2 weeks ago",
        "Mails of early March 2025",
        "Mails at Christmas",
        "Mails in the first week of May",
        "Mails of the second Tuesday of May 2025",
        "Mails three days before Christmas",
        "Mails a week from Friday",
        "Mails of the day after May 3, 2025",
        "Meetings on a Monday in 2025",
    ],
)
def test_a_part_of_a_date_is_not_taken_for_the_whole(text: str) -> None:
    with pytest.raises(InvalidArgumentError, match="not a date expression"):
        date_spans(text, TODAY)
