"""Events as Google Calendar gives them (``calendar.v3``, ``Event``), as an iCalendar file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any
from zoneinfo import ZoneInfo

from icalendar import Calendar, Event, vCalAddress

from planners.personal.index_faults import Fault

__all__ = ["google_calendar"]

_RULES = ("RRULE", "RDATE", "EXDATE")
_END = b"END:VEVENT"


def google_calendar(items: Sequence[Mapping[str, Any]], subject: str) -> tuple[bytes, list[Fault]]:
    """Return the events as an iCalendar file, and a fault for each that is not as the document of the API says.

    :param items: of ``events.list`` without ``singleEvents``: recurring events once, and their exceptions.
    :param subject: the calendar, for faults.
    """
    uids = {item.get("id"): item.get("iCalUID") for item in items if isinstance(item, Mapping)}
    events, faults = [], []
    for item in items:
        try:
            events.append(_event(item, uids))
        except (AttributeError, LookupError, TypeError, ValueError, OSError) as error:
            id_ = item.get("id") if isinstance(item, Mapping) else item
            faults.append(Fault(f"{subject}#{str(id_)[:80]}", f"an event that cannot be read ({str(error)[:100]})"))
    calendar = Calendar()
    calendar.add("PRODID", "-//egotools//google//")
    calendar.add("VERSION", "2.0")
    end = b"END:VCALENDAR"
    return calendar.to_ical().replace(end, b"".join(events) + end), faults


def _event(item: Mapping[str, Any], uids: Mapping[Any, Any]) -> bytes:
    event = Event()
    series = item.get("recurringEventId")
    event.add("UID", str(item.get("iCalUID") or uids.get(series) or item["id"]))
    event.add("DTSTAMP", datetime(2000, 1, 1, tzinfo=UTC))
    event.add("SUMMARY", str(item.get("summary", "")))
    if item.get("location"):
        event.add("LOCATION", str(item["location"]))
    if item.get("status") == "cancelled":
        event.add("STATUS", "CANCELLED")
    # An occurrence that was cancelled says only when it would have been.
    event.add("DTSTART", _moment(item.get("start") or item["originalStartTime"]))
    if item.get("end"):
        event.add("DTEND", _moment(item["end"]))
    if series:
        event.add("RECURRENCE-ID", _moment(item["originalStartTime"]))
    attendees = item.get("attendees") or ()
    if attendees and (item.get("organizer") or {}).get("email"):
        event.add("ORGANIZER", _address(item["organizer"]), encode=False)
    for attendee in attendees:
        if attendee.get("email"):
            event.add("ATTENDEE", _address(attendee), encode=False)
    rules = [str(line) for line in item.get("recurrence") or ()]
    kept = [line for line in rules if line.startswith(_RULES) and line.isprintable()]
    written: bytes = event.to_ical()
    return written.replace(_END, b"".join(f"{line}\r\n".encode() for line in kept) + _END)


def _moment(value: Mapping[str, str]) -> date | datetime:
    if "date" in value:
        return date.fromisoformat(value["date"])
    moment = datetime.fromisoformat(value["dateTime"])
    # Recurring events count in the zone that they name, not at a fixed distance from UTC.
    zone = ZoneInfo(value["timeZone"]) if value.get("timeZone") else UTC
    return moment.replace(tzinfo=zone) if moment.tzinfo is None else moment.astimezone(zone)


def _address(person: Mapping[str, Any]) -> vCalAddress:
    address = vCalAddress(f"mailto:{person['email']}")
    address.params["CN"] = str(person.get("displayName", ""))
    address.params["PARTSTAT"] = "DECLINED" if person.get("responseStatus") == "declined" else "ACCEPTED"
    return address
