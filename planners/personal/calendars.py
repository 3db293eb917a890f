"""Calendars (RFC 5545) and address books (vCard 2.1 to 4.0): each time that an event happens, and the names and addresses of people."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta, tzinfo
from itertools import islice, takewhile
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from dateutil.rrule import rrulestr  # type: ignore[import-untyped]

from ontology.errors import MissingExtraError
from planners.personal.mail import NamedAddress

try:
    import vobject  # type: ignore[import-untyped]
    from icalendar import Calendar
    from icalendar.cal import Component
except ImportError as error:
    raise MissingExtraError("the personal domain", extra="personal") from error


_MAX_OCCURRENCES = 2_000  # of one event
_MAX_ROWS = 1_000_000  # of the index, that the events of one file come to: days and attendees of each occurrence
_MAX_CHARS, _MAX_CARD_CHARS = 2_000, 100_000
_CARD = re.compile(r"^BEGIN:VCARD[ \t\r]*$", re.MULTILINE | re.IGNORECASE)
# A picture of 50 MB would keep the parser of cards busy for hours.
_UNREAD = re.compile(
    r"^(?:[\w-]+\.)?(?:PHOTO|LOGO|SOUND|KEY|NOTE)[;:].*\n?(?:[ \t].*\n?)*", re.MULTILINE | re.IGNORECASE
)


class Fault(NamedTuple):
    """Something that could not be read, or only in part: the file and the place in it (``inbox.mbox@81920``), and what is wrong."""

    subject: str
    problem: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CalendarEvent:
    """One event, or one occurrence of a recurring one."""

    id: str  # its UID; of an occurrence, with the start that the rule gives it
    name: str
    place: str
    start: str  # ISO 8601; a day for an event that lasts all day, else a moment in the user's zone
    end: str
    all_day: bool
    first_day: date  # in the user's zone; ``end_day`` is the day after the last one
    end_day: date
    attendees: tuple[NamedAddress, ...] = ()  # who organises it or was asked to come, and did not decline


class AddressCard(NamedTuple):
    """A card: the formatted name, else given and family name; mail addresses in lower case; whether it is the user's own."""

    uid: str
    name: str
    addresses: tuple[str, ...]
    own: bool


def calendar_events(text: str, subject: str, zone: ZoneInfo, until: date) -> Iterator[CalendarEvent | Fault]:
    """Yield the events of a file that are not cancelled, without occurrences that start on ``until`` or later, and a
    fault, which names the file, for each that cannot be read, or for the file."""
    try:
        events = Calendar.from_ical(text).walk("VEVENT")
    except Exception as error:  # the parser raises many classes
        yield Fault(subject, f"not a calendar ({str(error)[:100]})")
        return
    moved: dict[str, set[str]] = {}
    for each in events:
        with suppress(Exception):  # an impossible one is named below
            if each.get("RECURRENCE-ID") is not None:
                moved.setdefault(_uid(each), set()).add(_slot(each, zone))
    left = _MAX_ROWS
    for each in events:
        place = f"{subject}#{_uid(each)}"
        try:
            for happening in _happenings(each, place, zone, until, moved.get(_uid(each), set())):
                if isinstance(happening, CalendarEvent):
                    left -= 1 + len(happening.attendees) + (happening.end_day - happening.first_day).days
                if left < 0:
                    most = f"more than {_MAX_ROWS:,}"
                    yield Fault(subject, f"too many occurrences, days and attendees ({most}); the rest was left out")
                    return
                yield happening
        except Exception as error:  # an impossible date or rule shows as one of many classes
            told = f"{type(error).__name__.strip('_')}: {str(error)[:100]}"
            yield Fault(place, f"an event that cannot be read ({told})")


def _happenings(
    event: Component, subject: str, zone: ZoneInfo, until: date, moved: set[str]
) -> Iterator[CalendarEvent | Fault]:
    first = event.decoded("DTSTART", None)
    if not isinstance(first, date):
        yield Fault(subject, f"an event without a possible start ({str(first)[:40]})")
        return
    if str(event.get("STATUS", "")).upper() == "CANCELLED":
        return
    for name, problem in event.errors[:3]:
        yield Fault(subject, f"a line of it was left out ({name or ''}: {str(problem)[:100]})")
    length = _length(event, first)
    one = CalendarEvent(
        id=_uid(event),
        name=_text(event, "SUMMARY"),
        place=_text(event, "LOCATION"),
        all_day=not isinstance(first, datetime),
        attendees=_attendees(event),
        **_times(first, length, zone),
    )
    if event.get("RECURRENCE-ID") is not None:
        yield replace(one, id=f"{one.id}@{_slot(event, zone)}")
        return
    starts = _occurrences(event, first, until)
    if len(starts) == _MAX_OCCURRENCES:
        yield Fault(subject, f"only its first {_MAX_OCCURRENCES:,} occurrences were taken")
    recurs = len(starts) > 1 or event.get("RRULE") is not None
    for start in starts:
        times = _times(start, length, zone)
        if not recurs:
            yield replace(one, **times)
        elif times["start"] not in moved:
            yield replace(one, id=f"{one.id}@{times['start']}", **times)


def _occurrences(event: Component, start: date, until: date) -> list[Any]:
    """Return the starts of an event, in order and in the form of its ``DTSTART``; the first one also after ``until``.
    The rule counts in the wall time of the event's zone, so that an event at 9 stays at 9 when summer time begins.
    Raises ValueError when the rule is none, one of several, or repeats within a day."""
    zone = start.tzinfo if isinstance(start, datetime) else None
    first, end = _wall(start, None), datetime.combine(until, time())
    found = {first}
    rules = _listed(event.get("RRULE"))
    if len(rules) > 1:  # RFC 5545, section 3.8.5.3: it should not occur more than once
        raise ValueError(f"it has {len(rules)} rules")
    for rule in rules:
        text = rule.to_ical().decode()
        if re.search("FREQ=(SECONDLY|MINUTELY|HOURLY)", text):
            raise ValueError("its rule repeats within a day")
        last = min([end - timedelta(microseconds=1), *(_wall(each, zone) for each in _listed(rule.get("UNTIL")))])
        rule_of = rrulestr(";".join(part for part in text.split(";") if not part.startswith("UNTIL")), dtstart=first)
        found.update(takewhile(lambda each, last=last: each <= last, islice(rule_of, _MAX_OCCURRENCES)))  # type: ignore[misc]
    found |= {_wall(each.dt, zone) for group in _listed(event.get("RDATE")) for each in group.dts}
    found -= {_wall(each.dt, zone) for group in _listed(event.get("EXDATE")) for each in group.dts}
    kept = sorted(each for each in found if each < end or each == first)[:_MAX_OCCURRENCES]
    return [each.replace(tzinfo=zone) if isinstance(start, datetime) else each.date() for each in kept]


def _wall(moment: Any, zone: tzinfo | None) -> datetime:
    moment = moment[0] if isinstance(moment, tuple) else moment
    if not isinstance(moment, datetime):  # a day as the end of a rule of times means all of that day
        return datetime.combine(moment, time())
    return (moment.astimezone(zone) if moment.tzinfo and zone else moment).replace(tzinfo=None)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


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


def _times(start: date, length: timedelta, zone: ZoneInfo) -> dict[str, Any]:
    """The fields of an occurrence that say when it is."""
    if not isinstance(start, datetime):
        end = start + timedelta(days=max(length.days, 1))
        return {"start": start.isoformat(), "end": end.isoformat(), "first_day": start, "end_day": end}
    begin = start.replace(tzinfo=zone) if start.tzinfo is None else start.astimezone(zone)
    # Lengths are counted in real time, also where the clocks change during the event.
    finish = datetime.fromtimestamp(begin.timestamp() + length.total_seconds(), zone)
    end_day = finish.date() + timedelta(days=finish.time() > time() or finish == begin)
    return {"start": begin.isoformat(), "end": finish.isoformat(), "first_day": begin.date(), "end_day": end_day}


def _slot(event: Component, zone: ZoneInfo) -> str:
    """The start of the occurrence that an event replaces, as its id has it."""
    return str(_times(event.decoded("RECURRENCE-ID"), timedelta(), zone)["start"])


def _uid(event: Component) -> str:
    return _text(event, "UID")[:500] or f"{event.get('SUMMARY', '')}/{event.get('DTSTART', '')}"


def _text(event: Component, name: str) -> str:
    return " ".join(str(next(iter(_listed(event.get(name, ""))), "")).split())[:_MAX_CHARS]


def _attendees(event: Component) -> tuple[NamedAddress, ...]:
    found: dict[str, NamedAddress] = {}
    for each in (*_listed(event.get("ORGANIZER")), *_listed(event.get("ATTENDEE"))):
        address, parameters = str(each).strip().casefold().removeprefix("mailto:"), getattr(each, "params", {})
        if str(parameters.get("PARTSTAT", "")).upper() == "DECLINED":
            found.pop(address, None)
        elif "@" in address:
            found.setdefault(address, NamedAddress(address, " ".join(str(parameters.get("CN", "")).split())))
    return tuple(found.values())


def address_cards(text: str, subject: str) -> Iterator[AddressCard | Fault]:
    """Yield the cards of a file, and a fault for each that cannot be read or names nobody. Faults name the file; one
    called ``me.vcf`` holds the user's own card."""
    own = subject.rsplit("/", 1)[-1].casefold() == "me.vcf"
    cards = _CARD.split(text)[1:]
    for number, written in enumerate(cards, 1):
        try:
            card = _card("BEGIN:VCARD" + _UNREAD.sub("", written), own)
        except Exception as error:  # the parser raises many classes
            yield Fault(f"{subject}#{number}", f"a card that cannot be read ({str(error)[:100]})")
            continue
        yield card if card.name or card.addresses else Fault(f"{subject}#{number}", "a card without name and address")
    if not cards:
        yield Fault(subject, "no card in it")


def _card(written: str, own: bool) -> AddressCard:
    if len(written) > _MAX_CARD_CHARS:
        raise ValueError(f"more than {_MAX_CARD_CHARS:,} characters of names and addresses")
    contents: dict[str, list[Any]] = vobject.readOne(written, ignoreUnreadable=True, allowQP=True).contents

    def values(name: str) -> list[str]:
        return [text for each in contents.get(name, ()) if (text := _spoken(getattr(each, "value", "")))]

    parts = [each.value for each in contents.get("n", ()) if hasattr(each.value, "family")]
    names = [f"{_spoken(each.given)} {_spoken(each.family)}".strip() for each in parts]
    addresses = [each.removeprefix("mailto:").casefold() for each in values("email") if "@" in each]
    kinds = [kind for each in contents.get("related", ()) for kind in getattr(each, "params", {}).get("TYPE", ())]
    name, uid = next(iter([*values("fn"), *filter(None, names)]), ""), next(iter(values("uid")), "")
    return AddressCard(uid, name, tuple(dict.fromkeys(addresses)), own or "ME" in map(str.upper, kinds))


def _spoken(value: object) -> str:
    return " ".join((" ".join(map(str, value)) if isinstance(value, list) else str(value)).split())[:500]
