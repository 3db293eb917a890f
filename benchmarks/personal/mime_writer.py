"""Mails as MIME messages: encoded headers, several forms of a text, attachments, a mail in a mail."""

from __future__ import annotations

import mimetypes
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime

from benchmarks.personal.acquaintances import ME, Acquaintance
from benchmarks.personal.correspondence import READERS, Letter

_POLICY = SMTP.clone(linesep="\n", max_line_length=76)


def mime_message(letter: Letter) -> bytes:
    """Return a mail as it lies in a mailbox; the same bytes each time."""
    message = EmailMessage(policy=_POLICY)
    message["From"] = _address(letter.sender, letter, 0)
    # A list names itself as the recipient; whose mailbox it came to is in the header of the delivery.
    message["To"] = READERS.addresses[0] if letter.listed else [_address(each, letter, 1) for each in letter.to]
    if letter.cc:
        message["Cc"] = [_address(each, letter, at) for at, each in enumerate(letter.cc, 2)]
    if letter.listed:
        message["Delivered-To"] = ME.addresses[0]
    message["Subject"] = letter.subject
    message["Date"] = format_datetime(letter.sent)
    message["Message-ID"] = f"<{letter.id}>"
    if letter.reply_to:
        message["In-Reply-To"] = message["References"] = f"<{letter.reply_to}>"
    if letter.form == "forward":
        message.set_content(f"{letter.text}\n")
        message.add_attachment(_inner(letter))
    else:
        _write_body(message, letter)
    if letter.form != "forward":
        _attach(message, letter)
    for number, part in enumerate(part for part in message.walk() if part.is_multipart()):
        if part.get_content_maintype() == "multipart":
            part.set_boundary(f"=_{letter.id.partition('@')[0]}_{number}")
    return message.as_bytes()


def _inner(letter: Letter) -> EmailMessage:
    """The mail inside a forwarded one, which has the files and the links."""
    message = EmailMessage(policy=_POLICY)
    message["From"] = "Somebody Else <else@elsewhere.example>"
    message["Subject"] = "Original"
    message["Message-ID"] = f"<inner-{letter.id}>"
    message.set_content(f"{letter.inner}\n{_sentences(letter)}")
    _attach(message, letter)
    return message


def _write_body(message: EmailMessage, letter: Letter) -> None:
    text = f"{letter.text}\n{_sentences(letter)}"
    if letter.form == "latin1":
        message.set_content(text, charset="iso-8859-1", cte="quoted-printable")
    elif letter.form == "html":
        message.set_content(_html(letter), subtype="html", cte="base64")
    else:
        message.set_content(text)
        if letter.form == "alternative":
            message.add_alternative(_html(letter), subtype="html", cte="quoted-printable")


def _sentences(letter: Letter) -> str:
    return "".join(f"See <{link}>.\n" if at % 2 else f"See {link}, please.\n" for at, link in enumerate(letter.links))


def _html(letter: Letter) -> str:
    paragraphs = "".join(f"<p>{line}</p>\n" for line in letter.text.splitlines())
    links = "".join(f'<p><a class="x" href="{link}">there</a></p>\n' for link in letter.links)
    style = "<style>p { color: #333 } /* hidden words */</style>"
    return f"<html><head>{style}</head><body><!-- hidden -->{paragraphs}{links}<img src='https://pixel.example/x.gif'></body></html>\n"


def _attach(message: EmailMessage, letter: Letter) -> None:
    for document in letter.documents:
        main, _, sub = (mimetypes.guess_type(document.name)[0] or "application/octet-stream").partition("/")
        # As bytes whatever the type, so that no line end changes.
        message.add_attachment(document.content, maintype=main, subtype=sub, filename=document.name, cte="base64")


def _address(person: Acquaintance, letter: Letter, at: int) -> Address:
    address = person.addresses[letter.addresses[at % 6] % len(person.addresses)]
    user, _, domain = address.partition("@")
    return Address(person.name, user, domain)
