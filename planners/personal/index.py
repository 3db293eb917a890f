"""The index of a person's data, an SQLite file: how it is opened, what is added to it, and what follows from all files together."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

import networkx as nx

from ontology.errors import InvalidArgumentError, StorageError
from planners.personal.calendars import AddressCard, CalendarEvent, Fault
from planners.personal.mail import Mail, folded, url_key

__all__ = ["add_card", "add_event", "add_fault", "add_mail", "link_entities", "open_to_read", "open_to_write"]

_VERSION = 2
_WAIT_S = 10.0  # for another refresh
_MAX_DAYS = 366  # of one event
_SELF = "self"
_HERE = Path(__file__).parent


def open_to_write(path: Path, about: str) -> sqlite3.Connection:
    """Open an index that may be changed; make it anew where there is none, or one of another version or about something else.

    Only the user may read the file: it holds what the mails say.

    :param about: what the rows depend on beside the files: the time zone, the last day.
    :raises StorageError: when the file cannot be written, or is in use by another refresh.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        db = _connect(path, "rw")
        try:
            if _about(db) != f"{_VERSION} {about}":
                _make_anew(db, f"{_VERSION} {about}")
        except BaseException:
            db.close()
            raise
    except (OSError, sqlite3.Error) as error:
        raise StorageError(
            f"the index cannot be written: {error}", subject=str(path), remedy="Name a file in a folder of your own"
        ) from error
    return db


def open_to_read(path: Path) -> sqlite3.Connection:
    """Open an index that is not changed.

    :raises InvalidArgumentError: when there is none.
    """
    try:
        db = _connect(path, "ro")
        if not _about(db).startswith(f"{_VERSION} "):
            db.close()
            raise sqlite3.DatabaseError("it is no index of this version")
    except sqlite3.Error as error:
        raise InvalidArgumentError(
            f"the index of the personal data cannot be opened: {error}", subject=str(path), remedy="Refresh it first"
        ) from error
    return db


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    uri = f"{path.absolute().as_uri()}?mode={mode}"
    db = sqlite3.connect(uri, uri=True, check_same_thread=False, timeout=_WAIT_S)
    db.row_factory = sqlite3.Row
    db.execute("PRAGMA foreign_keys = ON")
    db.execute("PRAGMA synchronous = NORMAL")
    return db


def _about(db: sqlite3.Connection) -> str:
    try:
        return str(db.execute("SELECT value FROM about").fetchone()[0])
    except (sqlite3.OperationalError, TypeError):  # no such table, or no row in it
        return ""


def _make_anew(db: sqlite3.Connection, about: str) -> None:
    """Empty a database and make its tables, in one transaction: another process that has it open sees the old or the new one.

    :raises sqlite3.Error: when it is another program's, or another process writes it.
    """
    if db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] and not _about(db):
        raise sqlite3.DatabaseError("it is another program's database")
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA foreign_keys = OFF")
    db.execute("BEGIN IMMEDIATE")
    if _about(db) != about:  # another process may just have made it
        for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            db.execute(f'DROP TABLE "{name}"')
        _run(db, "index.sql")
        db.execute("INSERT INTO about VALUES (?)", (about,))
    db.commit()
    db.execute("PRAGMA foreign_keys = ON")


def _run(db: sqlite3.Connection, name: str) -> None:
    """Execute the statements of a file one by one: ``executescript`` would end the transaction."""
    for statement in (_HERE / name).read_text(encoding="utf-8").split(";"):
        db.execute(statement)


def add_fault(db: sqlite3.Connection, source: int | None, fault: Fault) -> None:
    """Add a fault of a file, or of the whole index (None)."""
    db.execute("INSERT INTO fault VALUES (?, ?, ?)", (source, *fault))


def add_mail(db: sqlite3.Connection, source: int, subject: str, mail: Mail, zone: ZoneInfo) -> None:
    """Add a mail with its addresses, files and links; ``subject`` is where it lies, for its faults."""
    for problem in mail.problems:
        add_fault(db, source, Fault(subject, problem))
    shown = (mail.senders[0].name or mail.senders[0].address) if mail.senders else ""
    fingerprint = hashlib.sha256(f"{shown}\n{mail.sent}\n{mail.subject}".encode()).hexdigest()[:12]
    day = mail.sent.astimezone(zone).date().isoformat() if mail.sent else None
    row = db.execute(
        "INSERT INTO email (source, message_id, fingerprint, subject, folded_subject, sender, sent_at, day) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *(source, mail.message_id, fingerprint, mail.subject, folded(mail.subject), shown),
            *(mail.sent.isoformat() if mail.sent else "", day),
        ),
    ).lastrowid
    db.execute("INSERT INTO email_text VALUES (?, ?)", (row, folded(mail.text)))
    roles = (("from", mail.senders), ("to", mail.recipients), ("delivered", mail.delivered))
    addresses = [(row, role, each.address, each.name) for role, named in roles for each in named]
    db.executemany("INSERT OR IGNORE INTO email_address VALUES (?, ?, ?, ?)", addresses)
    files = [(row, f"{each.digest[:32]}/{each.name}", *each) for each in mail.attachments]
    db.executemany("INSERT OR IGNORE INTO attachment VALUES (?, ?, ?, ?, ?)", files)
    db.executemany("INSERT OR IGNORE INTO email_url VALUES (?, ?)", [(row, url) for url in mail.urls])


def add_event(db: sqlite3.Connection, source: int, event: CalendarEvent) -> None:
    """Add an event with those who attend it."""
    row = db.execute(
        "INSERT INTO event (source, id, name, folded, place, place_id, start, ends, all_day) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *(
                source,
                event.id,
                event.name,
                folded(event.name),
                event.place,
                " ".join(event.place.casefold().split()) or None,
            ),
            *(event.start, event.end, event.all_day),
        ),
    ).lastrowid
    days = range(min((event.end_day - event.first_day).days, _MAX_DAYS))
    on = [(row, (event.first_day + timedelta(days=each)).isoformat()) for each in days]
    db.executemany("INSERT INTO event_day VALUES (?, ?)", on)
    db.executemany("INSERT OR IGNORE INTO event_attendee VALUES (?, ?, ?)", [(row, *each) for each in event.attendees])


def add_card(db: sqlite3.Connection, source: int, card: AddressCard) -> None:
    """Add a card."""
    values = (source, card.uid, card.own, card.name, json.dumps(card.addresses))
    db.execute("INSERT INTO card (source, uid, own, name, addresses) VALUES (?, ?, ?, ?, ?)", values)


def link_entities(db: sqlite3.Connection) -> None:
    """Make the tables of entities anew from the rows of all files: cards that share an address are of one person, one is the user."""
    for table in ("person", "person_address", "me"):
        db.execute(f"DELETE FROM {table}")
    cards = db.execute("SELECT c.* FROM card c JOIN source s ON s.row = c.source ORDER BY s.key, c.row").fetchall()
    graph: nx.Graph[int | str] = nx.Graph()
    for at, card in enumerate(cards):
        graph.add_node(at)
        graph.add_edges_from((at, address) for address in json.loads(card["addresses"]))
    my_name = ""
    mine: list[str] = []
    for members in nx.connected_components(graph):
        group = [cards[at] for at in sorted(each for each in members if isinstance(each, int))]
        addresses = list(dict.fromkeys(address for card in group for address in json.loads(card["addresses"])))
        name = next((card["name"] for card in group if card["name"]), addresses[0] if addresses else "")
        if any(card["own"] for card in group):
            id_, my_name, mine = _SELF, my_name if mine else name, [*mine, *addresses]
        else:
            id_ = addresses[0] if addresses else f"card:{group[0]['uid'] or name}"
            row = (id_, name, folded(name), json.dumps(addresses))
            db.execute("INSERT OR IGNORE INTO person VALUES (?, ?, ?, ?)", row)
        db.executemany("INSERT INTO person_address VALUES (?, ?)", [(address, id_) for address in addresses])
    db.execute("INSERT INTO me VALUES (?, ?, ?)", (_SELF, my_name, json.dumps(mine)))
    functions: Mapping[str, Callable[[str], str]] = {
        "folded": folded,
        "page_key": url_key,
        "extension": _extension,
        "host": _host,
        "last_part": lambda path: path.rsplit("/", 1)[-1],
        "place_name": lambda text: text.partition(",")[0].strip() or text,  # what stands before the rest of an address
    }
    for name, function in functions.items():
        db.create_function(name, 1, function, deterministic=True)
    _run(db, "link.sql")


def _extension(name: str) -> str:
    stem, dot, extension = folded(name).rpartition(".")
    return extension if dot and stem else ""


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""
