"""The tables of the index, and how they are opened.

What a file says is in rows that go with its row in ``source``; what follows from all files together (persons, folders of
attachments, …) is made anew after each change.
"""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from ontology.errors import InvalidArgumentError, StorageError

__all__ = ["open_to_read", "open_to_write"]

_VERSION = 1
_WAIT_S = 10.0  # for another refresh
_TABLES = """
CREATE TABLE source (row INTEGER PRIMARY KEY, key TEXT UNIQUE, path TEXT, kind TEXT, size INT, mtime_ns INT, digest TEXT);
CREATE TABLE fault (source INT REFERENCES source ON DELETE CASCADE, subject TEXT, problem TEXT);
CREATE INDEX fault_source ON fault (source);

CREATE TABLE email (
    row INTEGER PRIMARY KEY, source INT REFERENCES source ON DELETE CASCADE, id TEXT, message_id TEXT, fingerprint TEXT,
    subject TEXT, folded_subject TEXT, sender TEXT, sent_at TEXT, day TEXT, shown INT DEFAULT 0);
CREATE INDEX email_source ON email (source);
CREATE INDEX email_id ON email (id);
CREATE INDEX email_message_id ON email (message_id, fingerprint);
CREATE INDEX email_day ON email (day);
CREATE TABLE email_text (email INTEGER PRIMARY KEY REFERENCES email ON DELETE CASCADE, folded TEXT);
CREATE TABLE email_address (
    email INT REFERENCES email ON DELETE CASCADE, role TEXT, address TEXT, name TEXT,
    PRIMARY KEY (email, role, address)) WITHOUT ROWID;
CREATE INDEX email_address_address ON email_address (address, role, email);
CREATE TABLE attachment (
    email INT REFERENCES email ON DELETE CASCADE, file TEXT, name TEXT, size INT, digest TEXT,
    PRIMARY KEY (email, file)) WITHOUT ROWID;
CREATE INDEX attachment_file ON attachment (file, email);
CREATE INDEX attachment_size ON attachment (size);
CREATE TABLE email_url (
    email INT REFERENCES email ON DELETE CASCADE, url TEXT, PRIMARY KEY (email, url)) WITHOUT ROWID;
CREATE INDEX email_url_url ON email_url (url, email);

CREATE TABLE event (
    row INTEGER PRIMARY KEY, source INT REFERENCES source ON DELETE CASCADE, id TEXT, name TEXT, folded TEXT,
    place TEXT, place_id TEXT, start TEXT, ends TEXT, all_day INT, shown INT DEFAULT 0);
CREATE INDEX event_source ON event (source);
CREATE INDEX event_id ON event (id);
CREATE INDEX event_place ON event (place_id);
CREATE TABLE event_attendee (
    event INT REFERENCES event ON DELETE CASCADE, address TEXT, name TEXT, PRIMARY KEY (event, address)) WITHOUT ROWID;
CREATE TABLE event_day (
    event INT REFERENCES event ON DELETE CASCADE, day TEXT, PRIMARY KEY (event, day)) WITHOUT ROWID;
CREATE INDEX event_day_day ON event_day (day, event);
CREATE INDEX event_attendee_address ON event_attendee (address, event);

CREATE TABLE card (row INTEGER PRIMARY KEY, source INT REFERENCES source ON DELETE CASCADE, uid TEXT, own INT, name TEXT, addresses TEXT);
CREATE INDEX card_source ON card (source);
CREATE TABLE disk_file (id TEXT PRIMARY KEY, folder TEXT, name TEXT, size INT, mtime_ns INT, digest TEXT);
CREATE INDEX disk_file_size ON disk_file (size);

CREATE TABLE linked (row INTEGER PRIMARY KEY);
CREATE TABLE person (id TEXT PRIMARY KEY, name TEXT, folded TEXT, addresses TEXT);
CREATE INDEX person_folded ON person (folded);
CREATE TABLE person_address (address TEXT PRIMARY KEY, person TEXT);
CREATE INDEX person_address_person ON person_address (person, address);
CREATE TABLE me (id TEXT, name TEXT, addresses TEXT);
CREATE TABLE file (id TEXT PRIMARY KEY, name TEXT, folded TEXT, extension TEXT, size INT, kind TEXT, path TEXT);
CREATE INDEX file_folded ON file (folded);
CREATE INDEX file_extension ON file (extension);
CREATE TABLE folder (id TEXT PRIMARY KEY, name TEXT, folded TEXT);
CREATE TABLE parent (file TEXT, folder TEXT, reason TEXT, PRIMARY KEY (file, folder)) WITHOUT ROWID;
CREATE INDEX parent_folder ON parent (folder, file);
CREATE TABLE webpage (url TEXT PRIMARY KEY, key TEXT, host TEXT);
CREATE INDEX webpage_key ON webpage (key);
CREATE TABLE place (id TEXT PRIMARY KEY, name TEXT, folded TEXT, address TEXT);
"""


def open_to_write(path: Path, about: str) -> sqlite3.Connection:
    """Open an index that may be changed; make it anew where there is none, or one of another version or about something else.

    Only the user may read the file: it holds what the mails say.

    :param about: what the rows depend on beside the files: the time zone, the last day.
    :raises StorageError: when the file cannot be written, or is in use by another refresh.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        db = _connect(f"{path.absolute().as_uri()}?mode=rw", path)
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
        db = _connect(f"{path.absolute().as_uri()}?mode=ro", path)
        if not _about(db).startswith(f"{_VERSION} "):
            db.close()
            raise sqlite3.DatabaseError("it is no index of this version")
    except sqlite3.Error as error:
        raise InvalidArgumentError(
            f"the index of the personal data cannot be opened: {error}", subject=str(path), remedy="Refresh it first"
        ) from error
    return db


def _connect(uri: str, path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(uri, uri=True, check_same_thread=False, timeout=_WAIT_S)
    db.row_factory = sqlite3.Row
    db.execute("PRAGMA foreign_keys = ON")
    db.execute("PRAGMA synchronous = NORMAL")
    return db


def _about(db: sqlite3.Connection) -> str:
    try:
        row = db.execute("SELECT value FROM about").fetchone()
    except sqlite3.OperationalError:  # no such table
        return ""
    return str(row[0]) if row else ""


def _make_anew(db: sqlite3.Connection, about: str) -> None:
    """Empty a database and make its tables, in one transaction: another process that has it open sees the old or the new one.

    :raises sqlite3.Error: when it is another program's, or another process writes it.
    """
    if db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] and not _about(db):
        raise sqlite3.DatabaseError("it is another program's database")
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA foreign_keys = OFF")
    db.execute("BEGIN IMMEDIATE")
    tables = [row["name"] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    if _about(db) != about:  # another process may just have made it
        for name in tables:
            db.execute(f'DROP TABLE "{name}"')
        for statement in f"{_TABLES} CREATE TABLE about (value TEXT)".split(";"):
            db.execute(statement)
        db.execute("INSERT INTO about VALUES (?)", (about,))
    db.commit()
    db.execute("PRAGMA foreign_keys = ON")
