"""Generated personal data: the same each time, real MIME, and with everything that makes it hard."""

import email
import hashlib
import mailbox
from email.policy import default
from pathlib import Path

import pytest

from benchmarks.personal import TruthTables, write_personal_data
from benchmarks.personal.write_personal_data import TRUTH


def _digest(folder: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            digest.update(str(path.relative_to(folder)).encode() + b"\n" + path.read_bytes())
    return digest.hexdigest()


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("personal")
    write_personal_data(folder, messages=50, seed=3)
    return folder


def test_the_same_seed_gives_the_same_bytes(home: Path, tmp_path: Path) -> None:
    truth = write_personal_data(tmp_path / "again", messages=50, seed=3)
    assert _digest(tmp_path / "again") == _digest(home)
    assert TruthTables.read(home / TRUTH) == truth
    write_personal_data(tmp_path / "other", messages=50, seed=4)
    assert _digest(tmp_path / "other") != _digest(home)
    with pytest.raises(FileExistsError):
        write_personal_data(home, messages=50)


def test_the_mails_are_sound_mime_and_of_every_kind(home: Path) -> None:
    inbox, archive = mailbox.Maildir(home / "mail" / "INBOX"), mailbox.mbox(home / "mail" / "archive.mbox")
    contents = [box.get_bytes(key) for box in (inbox, archive) for key in box.keys()]
    archive.close()
    mails = [email.message_from_bytes(content, policy=default) for content in contents]
    assert len({mail["Message-ID"] for mail in mails}) == 50 < len(mails)
    assert [part.defects for mail in mails for part in mail.walk() if part.defects] == []
    types = {part.get_content_type() for mail in mails for part in mail.walk()}
    assert types >= {"text/plain", "text/html", "multipart/alternative", "multipart/mixed", "message/rfc822"}
    assert any("=?" in line for content in contents for line in content.decode("ascii", "replace").splitlines())
    assert any(mail["In-Reply-To"] for mail in mails)
    assert any(mail["Delivered-To"] for mail in mails)
