"""Splitting an mbox against the mailbox module of the standard library."""

from __future__ import annotations

import mailbox
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planners.personal import mail_files
from planners.personal.mail_files import mbox_mails, single_mail
from tests.harness.waiting import bounded_work

LINES = st.lists(
    st.one_of(
        st.sampled_from(["", "From now on", "From me at 10:15, or so", ">From x", "x" * 700, "Fro", "From"]),
        st.text(st.characters(codec="ascii", exclude_characters="\r\n\x00"), max_size=60),
    ),
    max_size=12,
)


def _write(path: Path, texts: list[list[str]]) -> None:
    path.unlink(missing_ok=True)
    box = mailbox.mbox(path)
    try:
        for number, lines in enumerate(texts):
            box.add(f"Subject: {number}\n\n" + "\n".join(lines) + "\n")
    finally:
        box.close()


@given(st.lists(LINES, max_size=6), st.sampled_from([7, 64, 2**20]))
def test_the_messages_are_those_of_the_standard_library(
    tmp_path_factory: pytest.TempPathFactory, texts: list[list[str]], chunk: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "split.mbox"
    _write(path, texts)
    box = mailbox.mbox(path)
    wanted = [box.get_bytes(key) for key in box.keys()]
    box.close()
    seen = bytearray()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mail_files, "_CHUNK", chunk)
        mails = list(mbox_mails(path, 0, seen.extend))
    assert [mail.content for mail in mails] == wanted
    assert bytes(seen) == path.read_bytes()
    # From the position of any message on, the rest is read.
    for at, mail in enumerate(mails):
        assert [each.content for each in mbox_mails(path, mail.position, seen.extend)] == wanted[at:]


def test_of_a_message_that_is_too_large_the_beginning_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mail_files, "MAX_MESSAGE_BYTES", 2**20)
    path = tmp_path / "large.mbox"
    _write(path, [["small"], ["x" * 1_000] * 2_000, ["last"]])
    small, large, last = mbox_mails(path, 0, lambda _: None)
    assert (small.cut, large.cut, last.cut) == (False, True, False)
    assert large.content.startswith(b"Subject: 1\n\nxxx")
    assert large.size > 2_000_000 > len(large.content)
    one = tmp_path / "one"
    one.write_bytes(b"Subject: x\n\n" + b"x" * 2**21)
    assert single_mail(one, lambda _: None).cut


def test_lines_without_end_take_time_that_grows_with_their_length(tmp_path: Path) -> None:
    path = tmp_path / "long.mbox"
    path.write_bytes(
        b"From x Mon Jun  1 10:00:00 2026\nSubject: x\n\n" + b"From " * 4_000_000 + b"\n" + b"From 1:" * 1_000_000
    )
    with bounded_work():
        assert len(list(mbox_mails(path, 0, lambda _: None))) == 1
