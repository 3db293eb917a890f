"""What a message says: who, when, what, which files and which links. Whatever is broken in it costs only itself."""

from __future__ import annotations

import codecs
import hashlib
import mimetypes
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.header import decode_header
from email.message import Message
from email.parser import BytesHeaderParser, BytesParser
from email.policy import Compat32
from email.utils import getaddresses, parsedate_to_datetime
from functools import lru_cache

from planners.personal.mail_files import RawMail
from planners.personal.mail_text import html_text, html_urls, plain_urls

__all__ = ["Attachment", "Mail", "NamedAddress", "read_mail"]

_RECIPIENTS = ("to", "cc", "bcc")
_DELIVERED = ("delivered-to", "x-original-to")
_FIRST_YEAR, _LAST_YEAR = 1971, 2199
_MAX_TEXT_CHARS = 1_000_000
_MAX_URLS = 1_000
_MAX_NAME_CHARS = 255
_ADDRESS = re.compile(r"[^\s@<>,;:\"]{1,128}@[^\s@<>,;:\"]{1,255}")
# The standard library takes time that grows with the square of a header's length, or worse (measured: 5 s for 60,000 times "(" as an
# address, minutes for "["), so that only so much of a header is read.
_MAX_HEADER_CHARS = 200_000
_MAX_PARAMETER_CHARS = 2_000  # of Content-Type and Content-Disposition
_MAX_ADDRESS_CHARS = 1_000
_MAX_WORDS_CHARS = 4_000
_MAX_PARTS, _MAX_ATTACHMENTS = 1_000, 200
# Decoding these takes time that grows with the square of the text, or they say escapes, which no mail does.
_NO_CHARSETS = frozenset(
    {"punycode", "idna", "unicode_escape", "raw-unicode-escape", "raw_unicode_escape", "unicode-escape", "undefined"}
)
# The parser compares each line with the boundary of each multipart around it (measured: 15,000,000 comparisons a second).
_MAX_COMPARISONS = 50_000_000
_MAX_DELIMITERS = 20_000  # lines that may begin a part; the parser makes a message of each
_BOUNDARY = re.compile(rb"boundary\s*=", re.IGNORECASE)


class _ShortHeaders(Compat32):
    def header_source_parse(self, sourcelines: list[str]) -> tuple[str, str]:
        name, value = super().header_source_parse(sourcelines)
        return name, value[: _MAX_PARAMETER_CHARS if name.lower().startswith("content-") else _MAX_HEADER_CHARS]


_PARSER, _HEADERS = BytesParser(policy=_ShortHeaders()), BytesHeaderParser(policy=_ShortHeaders())


@dataclass(frozen=True, slots=True)
class NamedAddress:
    """A mail address in lower case, and the name written beside it."""

    address: str
    name: str


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file in a mail.

    :param digest: SHA-256 of its content, hexadecimal.
    """

    name: str
    size: int
    digest: str


@dataclass(slots=True)
class Mail:
    """What a message says.

    :param message_id: without angle brackets; of a message without one, the SHA-256 of its content.
    :param sent: aware; None where no header has a possible date.
    :param delivered: addresses that the message was delivered to, though no header of its sender may name them.
    :param text: of its text parts; of HTML only where there is no plain text.
    :param problems: what could not be read, or only in part.
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


def read_mail(raw: RawMail) -> Mail:
    """Read a message; what it breaks is in ``problems``, never an error."""
    mail = Mail()
    if raw.cut:
        mail.problems.append(f"a message of {raw.size:,} bytes; its headers were read, its text and files were not")
    try:
        if (
            raw.content.count(b"\n--") > _MAX_DELIMITERS
            or raw.content.count(b"\n") * sum(1 for _ in _BOUNDARY.finditer(raw.content)) > _MAX_COMPARISONS
        ):
            raise ValueError("too many parts")
        message: Message = (_HEADERS if raw.cut else _PARSER).parsebytes(raw.content)
    except Exception as error:  # the parser of the standard library raises many classes on hostile input
        mail.problems.append(
            f"its parts cannot be told apart ({type(error).__name__}: {str(error)[:100]}); only its headers were read"
        )
        message = _HEADERS.parsebytes(raw.content.partition(b"\n\n")[0])
        raw = RawMail(raw.position, b"", raw.size)
    _read_headers(mail, message, raw)
    if not raw.cut:
        try:
            _read_parts(mail, message)
        except Exception as error:  # as above; what was read until here is kept
            mail.problems.append(f"one of its parts cannot be read ({type(error).__name__}: {str(error)[:100]})")
    return mail


def _read_headers(mail: Mail, message: Message, raw: RawMail) -> None:
    headers: dict[str, list[str]] = {}
    for name, value in message.raw_items():
        headers.setdefault(name.lower(), []).append(_characters(str(value)))
    if not headers:
        mail.problems.append("no header of a mail in it")
    mail.message_id = "".join(headers.get("message-id", [""])[0].split()).strip("<>")[:500]
    mail.message_id = _printable(mail.message_id) or hashlib.sha256(raw.content).hexdigest()
    mail.subject = _words(headers.get("subject", [""])[0])
    mail.senders = _addresses(headers, ("from",)) or _addresses(headers, ("sender",))
    mail.recipients = _addresses(headers, _RECIPIENTS)
    mail.delivered = _addresses(headers, _DELIVERED)
    mail.sent = _date(headers.get("date", [""])[0])
    if mail.sent is None:
        written = headers.get("date", [""])[0]
        mail.sent = next(filter(None, (_date(each.rpartition(";")[2]) for each in headers.get("received", []))), None)
        problem = f"impossible date {written[:40]!r}" if written else "no date"
        mail.problems.append(f"{problem}; {'that of its delivery was taken' if mail.sent else 'it has none'}")


def _characters(value: str) -> str:
    """Read the bytes of a header that are not ASCII, which the parser keeps as surrogates, as UTF-8."""
    return value if value.isascii() else value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _date(text: str) -> datetime | None:
    if not text:
        return None
    try:
        moment = parsedate_to_datetime(" ".join(text.split()))
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except Exception:  # TypeError, ValueError, OverflowError, IndexError: all mean that this is no date
        return None
    return moment if _FIRST_YEAR <= moment.year <= _LAST_YEAR else None


def _addresses(headers: dict[str, list[str]], names: tuple[str, ...]) -> tuple[NamedAddress, ...]:
    found: dict[str, NamedAddress] = {}
    for name in names:
        for value in headers.get(name, ()):
            for piece in _pieces(value):
                for each in _address_list(piece):
                    found.setdefault(each.address, each)
    return tuple(found.values())


def _pieces(value: str) -> Iterator[str]:
    """Split a list of addresses at the commas that are not in quotes."""
    gathered, quotes = [], 0
    for piece in value.split(","):
        gathered.append(piece)
        quotes += piece.count('"') - piece.count('\\"')
        if quotes % 2 == 0:
            yield ",".join(gathered)
            gathered = []
    if gathered:  # a quote that is never closed
        yield from gathered


@lru_cache(maxsize=16_384)
def _address_list(value: str) -> tuple[NamedAddress, ...]:
    try:
        pairs = getaddresses([" ".join(value.split())]) if len(value) <= _MAX_ADDRESS_CHARS else []
    except Exception:  # hostile headers
        pairs = []
    found = [NamedAddress(address.casefold(), _words(name)) for name, address in pairs if _ADDRESS.fullmatch(address)]
    # What is no address list may still name addresses.
    return tuple(found) or tuple(NamedAddress(each.casefold(), "") for each in _ADDRESS.findall(value))


@lru_cache(maxsize=16_384)
def _words(value: str) -> str:
    """Return the text of a header: encoded words decoded, one line."""
    value = value[:_MAX_WORDS_CHARS]
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


def _decoded(content: bytes, charset: str | None) -> str:
    content = content[: 4 * _MAX_TEXT_CHARS + 4]  # of no charset of mails a character takes more
    try:
        name = codecs.lookup(charset or "utf-8").name
        text = content.decode("utf-8" if name in _NO_CHARSETS else name, "replace")
    except (LookupError, ValueError):  # a charset that does not exist, or is none of text
        text = content.decode("utf-8", "replace")
    return text.encode("utf-8", "replace").decode("utf-8")  # UTF-7 and others can say lone surrogates


def _read_parts(mail: Mail, message: Message) -> None:
    plain, rich = [], []
    for number, part in enumerate(_leaves(message)):
        if number == _MAX_PARTS or len(mail.attachments) == _MAX_ATTACHMENTS:
            what = f"{_MAX_PARTS:,} parts" if number == _MAX_PARTS else f"{_MAX_ATTACHMENTS} attachments"
            mail.problems.append(f"more than {what}; the rest was left out")
            break
        name = _file_name(part, len(mail.attachments) + 1)
        payload = part.get_payload(decode=True)
        content = payload if isinstance(payload, bytes) else b""
        if name:
            mail.attachments.append(Attachment(name, len(content), hashlib.sha256(content).hexdigest()))
        elif part.get_content_maintype() in ("text", "multipart"):  # the latter without a boundary
            text = _decoded(content, _charset(part))
            if part.get_content_subtype() == "html":
                rich.append(text)
                mail.urls.update(dict.fromkeys(html_urls(text)))
            else:
                plain.append(text)
                mail.urls.update(dict.fromkeys(plain_urls(text)))
    mail.text = "\n".join(plain if any(map(str.strip, plain)) else map(html_text, rich)).replace("\x00", " ")
    if len(mail.text) > _MAX_TEXT_CHARS:
        mail.text = mail.text[:_MAX_TEXT_CHARS]
        mail.problems.append(f"a text of more than {_MAX_TEXT_CHARS:,} characters; the rest cannot be searched")
    if len(mail.urls) > _MAX_URLS:
        mail.urls = dict.fromkeys(list(mail.urls)[:_MAX_URLS])
        mail.problems.append(f"more than {_MAX_URLS:,} links; the rest was left out")


def _leaves(message: Message) -> Iterator[Message]:
    """Yield the parts that have no parts, those of forwarded messages too, in order; not recursive: a mail may be nested deep."""
    waiting = [message]
    while waiting:
        part = waiting.pop()
        if part.is_multipart():
            waiting.extend(reversed(part.get_payload()))  # type: ignore[arg-type]
        else:
            yield part


def _charset(part: Message) -> str | None:
    try:
        return part.get_content_charset()
    except Exception:  # a parameter that is no text
        return None


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
