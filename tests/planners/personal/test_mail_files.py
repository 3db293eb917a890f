"""Splitting an mbox against the mailbox module of the standard library."""

import mailbox
from pathlib import Path

import pytest

from planners.personal.mail import mbox_mails, single_mail


def _write(path: Path, texts: list[list[str]]) -> None:
    path.unlink(missing_ok=True)
    box = mailbox.mbox(path)
    try:
        for number, lines in enumerate(texts):
            box.add(f"Subject: {number}\n\n" + "\n".join(lines) + "\n")
    finally:
        box.close()


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
    _write(path, [["small"], ["x" * 1_000] * 34_000, ["last"]])
    small, large, last = mbox_mails(path)
    assert [each.size > len(each.content) for each in (small, large, last)] == [False, True, False]
    assert large.content == b"Subject: 1"
    assert large.size > 34_000_000 > len(large.content)
    one = tmp_path / "one"
    one.write_bytes(b"Subject: x\n\n" + b"x" * 2**26)
    alone = single_mail(one)
    assert alone.size > 2**26 > len(alone.content)
