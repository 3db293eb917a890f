"""What the tools answer: the entities of a person's data, alone or with the identifier that they were asked for by."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from typing import Any, TypedDict

__all__ = [
    "DatesOf",
    "Emails",
    "EmailsOf",
    "Events",
    "EventsOf",
    "Files",
    "FilesOf",
    "Folders",
    "FoldersOf",
    "People",
    "PeopleOf",
    "Places",
    "PlacesOf",
    "UserOf",
    "Webpages",
    "WebpagesOf",
    "entities",
]


class Email(TypedDict):
    """An email."""

    id: str
    subject: str
    sender: str
    sent_at: str


class Person(TypedDict):
    """A person other than the user."""

    id: str
    name: str
    email_addresses: list[str]


class File(TypedDict):
    """A file on disk, or an attachment of emails."""

    id: str
    name: str
    extension: str
    size: int
    kind: str
    path: str


class Folder(TypedDict):
    """A folder on disk; the identifier is its path."""

    id: str
    name: str


class Event(TypedDict):
    """A calendar event; of a recurring one, one occurrence."""

    id: str
    name: str
    start: str
    end: str
    all_day: bool
    place: str


class Webpage(TypedDict):
    """A web page; the identifier is its address (URL)."""

    id: str
    host: str


class Place(TypedDict):
    """A place where events happen."""

    id: str
    name: str
    address: str


class EmailOf(Email):
    """An email that belongs to what ``source_id`` names."""

    source_id: str


class PersonOf(Person):
    """A person who belongs to what ``source_id`` names; also the user."""

    source_id: str


class FileOf(File):
    """A file that belongs to what ``source_id`` names."""

    source_id: str


class FolderFileOf(FileOf):
    """A file that lies in the folder that ``source_id`` names; of an attachment, ``reason`` says by what it was found there."""

    reason: str


class FolderOf(Folder):
    """The folder of the file that ``source_id`` names; of an attachment, ``reason`` says by what it was found there."""

    source_id: str
    reason: str


class EventOf(Event):
    """An event that belongs to what ``source_id`` names."""

    source_id: str


class WebpageOf(Webpage):
    """A web page that belongs to what ``source_id`` names."""

    source_id: str


class PlaceOf(Place):
    """A place that belongs to what ``source_id`` names."""

    source_id: str


class DateOf(TypedDict):
    """A day that belongs to what ``source_id`` names; the identifier is an interval, ``2025-02-01/2025-02-02``."""

    source_id: str
    id: str


class EmailsOf(TypedDict):
    """Emails with the identifiers that they belong to."""

    emails: list[EmailOf]


class PeopleOf(TypedDict):
    """People with the identifiers that they belong to."""

    people: list[PersonOf]


class UserOf(TypedDict):
    """The user, once for each identifier with the identifiers that they belong to."""

    user: list[PersonOf]


class FilesOf(TypedDict):
    """Files with the identifiers that they belong to."""

    files: list[FileOf]


class FolderFilesOf(TypedDict):
    """Files of folders with the identifiers that they belong to."""

    files: list[FolderFileOf]


class FoldersOf(TypedDict):
    """Folders with the identifiers that they belong to."""

    folders: list[FolderOf]


class EventsOf(TypedDict):
    """Events with the identifiers that they belong to."""

    events: list[EventOf]


class WebpagesOf(TypedDict):
    """Web pages with the identifiers that they belong to."""

    webpages: list[WebpageOf]


class PlacesOf(TypedDict):
    """Places with the identifiers that they belong to."""

    places: list[PlaceOf]


class DatesOf(TypedDict):
    """Days with the identifiers that they belong to."""

    dates: list[DateOf]


class Page(TypedDict):
    """A part of what was found.

    ``total`` counts all of it; ``next_offset`` is the offset of the next page, null after the last.
    """

    total: int
    next_offset: int | None


class Emails(Page):
    """A page of emails."""

    emails: list[Email]


class People(Page):
    """A page of people."""

    people: list[Person]


class Files(Page):
    """A page of files."""

    files: list[File]


class Folders(Page):
    """A page of folders."""

    folders: list[Folder]


class Events(Page):
    """A page of events."""

    events: list[Event]


class Webpages(Page):
    """A page of web pages."""

    webpages: list[Webpage]


class Places(Page):
    """A page of places."""

    places: list[Place]


def entities(found: Iterable[sqlite3.Row]) -> list[Any]:
    """Return rows as entities: the columns are the fields."""
    return [_entity(dict(row)) for row in found]


def _entity(row: dict[str, Any]) -> dict[str, Any]:
    if "email_addresses" in row:
        row["email_addresses"] = json.loads(row["email_addresses"])
    if "all_day" in row:
        row["all_day"] = bool(row["all_day"])
    return row
