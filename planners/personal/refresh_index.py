"""Bring the index up to the state of the files: what is new or changed is read, what is gone is forgotten, the rest is reused."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import date
from pathlib import Path
from zoneinfo import ZoneInfo

from ontology.errors import StorageError
from planners.personal.address_cards import AddressCard, address_cards
from planners.personal.calendar_events import CalendarEvent, calendar_events
from planners.personal.disk_files import refresh_disk_files
from planners.personal.entity_links import link_entities
from planners.personal.index_faults import Fault, IndexReport
from planners.personal.index_rows import add_card, add_event, add_fault, add_mail
from planners.personal.index_tables import open_to_write
from planners.personal.mail_files import mbox_mails, single_mail
from planners.personal.mail_parts import read_mail
from planners.personal.personal_data import MBOX_START, DataFile, PersonalData, data_files, shown_path

__all__ = ["refresh_index"]

_CHUNK = 2**20
_MAX_TEXT_BYTES = {"calendar": 32 * 2**20, "cards": 128 * 2**20}  # cards have pictures, which are skipped
_FILES_A_COMMIT = 2_000
_NO_OWN_CARD = "no card is marked as the user's own, so no mail and no event is theirs; name their card me.vcf"
_ENTITIES = {
    "Email": "SELECT count(*) FROM email WHERE shown",
    "Person": "SELECT count(*) FROM person",
    "File": "SELECT count(*) FROM file",
    "Folder": "SELECT count(*) FROM folder",
    "Event": "SELECT count(*) FROM event WHERE shown",
    "Webpage": "SELECT count(*) FROM webpage",
    "Place": "SELECT count(*) FROM place",
}


def refresh_index(data: PersonalData, index: Path, *, today: date | None = None) -> IndexReport:
    """Make the index of a person's data, or bring it up to date.

    A file is reused when size and time of change are as before, else when its content is. Of an mbox to which mail was added,
    only the added part is read. Readers of the index see the old state until the new one is complete.

    :param index: the SQLite file.
    :param today: recurring events are known until the end of the year after this day's.
    :raises StorageError: when the index cannot be written.
    """
    until = date((today or date.today()).year + 2, 1, 1)
    with closing(open_to_write(index, f"{data.zone} {until}")) as db:
        try:
            return _Refresh(db, data, until).run()
        except sqlite3.Error as error:  # the disk is full, or another refresh goes on
            raise StorageError(
                f"the index cannot be written: {error}", subject=str(index), remedy="Free the disk, or try again later"
            ) from error


class _Refresh:
    """One refresh.

    :ivar changed: whether anything in the index did, or a refresh before this one was cut off.
    """

    def __init__(self, db: sqlite3.Connection, data: PersonalData, until: date) -> None:
        self.db, self.data, self.until = db, data, until
        self.zone = ZoneInfo(data.zone)
        self.read = self.reused = 0
        self.changed = not db.execute("SELECT count(*) FROM linked").fetchone()[0]

    def run(self) -> IndexReport:
        self.db.execute("DELETE FROM fault WHERE source IS NULL")
        self.db.execute("DELETE FROM linked")
        known = {row["key"]: row for row in self.db.execute("SELECT * FROM source")}
        kept: set[str] = set()
        for number, file in enumerate(data_files(self.data, self._unreadable)):
            kept.add(file.key)
            self._file(file, known.get(file.key))
            if not known and number % _FILES_A_COMMIT == _FILES_A_COMMIT - 1:
                self.db.commit()  # a first index that is cut off goes on here; it shows nothing before it is linked
        gone = [(key,) for key in known if key not in kept]
        self.db.executemany("DELETE FROM source WHERE key = ?", gone)
        files = refresh_disk_files(self.db, self.data.files, self._unreadable)
        if self.changed or gone or files:
            link_entities(self.db)
        if not self.db.execute("SELECT count(*) FROM card WHERE own").fetchone()[0]:
            add_fault(self.db, None, Fault(shown_path(self.data.cards), _NO_OWN_CARD))
        self.db.execute("INSERT INTO linked VALUES (1)")
        self.db.commit()
        faults = self.db.execute("SELECT DISTINCT subject, problem FROM fault ORDER BY 1, 2")
        return IndexReport(
            entities={name: int(self.db.execute(query).fetchone()[0]) for name, query in _ENTITIES.items()},
            read=self.read,
            reused=self.reused,
            removed=len(gone),
            faults=tuple(Fault(*row) for row in faults),
        )

    def _unreadable(self, error: OSError) -> None:
        add_fault(self.db, None, Fault(shown_path(error.filename or ""), f"cannot be read ({error.strerror or error})"))

    def _file(self, file: DataFile, known: sqlite3.Row | None) -> None:
        """Read a file, or the part of it that the index does not have; of one that cannot be read, what was known stays."""
        self.db.execute("SAVEPOINT file")
        try:
            self._read(file, known)
        except OSError as error:
            self.db.execute("ROLLBACK TO file")
            self._unreadable(error)
        except UnicodeError as error:  # characters that the database does not take
            self.db.execute("ROLLBACK TO file")
            add_fault(self.db, None, Fault(file.key, f"cannot be read ({str(error)[:100]})"))
        self.db.execute("RELEASE file")

    def _read(self, file: DataFile, known: sqlite3.Row | None) -> None:
        state = file.path.stat()
        if known and (known["size"], known["mtime_ns"]) == (state.st_size, state.st_mtime_ns):
            self.reused += 1
            return
        seen = _known_part(file, known, state.st_size)
        if known and seen.size == known["size"] == state.st_size:
            self.reused += 1
            row = known["row"]
        else:
            row = known["row"] if known and seen.size else self._new_row(file)
            self._contents(file, row, seen)
            self.changed, self.read = True, self.read + 1
        self.db.execute(
            "UPDATE source SET path = ?, size = ?, mtime_ns = ?, digest = ? WHERE row = ?",
            (shown_path(file.path), seen.size, state.st_mtime_ns, seen.digest.hexdigest(), row),
        )

    def _new_row(self, file: DataFile) -> int:
        self.db.execute("DELETE FROM source WHERE key = ?", (file.key,))
        values = (file.key, shown_path(file.path), file.kind)
        return int(self.db.execute("INSERT INTO source (key, path, kind) VALUES (?, ?, ?)", values).lastrowid or 0)

    def _contents(self, file: DataFile, row: int, seen: _Seen) -> None:
        if file.kind == "maildir":
            add_mail(self.db, row, shown_path(file.path), read_mail(single_mail(file.path, seen)), self.zone)
        elif file.kind == "mbox":
            for raw in mbox_mails(file.path, seen.size, seen):
                add_mail(self.db, row, f"{shown_path(file.path)}@{raw.position}", read_mail(raw), self.zone)
        else:
            for found in self._text_entities(file, seen):
                if isinstance(found, Fault):
                    add_fault(self.db, row, found)
                elif isinstance(found, AddressCard):
                    add_card(self.db, row, found)
                else:
                    add_event(self.db, row, found)

    def _text_entities(self, file: DataFile, seen: _Seen) -> Iterator[CalendarEvent | AddressCard | Fault]:
        subject, most = shown_path(file.path), _MAX_TEXT_BYTES[file.kind]
        with file.path.open("rb") as opened:
            content = opened.read(most + 1)
        seen(content)
        if len(content) > most:
            return iter([Fault(subject, f"larger than {most:,} bytes, not read")])
        text = content.decode("utf-8-sig", "replace")
        if file.kind == "cards":
            return address_cards(text, subject)
        return calendar_events(text, subject, self.zone, self.until)


class _Seen:
    """The bytes of a file that were read: how many, and their digest."""

    def __init__(self) -> None:
        self.digest, self.size = hashlib.sha256(), 0

    def __call__(self, content: bytes) -> None:
        self.digest.update(content)
        self.size += len(content)


def _known_part(file: DataFile, known: sqlite3.Row | None, size: int) -> _Seen:
    """Return the beginning of a file that the index knows: all of it when nothing changed, of an mbox all but what was added."""
    if not known or known["size"] > size or (known["size"] < size and file.kind != "mbox"):
        return _Seen()
    seen = _Seen()
    with file.path.open("rb") as opened:
        while seen.size < known["size"] and (chunk := opened.read(min(_CHUNK, known["size"] - seen.size))):
            seen(chunk)
        # What follows on a part of a mail, which was being written when it was read, belongs to that mail.
        whole = opened.read(len(MBOX_START)) in (b"", MBOX_START)
    return seen if whole and seen.digest.hexdigest() == known["digest"] else _Seen()
