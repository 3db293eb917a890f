"""The calendar of generated data: single events, events of whole days, recurring ones with exceptions, in several time zones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from random import Random
from zoneinfo import ZoneInfo

from icalendar import Calendar, Event, vCalAddress

from benchmarks.personal.acquaintances import ME, Acquaintance, tell_person
from benchmarks.personal.truth_tables import TruthTables

_ZONES = ("America/New_York", "Europe/Berlin", "UTC")
_NAMES = "Budget review|Design sprint|Dentist|Garden party|Jazz night|Lunch|Piano recital|Planning|Retrospective|Trail walk".split(
    "|"
)
_PLACES = (
    "Piedmont Park, 400 Park Dr NE, Atlanta",
    "Room 4.12",
    "Café Anna, Hauptstraße 3, Berlin",
    "City Library, 1 Main Street",
    "Harbour Hall",
)


@dataclass(frozen=True, slots=True)
class _Written:
    """What the events of one UID share.

    :param attendees: without those who declined; the user among them or not.
    :param mine: whether the user attends.
    """

    uid: str
    name: str
    place: str
    attendees: tuple[Acquaintance, ...]
    mine: bool


def write_calendars(
    folder: Path,
    count: int,
    people: Sequence[Acquaintance],
    zone: ZoneInfo,
    today: date,
    random: Random,
    truth: TruthTables,
) -> None:
    """Write two calendars with ``count`` events, recurring ones counted once.

    The user met the second person, and nobody else, at Piedmont Park six days before ``today``; Jane Doe and the third on some
    day; Jane Doe on 10 February.

    :param zone: the user's.
    :param today: the events lie within the two years before it; rules without an end are known until the end of the year after.
    """
    folder.mkdir(parents=True)
    calendars = [Calendar(), Calendar()]
    for calendar in calendars:
        calendar.add("PRODID", "-//egotools//generated//")
        calendar.add("VERSION", "2.0")
    for number in range(count):
        event, about = _event(number, people, random)
        known = {0: today - timedelta(days=6), 2: date(today.year, 2, 10)}
        day = known.get(number) or today - timedelta(days=random.randint(15, 730))
        kind = number % 5
        if kind == 3:
            days = random.randint(1, 4)
            event.add("DTSTART", day)
            event.add("DTEND", day + timedelta(days=days))
            _tell(about, about.uid, [day + timedelta(days=each) for each in range(days)], truth)
        elif kind == 4:
            calendars[1].add_component(_recurring(event, about, day, zone, today, number // 5, random, truth))
        else:
            _single(event, about, day, zone, random, truth)
        calendars[number % 2].add_component(event)
    for name, calendar in zip(("home.ics", "work.ics"), calendars, strict=True):
        (folder / name).write_bytes(calendar.to_ical())


def _event(number: int, people: Sequence[Acquaintance], random: Random) -> tuple[Event, _Written]:
    event = Event()
    planted = {0: [people[1]], 1: [people[0], people[2]], 2: [people[0]]}.get(number)
    invited = planted or random.sample(list(people[: max(8, len(people) // 2)]), number % 4)
    mine = bool(planted) or random.random() < 0.7
    declined = random.choice(invited) if not planted and len(invited) > 1 else None
    name = f"{random.choice(_NAMES)} {number}" if number % 3 else random.choice(_NAMES)
    place = _PLACES[0] if number == 0 else random.choice((*_PLACES[number % 5 == 4 :], ""))
    event.add("UID", f"event-{number}@calendar.example")
    event.add("DTSTAMP", datetime(2024, 1, 1, tzinfo=UTC))
    event.add("SUMMARY", name)
    if place:
        event.add("LOCATION", place)
    for person in [*invited, *([ME] if mine and invited else [])]:
        address = vCalAddress(f"mailto:{random.choice(person.addresses)}")
        address.params["CN"] = person.name
        address.params["PARTSTAT"] = "DECLINED" if person is declined else "ACCEPTED"
        event.add("ATTENDEE", address, encode=False)
    came = tuple(person for person in invited if person is not declined)
    return event, _Written(f"event-{number}@calendar.example", name, place, came, mine or not invited)


def _single(event: Event, about: _Written, day: date, zone: ZoneInfo, random: Random, truth: TruthTables) -> None:
    there = ZoneInfo(random.choice(_ZONES))
    start = datetime(day.year, day.month, day.day, random.randint(5, 22), 30, tzinfo=there)
    end = (start.astimezone(UTC) + timedelta(hours=random.randint(1, 5))).astimezone(there)
    event.add("DTSTART", start)
    event.add("DTEND", end)
    _tell(about, about.uid, _days(start, end, zone), truth)


def _recurring(
    event: Event, about: _Written, day: date, zone: ZoneInfo, today: date, turn: int, random: Random, truth: TruthTables
) -> Event:
    """Fill a weekly event of which one occurrence is left out and another is two hours later; return the latter.

    :param turn: every third, from 0 on, has no end.
    """
    there = ZoneInfo(random.choice(_ZONES))
    first = datetime(day.year, day.month, day.day, 9, 0, tzinfo=there)
    times = (0, 4, 9)[turn % 3]
    event.add("DTSTART", first)
    event.add("DURATION", timedelta(minutes=45))
    event.add("RRULE", {"FREQ": ["WEEKLY"], **({"COUNT": [times]} if times else {})})
    event.add("EXDATE", first + timedelta(weeks=1))
    moved = Event()
    for name in ("UID", "SUMMARY", "LOCATION", "ATTENDEE", "DTSTAMP"):
        if name in event:
            moved[name] = event[name]
    slot = first + timedelta(weeks=2)
    moved.add("RECURRENCE-ID", slot)
    moved.add("DTSTART", slot + timedelta(hours=2))
    moved.add("DURATION", timedelta(minutes=45))
    number, until = 0, date(today.year + 2, 1, 1)
    while (times == 0 and (first + timedelta(weeks=number)).date() < until) or number < times:
        start = first + timedelta(weeks=number)  # in wall time: at nine in summer and in winter
        if number != 1:
            real = start + timedelta(hours=2 if number == 2 else 0)
            days = _days(real, real + timedelta(minutes=45), zone)
            _tell(about, f"{about.uid}@{start.astimezone(zone).isoformat()}", days, truth)
        number += 1
    return moved


def _days(start: datetime, end: datetime, zone: ZoneInfo) -> list[date]:
    """The days that an event touches where the user is; one that ends at midnight does not touch the next."""
    first, last = start.astimezone(zone).date(), (end.astimezone(zone) - timedelta(microseconds=1)).date()
    return [first + timedelta(days=each) for each in range((last - first).days + 1)]


def _tell(about: _Written, id_: str, days: Sequence[date], truth: TruthTables) -> None:
    event = ("Event", truth.add("Event", id_, name=about.name))
    for day in days:
        truth.link(event, "occurred_on", ("Date", f"{day}/{day + timedelta(days=1)}"))
    for person in about.attendees:
        truth.link(tell_person(person, truth), "attended", event)
    if about.mine:
        truth.link(("Self", "self"), "attended", event)
    if about.place:
        key = about.place.casefold()
        truth.add("Place", key, name=about.place.partition(",")[0])
        truth.link(event, "location", ("Place", key))
