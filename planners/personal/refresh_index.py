"""Where a person's data lies on disk, and the refresh of its index: what is new or changed is read, what is gone is forgotten."""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from ontology.errors import InvalidArgumentError, StorageError
from planners.personal.calendars import AddressCard, CalendarEvent, Fault, address_cards, calendar_events
from planners.personal.index import add_card, add_event, add_fault, add_mail, link_entities, open_to_write
from planners.personal.mail import mbox_mails, read_mail, single_mail

__all__ = ["IndexReport", "PersonalData", "refresh_index"]

_Unreadable: TypeAlias = Callable[[OSError], None]
_MAILDIR = frozenset({"cur", "new", "tmp"})
_MBOX_START = b"From "
_MAX_TEXT_BYTES = {"calendar": 32 * 2**20, "cards": 128 * 2**20}  # cards have pictures, which are skipped
_NO_OWN_CARD = "no card is marked as the user's own, so no mail and no event is theirs; name their card me.vcf"
_ENTITIES = {
    "Email": "email WHERE shown", "Person": "person", "File": "file", "Folder": "folder", "Event": "event WHERE shown",
    "Webpage": "webpage", "Place": "place",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonalData:
    """The folders of a person's data. Only regular files are read, no link is followed.

    :param mail: with Maildirs and mbox files, at any depth.
    :param calendars: with ``.ics`` files.
    :param cards: with ``.vcf`` files. The user's own card is ``me.vcf``, or has ``RELATED;TYPE=me`` (RFC 6350, section 6.6.6).
    :param zone: the IANA name of the user's time zone: which day a moment belongs to.
    """

    mail: Path
    calendars: Path
    cards: Path
    files: Path
    zone: str = "UTC"

    def __post_init__(self) -> None:
        try:
            ZoneInfo(self.zone)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            raise InvalidArgumentError(
                "unknown time zone", subject=self.zone, remedy="Give an IANA name, such as Europe/Berlin"
            ) from None

    @classmethod
    def below(cls, home: Path, *, zone: str = "UTC") -> PersonalData:
        """The folders ``mail``, ``calendars``, ``cards`` and ``files`` of one folder.

        :raises InvalidArgumentError: when it is no folder, or has none of the four.
        """
        folders = {name: home / name for name in ("mail", "calendars", "cards", "files")}
        if not any(folder.is_dir() for folder in folders.values()):
            raise InvalidArgumentError(
                "no folder of personal data", subject=str(home), remedy="It needs mail, calendars, cards or files in it"
            )
        return cls(**folders, zone=zone)


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexReport:
    """What an index holds and what the refresh did.

    :param entities: type → number of entities.
    :param read: files that were read, because they are new or changed; of the others ``reused`` were not, ``removed`` are gone.
    :param faults: of all files of the index, also of those that were not read again.
    """

    entities: Mapping[str, int]
    read: int
    reused: int
    removed: int
    faults: tuple[Fault, ...]


class _DataFile(NamedTuple):
    """A file to be read; its key stays when the flags of a Maildir's mail change, or it is moved from ``new`` to ``cur``."""

    key: str
    path: Path
    kind: Literal["maildir", "mbox", "calendar", "cards"]


def refresh_index(data: PersonalData, index: Path, *, today: date | None = None) -> IndexReport:
    """Make the index of a person's data, or bring it up to date.

    A file is reused when size and time of change are as before. Readers of the index see the old state until the new one is complete.

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
    def __init__(self, db: sqlite3.Connection, data: PersonalData, until: date) -> None:
        self.db, self.data, self.until = db, data, until
        self.zone = ZoneInfo(data.zone)
        self.read = self.reused = 0
        self.changed = not self._count("linked")  # the refresh before this one was cut off

    def run(self) -> IndexReport:
        self.db.execute("DELETE FROM fault WHERE source IS NULL")
        self.db.execute("DELETE FROM linked")
        known = {row["key"]: row for row in self.db.execute("SELECT * FROM source")}
        kept: set[str] = set()
        for file in _data_files(self.data, self._unreadable):
            kept.add(file.key)
            self._file(file, known.get(file.key))
        gone = [(key,) for key in known if key not in kept]
        self.db.executemany("DELETE FROM source WHERE key = ?", gone)
        if self._disk_files() or self.changed or gone:
            link_entities(self.db)
        if not self._count("card WHERE own"):
            add_fault(self.db, None, Fault(_shown(self.data.cards), _NO_OWN_CARD))
        self.db.execute("INSERT INTO linked VALUES (1)")
        self.db.commit()
        faults = self.db.execute("SELECT DISTINCT subject, problem FROM fault ORDER BY 1, 2")
        return IndexReport(
            entities={name: self._count(rows) for name, rows in _ENTITIES.items()},
            read=self.read,
            reused=self.reused,
            removed=len(gone),
            faults=tuple(Fault(*row) for row in faults),
        )

    def _count(self, rows: str) -> int:
        return int(self.db.execute(f"SELECT count(*) FROM {rows}").fetchone()[0])

    def _unreadable(self, error: OSError) -> None:
        add_fault(self.db, None, Fault(_shown(error.filename or ""), f"cannot be read ({error.strerror or error})"))

    def _file(self, file: _DataFile, known: sqlite3.Row | None) -> None:
        """Read a file; of one that cannot be read, what was known stays."""
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

    def _read(self, file: _DataFile, known: sqlite3.Row | None) -> None:
        state = file.path.stat()
        if known and (known["size"], known["mtime_ns"]) == (state.st_size, state.st_mtime_ns):
            self.reused += 1
            return
        self.db.execute("DELETE FROM source WHERE key = ?", (file.key,))
        values = (file.key, _shown(file.path), file.kind, state.st_size, state.st_mtime_ns)
        added = self.db.execute("INSERT INTO source (key, path, kind, size, mtime_ns) VALUES (?, ?, ?, ?, ?)", values)
        self._contents(file, int(added.lastrowid or 0))
        self.changed, self.read = True, self.read + 1

    def _contents(self, file: _DataFile, row: int) -> None:
        shown = _shown(file.path)
        if file.kind == "maildir":
            add_mail(self.db, row, shown, read_mail(single_mail(file.path)), self.zone)
        elif file.kind == "mbox":
            for raw in mbox_mails(file.path):
                add_mail(self.db, row, f"{shown}@{raw.position}", read_mail(raw), self.zone)
        else:
            for found in self._text_entities(file):
                if isinstance(found, Fault):
                    add_fault(self.db, row, found)
                elif isinstance(found, AddressCard):
                    add_card(self.db, row, found)
                else:
                    add_event(self.db, row, found)

    def _text_entities(self, file: _DataFile) -> Iterator[CalendarEvent | AddressCard | Fault]:
        subject, most = _shown(file.path), _MAX_TEXT_BYTES[file.kind]
        with file.path.open("rb") as opened:
            content = opened.read(most + 1)
        if len(content) > most:
            return iter([Fault(subject, f"larger than {most:,} bytes, not read")])
        text = content.decode("utf-8-sig", "replace")
        if file.kind == "cards":
            return address_cards(text, subject)
        return calendar_events(text, subject, self.zone, self.until)

    def _disk_files(self) -> bool:
        """Bring the table of files up to the state of the disk; return whether it changed.

        Of a file only name, size and time are read; its content only where an attachment has as many bytes, so that its digest may
        decide whether both are the same.
        """
        found: dict[str, tuple[str, str, int, int]] = {}
        paths: dict[str, Path] = {}
        for folder, names in _walk(self.data.files, self._unreadable):
            # As the user sees it: from the root of the files on, whose name comes first.
            shown = _shown("/".join((self.data.files.name, *folder.relative_to(self.data.files).parts)))
            for name in names:
                try:
                    state = (folder / name).lstat()
                except OSError as error:
                    self._unreadable(error)
                    continue
                key = f"{shown}/{_shown(name)}"
                found[key] = (shown, _shown(name), state.st_size, state.st_mtime_ns)
                paths[key] = folder / name
        known = {row["id"]: row for row in self.db.execute("SELECT id, size, mtime_ns FROM disk_file")}
        gone = [(key,) for key in known if key not in found]
        new = [(key, *row) for key, row in found.items() if key not in known or tuple(known[key])[1:] != row[2:]]
        self.db.executemany("DELETE FROM disk_file WHERE id = ?", gone)
        self.db.executemany(
            "INSERT OR REPLACE INTO disk_file (id, folder, name, size, mtime_ns) VALUES (?, ?, ?, ?, ?)", new
        )
        digests = []
        undecided = "digest IS NULL AND size > 0 AND size IN (SELECT size FROM attachment) ORDER BY id"
        for (key,) in self.db.execute(f"SELECT id FROM disk_file WHERE {undecided}").fetchall():
            try:
                with paths[key].open("rb") as file:
                    digests.append((hashlib.file_digest(file, "sha256").hexdigest(), key))
            except OSError as error:
                self._unreadable(error)
        self.db.executemany("UPDATE disk_file SET digest = ? WHERE id = ?", digests)
        return bool(gone or new or digests)


def _data_files(data: PersonalData, unreadable: _Unreadable) -> Iterator[_DataFile]:
    """Yield the files of mail, calendars and cards, by folder and name."""
    for folder, names in _walk(data.mail, unreadable):
        in_maildir = folder.name in _MAILDIR and (folder.parent / "cur").is_dir()
        for name in names:
            path = folder / name
            if not in_maildir and _is_mbox(path, unreadable):
                yield _DataFile(_shown(path), path, "mbox")
            elif in_maildir and folder.name != "tmp":  # where mails are being delivered
                yield _DataFile(_shown(folder.parent / name.partition(":")[0]), path, "maildir")
    for folder, names in _walk(data.calendars, unreadable):
        for path in (folder / name for name in names if name.casefold().endswith(".ics")):
            yield _DataFile(_shown(path), path, "calendar")
    for folder, names in _walk(data.cards, unreadable):
        for path in (folder / name for name in names if name.casefold().endswith(".vcf")):
            yield _DataFile(_shown(path), path, "cards")


def _shown(path: Path | str) -> str:
    """Return a path as text; a byte that is no UTF-8, which no database takes, is written ``\\xff``."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _walk(root: Path, unreadable: _Unreadable) -> Iterator[tuple[Path, list[str]]]:
    """Yield each folder below one, itself first, with the names of its regular files, in order; links are left out."""
    if not root.is_dir():
        return
    for folder, folders, _ in os.walk(root, onerror=unreadable):
        folders.sort()
        try:
            with os.scandir(folder) as entries:
                names = sorted(entry.name for entry in entries if entry.is_file(follow_symlinks=False))
        except OSError as error:
            unreadable(error)
            continue
        yield Path(folder), names


def _is_mbox(path: Path, unreadable: _Unreadable) -> bool:
    if path.suffix == ".mbox":
        return True
    try:
        with path.open("rb") as file:
            return file.read(len(_MBOX_START)) == _MBOX_START
    except OSError as error:
        unreadable(error)
        return False
