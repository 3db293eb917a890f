"""Where a person's data lies on disk, and which files of it hold mail, calendars and cards."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from ontology.errors import InvalidArgumentError

__all__ = ["MBOX_START", "DataFile", "FileKind", "PersonalData", "data_files", "shown_path", "walk_files"]

FileKind: TypeAlias = Literal["maildir", "mbox", "calendar", "cards"]
_MAILDIR = frozenset({"cur", "new", "tmp"})
MBOX_START = b"From "
"""How an mbox begins, and each message in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonalData:
    """The folders of a person's data. Only regular files are read, no link is followed.

    :param mail: with Maildirs and mbox files, at any depth.
    :param calendars: with ``.ics`` files.
    :param cards: with ``.vcf`` files. The user's own card is ``me.vcf``, or has ``RELATED;TYPE=me`` (RFC 6350, section 6.6.6).
    :param files: whose files and folders are the person's.
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


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file to be read.

    :param key: names it for good: a mail of a Maildir keeps it when its flags change or it is moved from ``new`` to ``cur``.
    """

    key: str
    path: Path
    kind: FileKind


def data_files(data: PersonalData, unreadable: Callable[[OSError], None]) -> Iterator[DataFile]:
    """Yield the files of mail, calendars and cards, by folder and name.

    :param unreadable: is told of each folder or file that cannot be listed.
    """
    for folder, names in walk_files(data.mail, unreadable):
        if folder.name in _MAILDIR and (folder.parent / "cur").is_dir():
            if folder.name != "tmp":  # mails that are being delivered
                for name in names:
                    yield DataFile(shown_path(folder.parent / name.partition(":")[0]), folder / name, "maildir")
            continue
        for name in names:
            if _is_mbox(folder / name, unreadable):
                yield DataFile(shown_path(folder / name), folder / name, "mbox")
    for root, suffix, kind in ((data.calendars, ".ics", "calendar"), (data.cards, ".vcf", "cards")):
        for folder, names in walk_files(root, unreadable):
            for name in names:
                if name.casefold().endswith(suffix):
                    yield DataFile(shown_path(folder / name), folder / name, kind)  # type: ignore[arg-type]


def shown_path(path: Path | str) -> str:
    """Return a path as text; a byte that is no UTF-8, which no database takes, is written ``\\xff``."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def walk_files(root: Path, unreadable: Callable[[OSError], None]) -> Iterator[tuple[Path, list[str]]]:
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


def _is_mbox(path: Path, unreadable: Callable[[OSError], None]) -> bool:
    if path.suffix == ".mbox":
        return True
    try:
        with path.open("rb") as file:
            return file.read(len(MBOX_START)) == MBOX_START
    except OSError as error:
        unreadable(error)
        return False
