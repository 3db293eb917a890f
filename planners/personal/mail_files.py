"""The messages of mail files, one at a time: memory does not grow with the size of a file, nor with that of a message."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["MAX_LINES", "MAX_MESSAGE_BYTES", "RawMail", "mbox_mails", "single_mail"]

MAX_MESSAGE_BYTES = 32 * 2**20
"""Of a larger message only the beginning is read."""
MAX_LINES = 1_000_000
"""And of one with more lines: each costs the parser about a hundred bytes, and 32 MiB in base64 have 440,000."""
_BEGINNING = 2**18
_CHUNK = 2**20
# RFC 4155: "From ", an address and a date. A line of a text that begins with "From " has no time of day.
_SEPARATOR = re.compile(rb"^From [^\r\n]{0,300}?\d\d:\d\d[^\r\n]{0,100}\r?\n", re.MULTILINE)
_LONGEST_SEPARATOR = 512


@dataclass(frozen=True, slots=True)
class RawMail:
    """A message as it lies in a file.

    :param position: bytes from the start of the file.
    :param size: its bytes; more than ``content`` has where it is too large.
    """

    position: int
    content: bytes
    size: int

    @property
    def cut(self) -> bool:
        """Whether only its beginning is here."""
        return self.size > len(self.content)


def single_mail(path: Path, seen: Callable[[bytes], object]) -> RawMail:
    """Read a file that is one message.

    :param seen: gets every byte that is read, in order.
    :raises OSError: when it cannot be read.
    """
    gathered, size = bytearray(), 0
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            seen(chunk)
            size += len(chunk)
            if len(gathered) <= MAX_MESSAGE_BYTES:
                gathered += chunk
    return _mail(0, gathered, size)


def mbox_mails(path: Path, start: int, seen: Callable[[bytes], object]) -> Iterator[RawMail]:
    """Yield the messages of an mbox from a position on, which is that of a separator or the end.

    :param seen: gets every byte that is read, in order.
    :raises OSError: when the file cannot be read.
    """
    with path.open("rb") as file:
        file.seek(start)
        gathered, size, position, buffer, ended = bytearray(), 0, start, b"", False
        inside = False  # a message; what stands before the first separator is none
        new_line = True  # the buffer begins with a line, not inside one

        def taken(piece: bytes) -> None:
            nonlocal size
            size += len(piece)
            if len(gathered) <= MAX_MESSAGE_BYTES:
                gathered.extend(piece)

        while not ended:
            chunk = file.read(_CHUNK)
            seen(chunk)
            ended = not chunk
            buffer += chunk
            at = 0
            for match in _SEPARATOR.finditer(buffer, 0 if new_line else 1):
                taken(buffer[at : match.start()])
                if inside:
                    yield _mail(position, gathered, size)
                gathered, position, size, inside = bytearray(), start + match.start(), 0, True
                at = match.end()
            keep = len(buffer) if ended else max(at, _line_start(buffer))
            taken(buffer[at:keep])
            new_line = buffer[keep - 1 : keep] == b"\n" if keep else new_line
            start += keep
            buffer = buffer[keep:]
        if inside:
            yield _mail(position, gathered, size)


def _line_start(buffer: bytes) -> int:
    """Where the last line begins, which may be a separator that is not complete; a long line is none."""
    last = buffer.rfind(b"\n") + 1
    return last if len(buffer) - last <= _LONGEST_SEPARATOR else len(buffer)


def _mail(position: int, gathered: bytearray, size: int) -> RawMail:
    if size > MAX_MESSAGE_BYTES or gathered.count(b"\n") > MAX_LINES:
        return RawMail(position, bytes(gathered[:_BEGINNING]), size)
    content = bytes(gathered)
    # The empty line before the next separator is not part of the message.
    content = content[:-1] if content.endswith(b"\n\n") else content
    return RawMail(position, content, len(content))
