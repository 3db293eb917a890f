"""Mail files and what their messages say: who, when, what, which files and links. Whatever is broken in a message costs only itself.

Messages come one at a time: memory does not grow with the size of a file, nor with that of a message.
"""

from __future__ import annotations

import hashlib
import html
import mimetypes
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.header import decode_header
from email.message import Message
from email.parser import BytesHeaderParser, BytesParser
from email.utils import getaddresses, parsedate_to_datetime
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

_MAX_MESSAGE_BYTES = 32 * 2**20  # of a larger message only the headers are read
_LONGEST_LINE = 2**16
# RFC 4155: "From ", an address and a date, after an empty line; or bare, as newer mail programs write it.
_SEPARATOR = re.compile(
    rb"From (?:(?:\S+|[^\r\n]{0,200}@\S+) +(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? |\d{4}-\d\d-\d\d[ T])[^\r\n]{0,100}?\d\d:\d\d[^\r\n]*)?\r?\n"
)
_MAX_URL_CHARS, _MAX_NAME_CHARS, _MAX_ADDRESS_CHARS = 2_000, 255, 1_000
_ADDRESS = re.compile(r"[^\s@<>,;:\"]{1,128}@[^\s@<>,;:\"]{1,255}")
_TAG = re.compile(r"(<!--|-->|<[^<>]*>)")
_TAG_NAME = re.compile(r"<(/?)(!--|[^\s/>]{0,12})")
_LINK = re.compile(r"<a(?:rea)?\s[^<>]*?href\s*=\s*(?:\"([^\"<>]*)\"|'([^'<>]*)'|([^\s\"'<>]+))", re.IGNORECASE)
_URL = re.compile(r"https?://[^\s<>\"'`\\^{}|]+", re.IGNORECASE)
_SILENT = ("style", "script", "head", "title")
_INLINE = frozenset("a abbr b big code em font i mark s small span strong sub sup tt u".split())


class RawMail(NamedTuple):
    """A message as it lies in a file, from a position in bytes on; ``size`` is more than ``content`` has where it is too large."""

    position: int
    content: bytes
    size: int


class NamedAddress(NamedTuple):
    """A mail address in lower case, and the name written beside it."""

    address: str
    name: str


class Attachment(NamedTuple):
    """A file in a mail, with the SHA-256 of its content, hexadecimal."""

    name: str
    size: int
    digest: str


@dataclass(slots=True)
class Mail:
    """What a message says; in ``problems`` what could not be read, or only in part.

    :param message_id: without angle brackets; of a message without one, the SHA-256 of its content.
    :param sent: aware; None where no header has a possible date.
    :param delivered: addresses that the message was delivered to, though no header of its sender may name them.
    :param text: of its text parts; of HTML only where there is no plain text.
    """

    message_id: str = ""
    subject: str = ""
    senders: tuple[NamedAddress, ...] = ()
    recipients: tuple[NamedAddress, ...] = ()
    delivered: tuple[NamedAddress, ...] = ()
    sent: datetime | None = None
    text: str = ""
    attachments: list[Attachment] = field(default_factory=list)
    urls: dict[str, None] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


def single_mail(path: Path) -> RawMail:
    """Read a file that is one message."""
    with path.open("rb") as file:
        content = file.read(_MAX_MESSAGE_BYTES + 1)
    return _raw(0, bytearray(content), max(len(content), path.stat().st_size))


def mbox_mails(path: Path) -> Iterator[RawMail]:
    """Yield the messages of an mbox. What stands before the first separator is no message."""
    with path.open("rb") as file:
        gathered, size, position, at = bytearray(), 0, -1, 0
        after_empty = True
        while line := file.readline(_LONGEST_LINE):
            if after_empty and line.startswith(b"From ") and _SEPARATOR.fullmatch(line):
                if position >= 0:
                    yield _raw(position, gathered, size)
                gathered, size, position = bytearray(), 0, at
            else:
                size += len(line)
                gathered += line if len(gathered) <= _MAX_MESSAGE_BYTES else b""
            at += len(line)
            after_empty = line in (b"\n", b"\r\n")
        if position >= 0:
            yield _raw(position, gathered, size)


def _raw(position: int, gathered: bytearray, size: int) -> RawMail:
    if size > _MAX_MESSAGE_BYTES:
        return RawMail(position, bytes(gathered).partition(b"\n\n")[0][: 2**18], size)
    content = bytes(gathered)
    content = content[:-1] if content.endswith(b"\n\n") else content  # the empty line before the next separator
    return RawMail(position, content, len(content))


def read_mail(raw: RawMail) -> Mail:
    """Read a message; what it breaks is in ``problems``, never an error."""
    mail, content = Mail(), raw.content
    message: Message | None = None
    if raw.size > len(content):
        mail.problems.append(f"a message of {raw.size:,} bytes; its headers were read, its text and files were not")
    else:
        try:
            message = BytesParser().parsebytes(content)
            _read_parts(mail, message)
        except Exception as error:  # the parser of the standard library raises many classes on hostile input
            told = f"{type(error).__name__}: {str(error)[:100]}"
            mail.problems.append(f"its parts cannot be told apart ({told}); what was read until there is kept")
    _read_headers(mail, message or BytesHeaderParser().parsebytes(content.partition(b"\n\n")[0]), content)
    return mail


def _read_headers(mail: Mail, message: Message, content: bytes) -> None:
    headers: dict[str, list[str]] = {}
    for name, value in message.raw_items():  # bytes that are not ASCII are surrogates here
        text = str(value).encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        headers.setdefault(name.lower(), []).append(text)
    if not headers:
        mail.problems.append("no header of a mail in it")
    written, date = headers.get("message-id", [""])[0], headers.get("date", [""])[0]
    mail.message_id = _printable("".join(written.split()).strip("<>")[:500]) or hashlib.sha256(content).hexdigest()
    mail.subject = _words(headers.get("subject", [""])[0])
    mail.senders = _addresses(headers, "from") or _addresses(headers, "sender")
    mail.recipients = _addresses(headers, "to", "cc", "bcc")
    mail.delivered = _addresses(headers, "delivered-to", "x-original-to")
    mail.sent = _date(date)
    if mail.sent is None:
        mail.sent = next(filter(None, (_date(each.rpartition(";")[2]) for each in headers.get("received", ()))), None)
        problem = f"impossible date {date[:40]!r}" if date else "no date"
        mail.problems.append(f"{problem}; {'that of its delivery was taken' if mail.sent else 'it has none'}")


def _date(text: str) -> datetime | None:
    try:
        moment = parsedate_to_datetime(" ".join(text.split()))
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except Exception:  # TypeError, ValueError, OverflowError, IndexError: all mean that this is no date
        return None
    return moment if 1971 <= moment.year <= 2199 else None


def _addresses(headers: dict[str, list[str]], *names: str) -> tuple[NamedAddress, ...]:
    found: dict[str, NamedAddress] = {}
    for piece in (piece for name in names for value in headers.get(name, ()) for piece in _pieces(value)):
        for each in _address_list(piece):
            found.setdefault(each.address, each)
    return tuple(found.values())


def _pieces(value: str) -> Iterator[str]:
    """Split a list of addresses at the commas that are not in quotes; a broken address costs only itself."""
    gathered, quotes = [], 0
    for piece in value.split(","):
        gathered.append(piece)
        quotes += piece.count('"') - piece.count('\\"')
        if quotes % 2 == 0:
            yield ",".join(gathered)
            gathered = []
    yield from gathered  # of a quote that is never closed


@lru_cache(maxsize=16_384)
def _address_list(value: str) -> tuple[NamedAddress, ...]:
    try:
        pairs = getaddresses([" ".join(value.split())]) if len(value) <= _MAX_ADDRESS_CHARS else []
    except Exception:  # hostile headers
        pairs = []
    found = [NamedAddress(address.casefold(), _words(name)) for name, address in pairs if _ADDRESS.fullmatch(address)]
    return tuple(found) or tuple(NamedAddress(each.casefold(), "") for each in _ADDRESS.findall(value))


def _words(value: str) -> str:
    """Return the text of a header: encoded words decoded, one line."""
    if "=?" in value:
        try:
            pieces = decode_header(value)
            value = "".join(each if isinstance(each, str) else _decoded(each, charset) for each, charset in pieces)
        except Exception:  # broken base64 in an encoded word: it stays as it is written
            pass
    return _printable(" ".join(value.split()))


def _printable(text: str) -> str:
    text = text.encode("utf-8", "replace").decode("utf-8")  # lone surrogates
    return text if text.isprintable() else "".join(char if char.isprintable() else " " for char in text)


def _decoded(content: bytes, charset: object) -> str:
    try:
        text = content.decode(charset if isinstance(charset, str) else "utf-8", "replace")
    except (LookupError, ValueError):  # a charset that does not exist or is none of text
        text = content.decode("utf-8", "replace")
    return text.encode("utf-8", "replace").decode("utf-8")  # UTF-7 and others can say lone surrogates


def _read_parts(mail: Mail, message: Message) -> None:
    plain: list[str] = []
    rich: list[str] = []
    for part in (each for each in message.walk() if not each.is_multipart()):
        name = _file_name(part, len(mail.attachments) + 1)
        payload = part.get_payload(decode=True)
        content = payload if isinstance(payload, bytes) else b""
        if name:
            mail.attachments.append(Attachment(name, len(content), hashlib.sha256(content).hexdigest()))
        elif part.get_content_maintype() in ("text", "multipart"):  # the latter without a boundary
            text = _decoded(content, part.get_param("charset"))
            if part.get_content_subtype() == "html":
                targets = (html.unescape(next(filter(None, each), "")).strip() for each in _LINK.findall(text))
                mail.urls.update((_normal_url(found[0]), None) for each in targets if (found := _URL.match(each)))
                text = _html_text(text)
                rich.append(text)
            else:
                plain.append(text)
            mail.urls.update(dict.fromkeys(_urls(text)))
    mail.text = "\n".join(plain if any(map(str.strip, plain)) else rich).replace("\x00", " ")


def _file_name(part: Message, number: int) -> str:
    """Return the name of an attachment, without folders; empty for a part that is none."""
    if not part.get("content-disposition") and "name" not in str(part.get("content-type", "")).lower():
        return ""
    try:
        name = _words(part.get_filename() or "")
    except Exception:  # broken parameters of RFC 2231
        name = ""
    name = re.split(r"[/\\]", name)[-1].strip()[:_MAX_NAME_CHARS]
    if name or part.get_content_disposition() != "attachment":
        return name
    return f"attachment-{number}{mimetypes.guess_extension(part.get_content_type()) or ''}"


def _html_text(source: str) -> str:
    """Return what a reader of HTML sees of it, without styles, scripts and comments."""
    shown, silent = [], ""
    for index, piece in enumerate(_TAG.split(source)):
        tag = _TAG_NAME.match(piece) if index % 2 else None
        name = tag[2].casefold() if tag else piece
        if index % 2 == 0 or (piece == "-->" and not silent):
            shown.append("" if silent else piece)
        elif silent:
            ends = name == "-->" if silent == "!--" else bool(tag and tag[1] and name == silent)
            silent = "" if ends else silent
        elif name == "!--" or (name in _SILENT and tag and not tag[1]):
            silent = name
        elif name not in _INLINE:
            shown.append(" ")
    return html.unescape("".join(shown))


def _urls(text: str) -> Iterator[str]:
    """Yield the web addresses in a text, without the punctuation of the sentence around them."""
    for found in _URL.findall(text):
        url = found[:_MAX_URL_CHARS].rstrip(".,;:!?'*_")
        while url and url[-1] in ")]" and url.count(url[-1]) > url.count("(" if url[-1] == ")" else "["):
            url = url[:-1].rstrip(".,;:!?'*_")
        if len(url) > len("https://"):
            yield _normal_url(url)


def _normal_url(url: str) -> str:
    """Return a web address with scheme and host in lower case, and at most 2,000 characters."""
    scheme, _, rest = url[:_MAX_URL_CHARS].partition("://")
    host = re.split(r"[/?#]", rest, maxsplit=1)[0]
    return f"{scheme.lower()}://{host.lower()}{rest[len(host) :]}"


def url_key(url: str) -> str:
    """Return a web address as it is compared: without scheme, ``www.`` and the slash at its end."""
    text = url.strip()
    rest = _normal_url(text if "://" in text else f"http://{text}").partition("://")[2]
    return rest.removeprefix("www.").rstrip("/")
