"""Recurring events, time zones and days against a count by hand; cards of one person."""

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planners.personal.calendars import CalendarEvent, calendar_events

NEW_YORK, BERLIN = ZoneInfo("America/New_York"), ZoneInfo("Europe/Berlin")
UNTIL = date(2028, 1, 1)


def _events(*lines: str, zone: ZoneInfo = NEW_YORK) -> list[CalendarEvent]:
    body = "\r\n".join(lines if "BEGIN:VEVENT" in lines else _event(*lines))
    found = list(calendar_events(f"BEGIN:VCALENDAR\r\n{body}\r\nEND:VCALENDAR\r\n", "a.ics", zone, UNTIL))
    assert all(isinstance(each, CalendarEvent) for each in found), found
    return [each for each in found if isinstance(each, CalendarEvent)]


def _event(*lines: str) -> tuple[str, ...]:
    return ("BEGIN:VEVENT", "UID:u", *lines, "END:VEVENT")


def _starts(events: Sequence[CalendarEvent]) -> list[str]:
    return [each.start for each in events]


def test_a_meeting_at_nine_stays_at_nine_when_the_clocks_change() -> None:
    events = _events("DTSTART;TZID=Europe/Berlin:20260323T090000", "RRULE:FREQ=WEEKLY;COUNT=2", zone=BERLIN)
    assert _starts(events) == ["2026-03-23T09:00:00+01:00", "2026-03-30T09:00:00+02:00"]
    # In New York summer time began three weeks before.
    events = _events("DTSTART;TZID=Europe/Berlin:20260323T090000", "RRULE:FREQ=WEEKLY;COUNT=2")
    assert _starts(events) == ["2026-03-23T04:00:00-04:00", "2026-03-30T03:00:00-04:00"]


@given(
    st.dates(date(2024, 1, 1), date(2027, 12, 1)),
    st.sampled_from([("DAILY", 1), ("WEEKLY", 7)]),
    st.integers(1, 9),
    st.integers(1, 40),
    st.sets(st.integers(0, 39), max_size=4),
)
def test_repeating_days_against_a_loop(
    first: date, frequency: tuple[str, int], interval: int, count: int, left_out: set[int]
) -> None:
    step = timedelta(days=frequency[1] * interval)
    lines = [f"EXDATE;TZID=Europe/Berlin:{first + step * number:%Y%m%d}T200000" for number in left_out]
    events = _events(
        f"DTSTART;TZID=Europe/Berlin:{first:%Y%m%d}T200000",
        f"RRULE:FREQ={frequency[0]};INTERVAL={interval};COUNT={count}",
        *lines,
        zone=BERLIN,
    )
    wanted = [first + step * number for number in range(count) if number not in left_out]
    assert [each.first_day for each in events] == [day for day in wanted if day < UNTIL]


def test_exceptions_of_a_rule() -> None:
    start, more = "DTSTART;TZID=Europe/Berlin:202606", "RDATE;TZID=Europe/Berlin:20260603T090000"
    events = _events(
        *_event("SUMMARY:Weekly", f"{start}01T090000", "RRULE:FREQ=WEEKLY;COUNT=3", more),
        *_event("SUMMARY:Moved", "RECURRENCE-ID:20260608T070000Z", f"{start}09T150000"),
        *_event("STATUS:CANCELLED", "RECURRENCE-ID:20260615T070000Z", f"{start}15T090000"),
        zone=BERLIN,
    )
    assert sorted((each.first_day.day, each.name) for each in events) == [(1, "Weekly"), (3, "Weekly"), (9, "Moved")]
    assert len({each.id for each in events}) == 3


@pytest.mark.parametrize(
    ("lines", "days"),
    [
        (("DTSTART:20260601T030000Z", "DTEND:20260601T050000Z"), (31, 1)),  # the evening before, past midnight
        (("DTSTART;TZID=America/New_York:20260601T220000", "DURATION:PT2H"), (1, 1)),  # ends at midnight
        (("DTSTART;TZID=America/New_York:20260601T220000", "DURATION:PT2H1M"), (1, 2)),
        (("DTSTART;VALUE=DATE:20260601",), (1, 1)),
        (("DTSTART;VALUE=DATE:20260601", "DTEND;VALUE=DATE:20260604"), (1, 3)),
        (("DTSTART:20260601T100000",), (1, 1)),  # wherever the user is
        (("DTSTART:20260602T100000Z", "DTEND:20260601T100000Z"), (2, 2)),  # ends before it begins
    ],
)
def test_the_days_of_an_event_are_those_where_the_user_is(lines: tuple[str, ...], days: tuple[int, int]) -> None:
    (event,) = _events(*lines)
    assert (event.first_day.day, (event.end_day - timedelta(days=1)).day) == days
    assert event.all_day == ("VALUE=DATE" in lines[0])
    assert datetime.fromisoformat(event.start) <= datetime.fromisoformat(event.end)
