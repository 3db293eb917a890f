"""The events of an iCalendar file (RFC 5545): one for each time that a recurring event happens."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from icalendar import Calendar
from icalendar.cal import Component

from planners.personal.component_blocks import component_blocks
from planners.personal.index_faults import Fault
from planners.personal.mail_parts import NamedAddress
from planners.personal.recurrences import MAX_OCCURRENCES, EmptyRuleError, occurrences

__all__ = ["CalendarEvent", "calendar_events"]

_MAX_CHARS = 2_000
_MAX_EMPTY_RULES = 5  # of a file: each takes seconds
_MAX_ROWS = 1_000_000  # of the index, that the events of one file come to: days and attendees of each occurrence


@dataclass(frozen=True, slots=True, kw_only=True)
class CalendarEvent:
    """One event, or one occurrence of a recurring one.

    :param id: its UID; of an occurrence, with the start that the rule gives it.
    :param start: ISO 8601; a day for an event that lasts all day, else a moment in the user's zone.
    :param first_day: in the user's zone.
    :param end_day: the day after the last one.
    :param attendees: who organises it or was asked to come, and did not decline.
    """

    id: str
    name: str
    place: str
    start: str
    end: str
    all_day: bool
    first_day: date
    end_day: date
    attendees: tuple[NamedAddress, ...] = field(default=())


def calendar_events(text: str, subject: str, zone: ZoneInfo, until: date) -> Iterator[CalendarEvent | Fault]:
    """Yield the events of a file that are not cancelled, and a fault for each that cannot be read.

    :param subject: the file, for faults.
    :param until: occurrences that start on this day or later are left out.
    """
    components: list[Component] = []
    for found in _components(text, subject):
        if isinstance(found, Fault):
            yield found
        else:
            components.append(found)
    moved: dict[str, set[str]] = {}
    for each in components:
        if each.get("RECURRENCE-ID") is not None:
            with suppress(Exception):  # an impossible one is named below
                moved.setdefault(_uid(each), set()).add(_slot(each, zone))
    left, empty = _MAX_ROWS, 0
    for each in components:
        try:
            for happening in _happenings(each, subject, zone, until, moved.get(_uid(each), set())):
                if isinstance(happening, CalendarEvent):
                    left -= 1 + len(happening.attendees) + (happening.end_day - happening.first_day).days
                if left < 0:
                    yield Fault(
                        subject,
                        f"too many occurrences, days and attendees (more than {_MAX_ROWS:,}); the rest was left out",
                    )
                    return
                yield happening
        except Exception as error:  # an impossible date or rule shows as one of many classes
            empty += isinstance(error, EmptyRuleError)
            yield Fault(
                f"{subject}#{_uid(each)}", f"an event that cannot be read ({type(error).__name__}: {str(error)[:100]})"
            )
            if empty == _MAX_EMPTY_RULES:
                yield Fault(subject, f"{empty} rules that no day meets; the events after them were left out")
                return


def _components(text: str, subject: str) -> Iterator[Component | Fault]:
    try:
        yield from Calendar.from_ical(text).walk("VEVENT")
        return
    except Exception as error:  # the parser raises many classes; the events are read one by one then
        yield Fault(subject, f"not a calendar as a whole ({str(error)[:100]}); its events were read one by one")
    zones = "\r\n".join(text[start:end] for start, end in component_blocks(text, "VTIMEZONE"))
    for start, end in component_blocks(text, "VEVENT"):
        try:
            one = f"BEGIN:VCALENDAR\r\n{zones}\r\n{text[start:end]}\r\nEND:VCALENDAR\r\n"
            yield from Calendar.from_ical(one).walk("VEVENT")
        except Exception as error:  # as above
            yield Fault(subject, f"an event that cannot be read ({str(error)[:100]})")


def _happenings(
    event: Component, subject: str, zone: ZoneInfo, until: date, moved: set[str]
) -> Iterator[CalendarEvent | Fault]:
    first = event.decoded("DTSTART", None)
    if not isinstance(first, date):
        yield Fault(f"{subject}#{_uid(event)}", f"an event without a possible start ({str(first)[:40]})")
        return
    if str(event.get("STATUS", "")).upper() == "CANCELLED":
        return
    for name, problem in event.errors[:3]:
        yield Fault(f"{subject}#{_uid(event)}", f"a line of it was left out ({name or ''}: {str(problem)[:100]})")
    length = _length(event, first)
    one = CalendarEvent(
        id=_uid(event), name=_text(event, "SUMMARY"), place=_text(event, "LOCATION"), attendees=_attendees(event),
        start="", end="", all_day=not isinstance(first, datetime), first_day=date.min, end_day=date.min,
    )  # fmt: skip
    if event.get("RECURRENCE-ID") is not None:
        yield replace(one, id=f"{one.id}@{_slot(event, zone)}", **_times(first, length, zone))
        return
    starts = occurrences(event, until)
    if len(starts) == MAX_OCCURRENCES:
        yield Fault(f"{subject}#{one.id}", f"only its first {MAX_OCCURRENCES:,} occurrences were taken")
    recurs = len(starts) > 1 or event.get("RRULE") is not None
    for start in starts:
        times = _times(start, length, zone)
        if recurs and times["start"] in moved:
            continue
        yield replace(one, id=f"{one.id}@{times['start']}" if recurs else one.id, **times)


def _length(event: Component, start: date) -> timedelta:
    end, duration = event.decoded("DTEND", None), event.decoded("DURATION", None)
    if isinstance(end, date):
        if isinstance(end, datetime) and isinstance(start, datetime) and (end.tzinfo is None) != (start.tzinfo is None):
            end, start = end.replace(tzinfo=None), start.replace(tzinfo=None)
        if isinstance(end, datetime) == isinstance(start, datetime):
            return max(timedelta(), timedelta(seconds=(end - start).total_seconds()))
    elif isinstance(duration, timedelta):
        return max(timedelta(), duration)
    return timedelta() if isinstance(start, datetime) else timedelta(days=1)


def _times(start: date | datetime, length: timedelta, zone: ZoneInfo) -> dict[str, Any]:
    """The fields of an occurrence that say when it is."""
    if not isinstance(start, datetime):
        days = max(length.days, 1)
        end = start + timedelta(days=days)
        return {"start": start.isoformat(), "end": end.isoformat(), "first_day": start, "end_day": end}
    begin = start.replace(tzinfo=zone) if start.tzinfo is None else start.astimezone(zone)
    # Lengths are counted in real time, also where the clocks change during the event.
    finish = datetime.fromtimestamp(begin.timestamp() + length.total_seconds(), zone)
    last = finish.date() if finish.time() > time() or finish == begin else finish.date() - timedelta(days=1)
    return {
        "start": begin.isoformat(),
        "end": finish.isoformat(),
        "first_day": begin.date(),
        "end_day": last + timedelta(days=1),
    }


def _slot(event: Component, zone: ZoneInfo) -> str:
    """The start of the occurrence that an event replaces, as its id has it."""
    return str(_times(event.decoded("RECURRENCE-ID"), timedelta(), zone)["start"])


def _uid(event: Component) -> str:
    return " ".join(str(event.get("UID", "")).split())[:500] or f"{event.get('SUMMARY', '')}/{event.get('DTSTART', '')}"


def _text(event: Component, name: str) -> str:
    value = event.get(name, "")
    return " ".join(str(value[0] if isinstance(value, list) and value else value).split())[:_MAX_CHARS]


def _attendees(event: Component) -> tuple[NamedAddress, ...]:
    found: dict[str, NamedAddress] = {}
    for name in ("ORGANIZER", "ATTENDEE"):
        value = event.get(name, [])
        for each in value if isinstance(value, list) else [value]:
            address = str(each).strip()
            address = address[7:] if address[:7].casefold() == "mailto:" else address
            parameters = getattr(each, "params", {})
            if "@" not in address:
                continue
            address = address.casefold()
            if str(parameters.get("PARTSTAT", "")).upper() == "DECLINED":
                found.pop(address, None)
            else:
                found.setdefault(address, NamedAddress(address, " ".join(str(parameters.get("CN", "")).split())))
    return tuple(found.values())
