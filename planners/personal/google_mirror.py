"""Copies of a Google account's mail and calendars as files, which the index then reads like any other: a second source of the same edges.

The operations are those of Google's discovery documents (``google-discovery:gmail``, ``google-discovery:calendar``); who calls them is up
to the caller. Only operations that read are called.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from egotools.client_errors import ClientError
from ontology.errors import EgotoolsError, StorageError
from ontology.files import write_file
from planners.personal.google_events import google_calendar
from planners.personal.index_faults import Fault

__all__ = ["CallOperation", "mirror_google"]

CallOperation: TypeAlias = Callable[[str, Mapping[str, Any]], Awaitable[Any]]
"""Calls the operation of an id with arguments and returns its answer as JSON values; raises where there is none."""

_PROFILE = "gmail.users.getProfile"
_MESSAGES = "gmail.users.messages.list"
_MESSAGE = "gmail.users.messages.get"
_CALENDARS = "calendar.calendarList.list"
_EVENTS = "calendar.events.list"
_PAGE = 500  # the most that Gmail gives; Calendar gives more, and takes this
_AT_ONCE = 8
_ID = re.compile(r"[A-Za-z0-9_-]{1,200}")
_FAILED = (EgotoolsError, ClientError, LookupError, TypeError, ValueError)  # the last three: an answer of another shape


async def mirror_google(call: CallOperation, home: Path) -> tuple[Fault, ...]:
    """Bring ``mail/Gmail``, ``calendars/google`` and the user's card below a folder up to the state of the account.

    A message never changes, so only those that are not there yet are fetched; those that are gone are removed.

    :returns: what could not be copied; it stops nothing else.
    :raises StorageError: when a file cannot be written.
    """
    mirror = _Mirror(call, home)
    try:
        for step in (mirror.card, mirror.mail, mirror.calendars):
            await step()
    except OSError as error:
        raise StorageError(
            f"the copy cannot be written: {error.strerror}", subject=str(error.filename or home)
        ) from error
    return tuple(mirror.faults)


class _Mirror:
    def __init__(self, call: CallOperation, home: Path) -> None:
        self._call, self._home = call, home
        self.faults: list[Fault] = []

    async def card(self) -> None:
        """Write the user's card, unless there is one."""
        path = self._home / "cards" / "me.vcf"
        if path.exists():
            return
        try:
            address = str((await self._call(_PROFILE, {"userId": "me"}))["emailAddress"])
            if "@" not in address or not address.isprintable():
                raise ValueError(f"no address: {address!r}")
        except _FAILED as error:
            self._failed("profile", error)
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(path, f"BEGIN:VCARD\r\nVERSION:3.0\r\nFN:{address}\r\nEMAIL:{address}\r\nEND:VCARD\r\n".encode())

    async def mail(self) -> None:
        """Copy the messages that are new and remove those that are gone."""
        folder = self._home / "mail" / "Gmail" / "cur"
        folder.mkdir(parents=True, exist_ok=True)
        there, room = {path.name for path in folder.iterdir()}, asyncio.Semaphore(_AT_ONCE)
        listed: set[str] = set()
        try:
            async for page in self._pages(_MESSAGES, {"userId": "me", "maxResults": _PAGE}):
                ids = [str(each["id"]) for each in page.get("messages", ())]
                listed.update(ids)
                await asyncio.gather(*(self._message(each, folder, room) for each in ids if each not in there))
        except _FAILED as error:
            self._failed("messages", error)
            return  # what is gone is not known
        for name in there - listed:
            (folder / name).unlink()

    async def _message(self, id_: str, folder: Path, room: asyncio.Semaphore) -> None:
        try:
            if not _ID.fullmatch(id_):
                raise ValueError("its id is none")
            async with room:
                answer = await self._call(_MESSAGE, {"userId": "me", "id": id_, "format": "raw"})
            raw = str(answer["raw"])
            content = base64.urlsafe_b64decode(raw + "=" * (-len(raw) % 4))
        except _FAILED as error:
            self._failed(f"message {id_[:80]}", error)
        else:
            write_file(folder / id_, content)

    async def calendars(self) -> None:
        """Copy each calendar as a whole; of one that cannot be read, the copy stays; what is gone is removed."""
        folder = self._home / "calendars" / "google"
        folder.mkdir(parents=True, exist_ok=True)
        try:
            calendars = [each async for page in self._pages(_CALENDARS, {}) for each in page.get("items", ())]
        except _FAILED as error:
            self._failed("calendars", error)
            return
        kept = set[str]()
        for number, calendar in enumerate(calendars):
            try:
                id_ = str(calendar["id"])
                name = f"{hashlib.sha256(id_.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}.ics"
                kept.add(name)
                arguments = {"calendarId": id_, "maxResults": _PAGE, "singleEvents": False}
                items = [each async for page in self._pages(_EVENTS, arguments) for each in page.get("items", ())]
                content, faults = google_calendar(items, f"calendar {id_}")
            except _FAILED as error:
                self._failed(f"calendar {number}", error)
                continue
            self.faults += faults
            write_file(folder / name, content)
        for path in folder.glob("*.ics"):
            if path.name not in kept:
                path.unlink()

    async def _pages(self, operation: str, arguments: Mapping[str, Any]) -> AsyncIterator[Mapping[str, Any]]:
        """Yield the answers of an operation, page by page.

        :raises ValueError: for a page that was there already: what is on the others is not known.
        """
        token, seen = "", set[str]()
        while True:
            if token in seen:
                raise ValueError("its pages go round in a circle")
            seen.add(token)
            page = await self._call(operation, {**arguments, **({"pageToken": token} if token else {})})
            if not isinstance(page, Mapping):
                raise TypeError("no object")
            yield page
            token = str(page.get("nextPageToken") or "")
            if not token:
                return

    def _failed(self, subject: str, error: Exception) -> None:
        if isinstance(error, StorageError):
            raise error
        problem = f"{type(error).__name__}: {error}"
        self.faults.append(Fault(subject, f"not copied ({problem[:200]})"))
