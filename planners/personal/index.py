"""The index of a person's data, an SQLite file. It is made anew when a file of the data is new, changed or gone, and moved into its place
when it is complete; readers see the old one until then."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import date, timedelta
from operator import attrgetter
from pathlib import Path
from typing import Literal, NamedTuple
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import networkx as nx

from ontology.errors import InvalidArgumentError, StorageError
from ontology.files import replacing
from planners.personal.calendars import AddressCard, Fault, address_cards, calendar_events
from planners.personal.mail import Mail, mbox_mails, read_mail, single_mail, url_key
from planners.query.graph_faults import folded

_FORMAT = "egotools personal index 3"
_MAX_DAYS = 366  # of one event
_SELF = "self"
_HERE = Path(__file__).parent
_MAILDIR = frozenset({"cur", "new", "tmp"})
_MAX_TEXT_BYTES = {"calendar": 32 * 2**20, "cards": 128 * 2**20}  # cards have pictures, which are skipped
_NO_OWN_CARD = "no card is marked as the user's own, so no mail and no event is theirs; name their card me.vcf"


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

    @classmethod
    def below(cls, home: Path, *, zone: str = "UTC") -> PersonalData:
        """The folders ``mail``, ``calendars``, ``cards`` and ``files`` of one folder.

        :raises InvalidArgumentError: when it is no folder, or has none of the four, and for an unknown time zone.
        """
        folders = {name: home / name for name in ("mail", "calendars", "cards", "files")}
        if not any(folder.is_dir() for folder in folders.values()):
            needed = "It needs mail, calendars, cards or files in it"
            raise InvalidArgumentError("no folder of personal data", subject=str(home), remedy=needed)
        try:
            ZoneInfo(zone)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            example = "Give an IANA name, such as Europe/Berlin"
            raise InvalidArgumentError("unknown time zone", subject=zone, remedy=example) from None
        return cls(**folders, zone=zone)


class _DataFile(NamedTuple):
    path: Path
    kind: Literal["maildir", "mbox", "calendar", "cards", "file"]
    size: int
    mtime_ns: int


def refresh_index(data: PersonalData, index: Path, *, today: date | None = None) -> tuple[Fault, ...]:
    """Make the index of a person's data, where a file's size or time of change is another one than before, or the year; return what could
    not be read.

    Only the user may read the index: it holds what the mails say.

    :param index: the SQLite file.
    :param today: recurring events are known until the end of the year after this day's.
    :raises StorageError: when the index cannot be written, or is a file of another program.
    """
    until = date((today or date.today()).year + 2, 1, 1)
    faults: list[Fault] = []
    files = list(_data_files(data, faults))
    states = [(os.fsencode(each.path).hex(), each.size, each.mtime_ns) for each in files]
    about = f"{_FORMAT} {hashlib.sha256(json.dumps([data.zone, str(until), states]).encode()).hexdigest()}"
    known = _about(index)
    if index.exists() and not known.startswith("egotools personal index"):
        problem = "the index cannot be written: it is another program's file"
        raise StorageError(problem, subject=str(index), remedy="Name a file in a folder of your own")
    if known != about:
        try:
            index.parent.mkdir(parents=True, exist_ok=True)
            with replacing(index) as made:
                os.close(os.open(made, os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_RDWR, 0o600))
                with closing(sqlite3.connect(made)) as db:
                    _make(db, data, files, until, faults)
                    db.execute("INSERT INTO about VALUES (?)", (about,))
                    db.commit()
        except (OSError, sqlite3.Error) as error:
            remedy = "Name a file in a folder of your own, and free the disk"
            raise StorageError(f"the index cannot be written: {error}", subject=str(index), remedy=remedy) from error
    with closing(open_to_read(index)) as db:
        rows = db.execute("SELECT DISTINCT subject, problem FROM fault ORDER BY 1, 2").fetchall()
    return tuple(Fault(*row) for row in rows)


def open_to_read(path: Path) -> sqlite3.Connection:
    """Open an index that is not changed; raises InvalidArgumentError when there is none."""
    if not _about(path).startswith(_FORMAT):
        problem = "the index of the personal data cannot be opened: it is no index of this version"
        raise InvalidArgumentError(problem, subject=str(path), remedy="Refresh it first")
    db = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, check_same_thread=False)
    db.row_factory = sqlite3.Row
    return db


def _about(path: Path) -> str:
    """Return what an index says of itself; empty of a file that is none, or is not there."""
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as db:
            return str(db.execute("SELECT value FROM about").fetchone()[0])
    except (sqlite3.Error, TypeError):
        return ""


def _make(
    db: sqlite3.Connection, data: PersonalData, files: Iterable[_DataFile], until: date, faults: list[Fault]
) -> None:
    _run(db, "index.sql")
    zone, root = ZoneInfo(data.zone), data.files.parent
    for file in files:
        try:
            if file.kind == "file":
                place = file.path.relative_to(root)
                row = (_shown(place), _shown(place.parent), _shown(place.name), file.size)
                db.execute("INSERT INTO disk_file (id, folder, name, size) VALUES (?, ?, ?, ?)", row)
            elif file.kind == "maildir":
                _add_mail(db, _shown(file.path), read_mail(single_mail(file.path)), zone, faults)
            elif file.kind == "mbox":
                for raw in mbox_mails(file.path):
                    _add_mail(db, f"{_shown(file.path)}@{raw.position}", read_mail(raw), zone, faults)
            else:
                _add_texts(db, file, zone, until, faults)
        except (OSError, UnicodeError) as error:  # also characters that the database does not take
            faults.append(Fault(_shown(file.path), f"cannot be read ({str(error)[:100]})"))
    _add_digests(db, root, faults)
    _link(db)
    if not db.execute("SELECT count(*) FROM card WHERE own").fetchone()[0]:
        faults.append(Fault(_shown(data.cards), _NO_OWN_CARD))
    db.executemany("INSERT INTO fault VALUES (?, ?)", faults)


def _run(db: sqlite3.Connection, name: str) -> None:
    """Execute the statements of a file one by one: ``executescript`` would end the transaction."""
    for statement in (_HERE / name).read_text(encoding="utf-8").split(";"):
        db.execute(statement)


def _add_mail(db: sqlite3.Connection, subject: str, mail: Mail, zone: ZoneInfo, faults: list[Fault]) -> None:
    faults += (Fault(subject, problem) for problem in mail.problems)
    shown = (mail.senders[0].name or mail.senders[0].address) if mail.senders else ""
    fingerprint = hashlib.sha256(f"{shown}\n{mail.sent}\n{mail.subject}".encode()).hexdigest()[:12]
    day = mail.sent.astimezone(zone).date().isoformat() if mail.sent else None
    sent = mail.sent.isoformat() if mail.sent else ""
    row = db.execute(
        "INSERT INTO email (message_id, fingerprint, subject, folded_subject, sender, sent_at, day) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (mail.message_id, fingerprint, mail.subject, folded(mail.subject), shown, sent, day),
    ).lastrowid
    db.execute("INSERT INTO email_text VALUES (?, ?)", (row, folded(mail.text)))
    roles = (("from", mail.senders), ("to", mail.recipients), ("delivered", mail.delivered))
    addresses = [(row, role, each.address, each.name) for role, named in roles for each in named]
    db.executemany("INSERT OR IGNORE INTO email_address VALUES (?, ?, ?, ?)", addresses)
    files = [(row, f"{each.digest[:32]}/{each.name}", *each) for each in mail.attachments]
    db.executemany("INSERT OR IGNORE INTO attachment VALUES (?, ?, ?, ?, ?)", files)
    db.executemany("INSERT OR IGNORE INTO email_url VALUES (?, ?)", [(row, url) for url in mail.urls])


def _add_texts(db: sqlite3.Connection, file: _DataFile, zone: ZoneInfo, until: date, faults: list[Fault]) -> None:
    """Add the cards or the events of a file."""
    subject, most = _shown(file.path), _MAX_TEXT_BYTES[file.kind]
    if file.size > most:
        faults.append(Fault(subject, f"larger than {most:,} bytes, not read"))
        return
    text = file.path.read_bytes().decode("utf-8-sig", "replace")
    for found in address_cards(text, subject) if file.kind == "cards" else calendar_events(text, subject, zone, until):
        if isinstance(found, Fault):
            faults.append(found)
        elif isinstance(found, AddressCard):
            values = (found.uid, found.own, found.name, json.dumps(found.addresses))
            db.execute("INSERT INTO card (uid, own, name, addresses) VALUES (?, ?, ?, ?)", values)
        else:
            place_id = " ".join(found.place.casefold().split()) or None
            named = (found.id, found.name, folded(found.name), found.place, place_id)
            row = db.execute(
                "INSERT INTO event (id, name, folded, place, place_id, start, ends, all_day) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (*named, found.start, found.end, found.all_day),
            ).lastrowid
            days = range(min((found.end_day - found.first_day).days, _MAX_DAYS))
            on = [(row, (found.first_day + timedelta(days=each)).isoformat()) for each in days]
            db.executemany("INSERT INTO event_day VALUES (?, ?)", on)
            attendees = [(row, *each) for each in found.attendees]
            db.executemany("INSERT OR IGNORE INTO event_attendee VALUES (?, ?, ?)", attendees)


def _add_digests(db: sqlite3.Connection, root: Path, faults: list[Fault]) -> None:
    """Digest the files that have as many bytes as an attachment, so that their content decides whether both are the same."""
    like = "size > 0 AND size IN (SELECT size FROM attachment) ORDER BY id"
    for (key,) in db.execute(f"SELECT id FROM disk_file WHERE {like}").fetchall():
        try:
            with (root / key).open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            db.execute("UPDATE disk_file SET digest = ? WHERE id = ?", (digest, key))
        except OSError as error:
            faults.append(Fault(key, f"cannot be read ({error.strerror})"))


def _link(db: sqlite3.Connection) -> None:
    """Make the entities that follow from all files: cards that share an address are of one person, one is the user."""
    cards = db.execute("SELECT uid, own, name, addresses FROM card ORDER BY row").fetchall()
    graph: nx.Graph[int | str] = nx.Graph()
    for at, (*_, addresses) in enumerate(cards):
        graph.add_node(at)
        graph.add_edges_from((at, address) for address in json.loads(addresses))
    my_name = ""
    mine: list[str] = []
    for members in nx.connected_components(graph):
        group = [cards[at] for at in sorted(each for each in members if isinstance(each, int))]
        addresses = list(dict.fromkeys(address for card in group for address in json.loads(card[3])))
        name = next((card[2] for card in group if card[2]), addresses[0] if addresses else "")
        if any(own for _, own, *_ in group):
            id_, my_name, mine = _SELF, my_name if mine else name, [*mine, *addresses]
        else:
            id_ = addresses[0] if addresses else f"card:{group[0][0] or name}"
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
    for called, function in functions.items():
        db.create_function(called, 1, function, deterministic=True)
    _run(db, "link.sql")


def _extension(name: str) -> str:
    stem, dot, extension = folded(name).rpartition(".")
    return extension if dot and stem else ""


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _data_files(data: PersonalData, faults: list[Fault]) -> Iterator[_DataFile]:
    """Yield the regular files of mail, calendars, cards and files, by folder and name; links are left out."""
    for root in (data.mail, data.calendars, data.cards, data.files):
        for folder, folders, _ in os.walk(root, onerror=lambda error: _unreadable(error, faults)):
            folders.sort()
            try:
                with os.scandir(folder) as entries:
                    regular = (each for each in entries if each.is_file(follow_symlinks=False))
                    found = sorted(regular, key=attrgetter("name"))
                for entry in found:
                    path, state = Path(entry.path), entry.stat(follow_symlinks=False)
                    if kind := _kind(path, root, data):
                        yield _DataFile(path, kind, state.st_size, state.st_mtime_ns)
            except OSError as error:
                _unreadable(error, faults)


def _kind(path: Path, root: Path, data: PersonalData) -> Literal["maildir", "mbox", "calendar", "cards", "file"] | None:
    suffix = path.suffix.casefold()
    if root == data.files:
        return "file"
    if root != data.mail:
        wanted: Literal["calendar", "cards"] = "calendar" if root == data.calendars else "cards"
        return wanted if suffix == {"calendar": ".ics", "cards": ".vcf"}[wanted] else None
    if path.parent.name in _MAILDIR and (path.parent.parent / "cur").is_dir():
        return "maildir" if path.parent.name != "tmp" else None  # where mails are being delivered
    if suffix == ".mbox":
        return "mbox"
    with path.open("rb") as file:
        return "mbox" if file.read(5) == b"From " else None


def _unreadable(error: OSError, faults: list[Fault]) -> None:
    faults.append(Fault(_shown(error.filename or ""), f"cannot be read ({error.strerror or error})"))


def _shown(path: Path | str) -> str:
    """Return a path as text; a byte that is no UTF-8, which no database takes, is written ``\\xff``."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")
