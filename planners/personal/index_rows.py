"""Rows of the index from what was read of a file."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from datetime import timedelta
from zoneinfo import ZoneInfo

from planners.personal.address_cards import AddressCard
from planners.personal.calendar_events import CalendarEvent
from planners.personal.index_faults import Fault
from planners.personal.mail_parts import Mail
from planners.personal.mail_text import folded

__all__ = ["add_card", "add_event", "add_fault", "add_mail"]

_MAX_DAYS = 366  # of one event


def add_fault(db: sqlite3.Connection, source: int | None, fault: Fault) -> None:
    """Add a fault of a file, or of the whole index (None)."""
    db.execute("INSERT INTO fault VALUES (?, ?, ?)", (source, fault.subject, fault.problem))


def add_mail(db: sqlite3.Connection, source: int, subject: str, mail: Mail, zone: ZoneInfo) -> None:
    """Add a mail with its addresses, files and links.

    :param subject: where it lies, for its faults.
    """
    for problem in mail.problems:
        add_fault(db, source, Fault(subject, problem))
    sender = mail.senders[0] if mail.senders else None
    shown = (sender.name or sender.address) if sender else ""
    fingerprint = hashlib.sha256(f"{shown}\n{mail.sent}\n{mail.subject}".encode()).hexdigest()[:12]
    row = db.execute(
        "INSERT INTO email (source, message_id, fingerprint, subject, folded_subject, sender, sent_at, day) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            source, mail.message_id, fingerprint, mail.subject, folded(mail.subject), shown,
            mail.sent.isoformat() if mail.sent else "",
            mail.sent.astimezone(zone).date().isoformat() if mail.sent else None,
        ),
    ).lastrowid  # fmt: skip
    db.execute("INSERT INTO email_text VALUES (?, ?)", (row, folded(mail.text)))
    addresses = [(row, "from", each.address, each.name) for each in mail.senders]
    addresses += [(row, "to", each.address, each.name) for each in mail.recipients]
    addresses += [(row, "delivered", each.address, "") for each in mail.delivered]
    db.executemany("INSERT OR IGNORE INTO email_address VALUES (?, ?, ?, ?)", addresses)
    if mail.attachments:
        files = [
            (row, f"{each.digest[:32]}/{each.name}", each.name, each.size, each.digest) for each in mail.attachments
        ]
        db.executemany("INSERT OR IGNORE INTO attachment VALUES (?, ?, ?, ?, ?)", files)
    if mail.urls:
        db.executemany("INSERT OR IGNORE INTO email_url VALUES (?, ?)", [(row, url) for url in mail.urls])


def add_event(db: sqlite3.Connection, source: int, event: CalendarEvent) -> None:
    """Add an event with those who attend it."""
    row = db.execute(
        "INSERT INTO event (source, id, name, folded, place, place_id, start, ends, all_day) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            source, event.id, event.name, folded(event.name), event.place, folded(event.place) or None,
            event.start, event.end, event.all_day,
        ),
    ).lastrowid  # fmt: skip
    days = min((event.end_day - event.first_day).days, _MAX_DAYS)
    on = [(row, (event.first_day + timedelta(days=each)).isoformat()) for each in range(days)]
    db.executemany("INSERT INTO event_day VALUES (?, ?)", on)
    rows = [(row, each.address, each.name) for each in event.attendees]
    db.executemany("INSERT OR IGNORE INTO event_attendee VALUES (?, ?, ?)", rows)


def add_card(db: sqlite3.Connection, source: int, card: AddressCard) -> None:
    """Add a card."""
    values = (source, card.uid, card.own, card.name, json.dumps(card.addresses))
    db.execute("INSERT INTO card (source, uid, own, name, addresses) VALUES (?, ?, ?, ?, ?)", values)
