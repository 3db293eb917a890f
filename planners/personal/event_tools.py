"""Tools on the relations of calendar events: who attended them, on which days, where."""

from __future__ import annotations

from planners.personal.day_ranges import day_ranges
from planners.personal.entity_columns import EVENT, ME, PERSON, PLACE
from planners.personal.entity_values import DatesOf, EventsOf, PeopleOf, PlacesOf, UserOf, entities
from planners.personal.opened_index import rows
from planners.personal.person_links import SELF

# An event of the user's calendar to which nobody is invited is the user's own.
_MINE = (
    "(v.row IN (SELECT a.event FROM event_attendee a JOIN person_address x ON x.address = a.address WHERE x.person = 'self') "
    "OR NOT EXISTS (SELECT 1 FROM event_attendee a WHERE a.event = v.row))"
)


def list_events_attended_by_people(person_ids: list[str]) -> EventsOf:
    """List the calendar events and meetings that the given people attended.

    :param person_ids: ids of the people.
    :returns: the events, each with the id of the person as source_id.
    """
    found = rows(
        f"SELECT DISTINCT x.person AS source_id, {EVENT} FROM person_address x JOIN event_attendee a ON a.address = x.address "
        "JOIN event v ON v.row = a.event WHERE v.shown AND x.person IN (SELECT value FROM json_each(:ids))",
        ids=[each for each in person_ids if each != SELF],
    )
    return {"events": entities(found)}


def list_attendees_of_events(event_ids: list[str]) -> PeopleOf:
    """List the people who attended the given calendar events or meetings.

    :param event_ids: ids of the events.
    :returns: the attendees of each event, with the id of the event as source_id.
    """
    found = rows(
        f"SELECT DISTINCT v.id AS source_id, {PERSON} FROM event v JOIN event_attendee a ON a.event = v.row "
        "JOIN person_address x ON x.address = a.address JOIN person p ON p.id = x.person "
        "WHERE v.shown AND v.id IN (SELECT value FROM json_each(:ids))",
        ids=event_ids,
    )
    return {"people": entities(found)}


def list_events_attended_by_me(user_ids: list[str]) -> EventsOf:
    """List the calendar events and meetings that I, the user, attended.

    :param user_ids: the id of the user, which is "self".
    :returns: the events, each with the id of the user as source_id.
    """
    found = rows(
        f"SELECT me.id AS source_id, {EVENT} FROM me JOIN event v ON {_MINE} "
        "WHERE v.shown AND me.id IN (SELECT value FROM json_each(:ids))",
        ids=user_ids,
    )
    return {"events": entities(found)}


def find_which_events_i_attended(event_ids: list[str]) -> UserOf:
    """Find out which of the given calendar events or meetings I, the user, attended.

    :param event_ids: ids of the events.
    :returns: me as the attendee, once for each event that I attended, with the id of the event as source_id.
    """
    found = rows(
        f"SELECT v.id AS source_id, {ME} FROM event v JOIN me ON {_MINE} "
        "WHERE v.shown AND v.id IN (SELECT value FROM json_each(:ids))",
        ids=event_ids,
    )
    return {"user": entities(found)}


def get_dates_of_events(event_ids: list[str]) -> DatesOf:
    """Get the dates on which the given calendar events took place, one for each day of an event.

    :param event_ids: ids of the events.
    :returns: the days of each event in the user's time zone, with the id of the event as source_id.
    """
    found = rows(
        "SELECT v.id AS source_id, d.day || '/' || date(d.day, '+1 day') AS id FROM event v JOIN event_day d ON d.event = v.row "
        "WHERE v.shown AND v.id IN (SELECT value FROM json_each(:ids))",
        ids=event_ids,
    )
    return {"dates": entities(found)}


def list_events_on_dates(date_ranges: list[str]) -> EventsOf:
    """List the calendar events and meetings that took place on the given dates or within date ranges.

    :param date_ranges: half-open ranges of days, as "2025-02-01/2025-03-01"; ".." for an open end.
    :returns: the events, each with the date range as source_id.
    """
    found = rows(
        f"SELECT DISTINCT json_extract(r.value, '$[0]') AS source_id, {EVENT} FROM json_each(:ranges) r "
        "JOIN event_day d ON d.day >= json_extract(r.value, '$[1]') AND d.day < json_extract(r.value, '$[2]') "
        "JOIN event v ON v.row = d.event WHERE v.shown",
        ranges=day_ranges(date_ranges),
    )
    return {"events": entities(found)}


def list_places_of_events(event_ids: list[str]) -> PlacesOf:
    """List the places where the given calendar events took place: their locations.

    :param event_ids: ids of the events.
    :returns: the place of each event, with the id of the event as source_id.
    """
    found = rows(
        f"SELECT v.id AS source_id, {PLACE} FROM event v JOIN place l ON l.id = v.place_id "
        "WHERE v.shown AND v.id IN (SELECT value FROM json_each(:ids))",
        ids=event_ids,
    )
    return {"places": entities(found)}


def list_events_at_places(place_ids: list[str]) -> EventsOf:
    """List the calendar events and meetings that took place at the given places.

    :param place_ids: ids of the places.
    :returns: the events, each with the id of its place as source_id.
    """
    found = rows(
        f"SELECT v.place_id AS source_id, {EVENT} FROM event v "
        "WHERE v.shown AND v.place_id IN (SELECT value FROM json_each(:ids))",
        ids=place_ids,
    )
    return {"events": entities(found)}
