"""Tools that find the entities of a type by their fields, a page at a time, and tools that count them.

Text is compared without regard to case. Without any condition, all entities of the type are found.
"""

from __future__ import annotations

from typing import Any

from planners.personal.entity_columns import EMAIL, EVENT, FILE, FOLDER, PERSON, PLACE, WEBPAGE
from planners.personal.entity_values import Emails, Events, Files, Folders, People, Places, Webpages, entities
from planners.personal.mail_text import folded, url_key
from planners.personal.opened_index import count_rows, page_of

_LIMIT = 50_000


def find_emails(
    subject_contains: str | None = None, content_contains: str | None = None, limit: int = _LIMIT, offset: int = 0
) -> Emails:
    """Find emails by words in their subject or in their text.

    :param subject_contains: text that the subject contains.
    :param content_contains: text that the body contains.
    :param limit: the most emails to return, at most 100,000.
    :param offset: how many emails to leave out, for the next page.
    """
    conditions = _email_conditions(subject_contains, content_contains)
    return _page("emails", f"SELECT {EMAIL} FROM email e", conditions, "e.sent_at, e.id", limit, offset)  # type: ignore[return-value]


def count_emails(subject_contains: str | None = None, content_contains: str | None = None) -> int:
    """Count emails by words in their subject or in their text.

    :param subject_contains: text that the subject contains.
    :param content_contains: text that the body contains.
    :returns: the number of emails.
    """
    return count_rows("email e", _email_conditions(subject_contains, content_contains))


def find_people(
    name: str | None = None, email_address: str | None = None, limit: int = _LIMIT, offset: int = 0
) -> People:
    """Find people by their full name or by an email address.

    :param name: full name of the person.
    :param email_address: one of the email addresses of the person.
    :param limit: the most people to return, at most 100,000.
    :param offset: how many people to leave out, for the next page.
    """
    conditions = _person_conditions(name, email_address)
    return _page("people", f"SELECT {PERSON} FROM person p", conditions, "p.id", limit, offset)  # type: ignore[return-value]


def count_people(name: str | None = None, email_address: str | None = None) -> int:
    """Count people by their full name or by an email address.

    :param name: full name of the person.
    :param email_address: one of the email addresses of the person.
    :returns: the number of people.
    """
    return count_rows("person p", _person_conditions(name, email_address))


def find_files(name: str | None = None, extension: str | None = None, limit: int = _LIMIT, offset: int = 0) -> Files:
    """Find files and email attachments by their name or by their file type.

    :param name: name of the file, with its extension.
    :param extension: file name extension without a dot, such as pdf.
    :param limit: the most files to return, at most 100,000.
    :param offset: how many files to leave out, for the next page.
    """
    conditions = _file_conditions(name, extension)
    return _page("files", f"SELECT {FILE} FROM file f", conditions, "f.id", limit, offset)  # type: ignore[return-value]


def count_files(name: str | None = None, extension: str | None = None) -> int:
    """Count files and email attachments by their name or by their file type.

    :param name: name of the file, with its extension.
    :param extension: file name extension without a dot, such as pdf.
    :returns: the number of files.
    """
    return count_rows("file f", _file_conditions(name, extension))


def find_folders(name: str | None = None, limit: int = _LIMIT, offset: int = 0) -> Folders:
    """Find folders (directories) on disk by their name.

    :param name: name of the folder, without the folders above it.
    :param limit: the most folders to return, at most 100,000.
    :param offset: how many folders to leave out, for the next page.
    """
    conditions = _named("d.folded", name)
    return _page("folders", f"SELECT {FOLDER} FROM folder d", conditions, "d.id", limit, offset)  # type: ignore[return-value]


def count_folders(name: str | None = None) -> int:
    """Count folders (directories) on disk by their name.

    :param name: name of the folder, without the folders above it.
    :returns: the number of folders.
    """
    return count_rows("folder d", _named("d.folded", name))


def find_events(
    name: str | None = None, name_contains: str | None = None, limit: int = _LIMIT, offset: int = 0
) -> Events:
    """Find calendar events and meetings by their name (title) or a part of it.

    :param name: name of the event, as a whole.
    :param name_contains: text that the name of the event contains.
    :param limit: the most events to return, at most 100,000.
    :param offset: how many events to leave out, for the next page.
    """
    conditions = _event_conditions(name, name_contains)
    return _page("events", f"SELECT {EVENT} FROM event v", conditions, "v.start, v.id", limit, offset)  # type: ignore[return-value]


def count_events(name: str | None = None, name_contains: str | None = None) -> int:
    """Count calendar events and meetings by their name (title) or a part of it.

    :param name: name of the event, as a whole.
    :param name_contains: text that the name of the event contains.
    :returns: the number of events.
    """
    return count_rows("event v", _event_conditions(name, name_contains))


def find_webpages(url: str | None = None, limit: int = _LIMIT, offset: int = 0) -> Webpages:
    """Find web pages that emails mention by their URL.

    :param url: web address of the page, with or without http and www.
    :param limit: the most web pages to return, at most 100,000.
    :param offset: how many web pages to leave out, for the next page.
    """
    conditions = {"w.key = :v0": None if url is None else url_key(url)}
    return _page("webpages", f"SELECT {WEBPAGE} FROM webpage w", conditions, "w.url", limit, offset)  # type: ignore[return-value]


def count_webpages(url: str | None = None) -> int:
    """Count web pages that emails mention by their URL.

    :param url: web address of the page, with or without http and www.
    :returns: the number of web pages.
    """
    return count_rows("webpage w", {"w.key = :v0": None if url is None else url_key(url)})


def find_places(name: str | None = None, limit: int = _LIMIT, offset: int = 0) -> Places:
    """Find places where events take place by their name.

    :param name: name of the place, without the rest of its address.
    :param limit: the most places to return, at most 100,000.
    :param offset: how many places to leave out, for the next page.
    """
    conditions = _named("l.folded", name)
    return _page("places", f"SELECT {PLACE} FROM place l", conditions, "l.id", limit, offset)  # type: ignore[return-value]


def count_places(name: str | None = None) -> int:
    """Count places where events take place by their name.

    :param name: name of the place, without the rest of its address.
    :returns: the number of places.
    """
    return count_rows("place l", _named("l.folded", name))


def _page(key: str, query: str, conditions: dict[str, Any], order: str, limit: int, offset: int) -> dict[str, Any]:
    found, total, after = page_of(query, conditions, order=order, limit=limit, offset=offset)
    return {key: entities(found), "total": total, "next_offset": after}


def _named(column: str, name: str | None) -> dict[str, Any]:
    return {f"{column} = :v0": _folded(name)}


def _email_conditions(subject: str | None, content: str | None) -> dict[str, Any]:
    return {
        "e.shown = :v0": 1,
        "instr(e.folded_subject, :v1)": _folded(subject),
        "instr((SELECT t.folded FROM email_text t WHERE t.email = e.row), :v2)": _folded(content),
    }


def _person_conditions(name: str | None, address: str | None) -> dict[str, Any]:
    return {
        "p.folded = :v0": _folded(name),
        "p.id = (SELECT x.person FROM person_address x WHERE x.address = :v1)": _folded(address),
    }


def _file_conditions(name: str | None, extension: str | None) -> dict[str, Any]:
    wanted = None if extension is None else folded(extension).removeprefix(".")
    return {"f.folded = :v0": _folded(name), "f.extension = :v1": wanted}


def _event_conditions(name: str | None, part: str | None) -> dict[str, Any]:
    return {"v.shown = :v0": 1, "v.folded = :v1": _folded(name), "instr(v.folded, :v2)": _folded(part)}


def _folded(text: str | None) -> str | None:
    return None if text is None else folded(text)
