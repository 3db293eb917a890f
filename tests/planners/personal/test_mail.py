"""What is read of messages and of boxes of them: an mbox is split as the mailbox module of the standard library splits it."""

import mailbox
from contextlib import closing
from datetime import UTC, datetime
from email.message import EmailMessage
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planners.personal.mail import Mail, RawMail, mbox_mails, read_mail, single_mail
from planners.query.graph_faults import folded


@pytest.mark.parametrize(
    ("line", "separates"),
    [
        ("From ann@example.com Mon Jun  1 10:00:00 2026", True),
        ("From MAILER-DAEMON Mon Jun  1 10:00:00 2026", True),
        ("From 1867@xxx Mon Jun 01 10:00:00 +0000 2026", True),
        ("From - Mon Jun 01 10:00:00 2026\r", True),
        ("From ann@example.com 2026-06-01T10:00:00", True),
        ("From ", True),
        ("From 10:30 to 12:00 for members,", False),
        ("From Mon 10:30 on we meet", False),
        ("From now on", False),
        ("From", False),
    ],
)
def test_a_separator_has_an_address_and_a_date_or_is_bare(tmp_path: Path, line: str, separates: bool) -> None:
    path = tmp_path / "a.mbox"
    path.write_text(f"From x@y Mon Jun  1 10:00:00 2026\nSubject: a\n\nText\n\n{line}\nSubject: b\n\nText\n")
    assert len(list(mbox_mails(path))) == 1 + separates
    path.write_text(f"From x@y Mon Jun  1 10:00:00 2026\nSubject: a\n\nText\n{line}\nSubject: b\n\nText\n")
    assert len(list(mbox_mails(path))) == 1, "it does not follow an empty line"


def test_of_a_message_that_is_too_large_the_beginning_is_read(tmp_path: Path) -> None:
    path = tmp_path / "large.mbox"
    with closing(mailbox.mbox(path)) as box:
        for number, text in enumerate(("small", ("x" * 1_000 + "\n") * 34_000, "last")):
            box.add(f"Subject: {number}\n\n{text}\n")
    small, large, last = mbox_mails(path)
    assert [each.size > len(each.content) for each in (small, large, last)] == [False, True, False]
    assert large.content == b"Subject: 1"
    assert large.size > 34_000_000 > len(large.content)
    one = tmp_path / "one"
    one.write_bytes(b"Subject: x\n\n" + b"x" * 2**26)
    alone = single_mail(one)
    assert alone.size > 2**26 > len(alone.content)


def _read(content: bytes) -> Mail:
    return read_mail(RawMail(0, content, len(content)))


def test_addresses_in_all_their_forms() -> None:
    mail = _read(
        b'From: "Doe, Jane" <JANE@Example.com>\n'
        b"To: =?utf-8?q?J=C3=BCrgen_M=C3=BCller?= <jm@example.com>, plain@example.com,\n  undisclosed-recipients:;\n"
        b"Cc: =?iso-8859-1?b?R3L832U=?= <g@example.com>, jm@example.com\n"
        b"Delivered-To: me@example.com\n\n"
    )
    assert [(each.address, each.name) for each in mail.senders] == [("jane@example.com", "Doe, Jane")]
    assert [(each.address, each.name) for each in mail.recipients] == [
        ("jm@example.com", "Jürgen Müller"),
        ("plain@example.com", ""),
        ("g@example.com", "Grüße"),
    ]
    assert [each.address for each in mail.delivered] == ["me@example.com"]


@pytest.mark.parametrize(
    ("header", "sent"),
    [
        (b"Date: Mon, 1 Jun 2026 23:30:00 -0500", datetime(2026, 6, 2, 4, 30, tzinfo=UTC)),
        (b"Date: 1 Jun 2026 10:00:00", datetime(2026, 6, 1, 10, tzinfo=UTC)),
        (
            b"Date: yesterday\nReceived: from a by b; Tue, 2 Jun 2026 09:00:00 +0000",
            datetime(2026, 6, 2, 9, tzinfo=UTC),
        ),
        (b"Date: Mon, 1 Jun 1601 10:00:00 +0000", None),
        (b"Date: Mon, 31 Feb 2026 10:00:00 +0000", None),
        (b"Date: " + b"9" * 5_000, None),
    ],
)
def test_dates(header: bytes, sent: datetime | None) -> None:
    mail = _read(b"From: a@b.example\n" + header + b"\n\nx")
    assert mail.sent == sent
    assert bool(mail.problems) == (b"2026 23:30" not in header and b"10:00:00\n" not in header + b"\n")


def test_html_is_read_where_there_is_no_plain_text_and_its_links_always() -> None:
    message = EmailMessage()
    message.set_content("Plain words, see http://one.example/a.")
    message.add_alternative('<p>Rich words</p><a href="https://two.example/b?x=1&amp;y=2">there</a>', subtype="html")
    mail = _read(message.as_bytes())
    assert "Plain words" in mail.text and "Rich" not in mail.text
    assert list(mail.urls) == ["http://one.example/a", "https://two.example/b?x=1&y=2"]
    message = EmailMessage()
    message.set_content(
        "<style>p {}</style><p>Rich <b>w</b>ords</p><!-- <p>hidden</p> --><script>no()</script>", subtype="html"
    )
    assert folded(_read(message.as_bytes()).text) == "rich words"


def test_the_files_of_a_mail_in_a_mail_are_files_of_the_mail() -> None:
    inner = EmailMessage()
    inner["Subject"] = "inner"
    inner.set_content("inner words")
    inner.add_attachment(b"\x00\x01", maintype="application", subtype="pdf", filename="Rés umé.pdf")
    outer = EmailMessage()
    outer["Subject"] = "outer"
    outer.set_content("outer words")
    outer.add_attachment(inner)
    mail = _read(outer.as_bytes())
    assert (mail.subject, [file.name for file in mail.attachments]) == ("outer", ["Rés umé.pdf"])
    assert "inner words" in mail.text and "outer words" in mail.text


@given(st.binary(max_size=2_000))
def test_any_bytes_are_a_mail(content: bytes) -> None:
    mail = _read(content)
    assert mail.message_id
    (mail.subject + mail.text + "".join(mail.urls)).encode()  # what a database takes
