"""What a refresh reads again, and what it reuses."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import date
from pathlib import Path

import pytest

from ontology.errors import StorageError
from planners.personal import PersonalData, index_in_use, index_tables, personal_tools, refresh_index
from planners.personal.entity_links import link_entities
from planners.personal.index_faults import IndexReport
from planners.personal.mail_files import RawMail, mbox_mails
from tests.conftest import ROOT
from tests.planners.personal.conftest import Home

TODAY = date(2026, 6, 15)
MAIL = "From: ann@example.com\nSubject: {0}\nDate: Mon, 1 Jun 2026 10:00:00 +0000\nMessage-ID: <{0}@x>\n\nText of {0}\n"
SEPARATOR = "From ann@example.com Mon Jun  1 10:00:00 2026\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("mail/INBOX/cur", "mail/INBOX/new", "files/a"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "mail" / "INBOX" / "new" / "1.host").write_text(MAIL.format("one"))
    (tmp_path / "mail" / "old.mbox").write_text(
        "".join(f"{SEPARATOR}{MAIL.format(name)}\n" for name in ("two", "three"))
    )
    return tmp_path


def _refresh(folder: Path, *, zone: str = "UTC", today: date = TODAY) -> IndexReport:
    return refresh_index(PersonalData.below(folder, zone=zone), folder / "index.sqlite", today=today)


def _subjects(folder: Path) -> list[str]:
    with index_in_use(folder / "index.sqlite"):
        return sorted(each["subject"] for each in personal_tools.find_emails()["emails"])


def test_nothing_is_read_again_when_nothing_changed(folder: Path) -> None:
    first = _refresh(folder)
    assert (first.read, first.reused) == (2, 0)
    again = _refresh(folder)
    assert (again.read, again.reused, again.removed, again.entities) == (0, 2, 0, first.entities)


def test_a_file_that_was_only_touched_is_reused(folder: Path) -> None:
    _refresh(folder)
    for path in (folder / "mail" / "old.mbox", folder / "mail" / "INBOX" / "new" / "1.host"):
        os.utime(path, ns=(1, 1))
    report = _refresh(folder)
    assert (report.read, report.reused) == (0, 2)


def test_a_mail_that_is_moved_and_flagged_is_the_same_file(folder: Path) -> None:
    _refresh(folder)
    shutil.move(folder / "mail" / "INBOX" / "new" / "1.host", folder / "mail" / "INBOX" / "cur" / "1.host:2,S")
    report = _refresh(folder)
    assert (report.read, report.reused, report.removed) == (0, 2, 0)


def test_of_an_mbox_that_grew_only_the_new_part_is_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _refresh(folder)
    starts: list[int] = []

    def watched(path: Path, start: int, seen: Callable[[bytes], object]) -> Iterator[RawMail]:
        starts.append(start)
        return mbox_mails(path, start, seen)

    monkeypatch.setattr(sys.modules["planners.personal.refresh_index"], "mbox_mails", watched)
    path = folder / "mail" / "old.mbox"
    size = path.stat().st_size
    with path.open("a") as file:
        file.write(f"{SEPARATOR}{MAIL.format('four')}\n")
    report = _refresh(folder)
    assert (report.read, starts) == (1, [size])
    assert _subjects(folder) == ["four", "one", "three", "two"]
    again = _refresh(folder)
    assert (again.read, again.reused) == (0, 2)


def test_a_mail_that_was_read_while_it_was_written_is_read_again(folder: Path) -> None:
    path = folder / "mail" / "old.mbox"
    whole = path.read_text()
    path.write_text(whole[:-8])  # in the middle of the last text
    _refresh(folder)
    with index_in_use(folder / "index.sqlite"):
        assert personal_tools.count_emails(content_contains="Text of three") == 0
    path.write_text(whole)
    _refresh(folder)
    with index_in_use(folder / "index.sqlite"):
        assert personal_tools.count_emails(content_contains="Text of three") == 1
        assert personal_tools.count_emails() == 3


def test_a_changed_mbox_is_read_as_it_is_now(folder: Path) -> None:
    _refresh(folder)
    (folder / "mail" / "old.mbox").write_text(f"{SEPARATOR}{MAIL.format('five')}\n" * 1)
    assert _refresh(folder).read == 1
    assert _subjects(folder) == ["five", "one"]


def test_what_is_gone_is_forgotten_and_another_copy_takes_its_place(folder: Path) -> None:
    (folder / "mail" / "INBOX" / "cur" / "2.host:2,").write_text(MAIL.format("two"))  # a copy of one in the mbox
    _refresh(folder)
    assert _subjects(folder) == ["one", "three", "two"]
    (folder / "mail" / "old.mbox").unlink()
    assert _refresh(folder).removed == 1
    assert _subjects(folder) == ["one", "two"]


def test_a_first_index_that_was_cut_off_is_completed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = sys.modules["planners.personal.refresh_index"]

    def cut_off(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(module, "_FILES_A_COMMIT", 1)
        patch.setattr(module, "link_entities", cut_off)
        with pytest.raises(KeyboardInterrupt):
            _refresh(folder)
    assert _subjects(folder) == [], "nothing is shown that is not complete"
    report = _refresh(folder)
    assert (report.read, report.reused) == (0, 2)
    assert _subjects(folder) == ["one", "three", "two"]


def test_readers_see_the_old_state_until_a_refresh_is_complete(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _refresh(folder)
    (folder / "mail" / "old.mbox").unlink()
    module, seen = sys.modules["planners.personal.refresh_index"], []

    def watched(db: sqlite3.Connection) -> None:
        seen.append(_subjects(folder))
        link_entities(db)

    with monkeypatch.context() as patch:
        patch.setattr(module, "_FILES_A_COMMIT", 1)
        patch.setattr(module, "link_entities", watched)
        _refresh(folder)
    assert seen == [["one", "three", "two"]]
    assert _subjects(folder) == ["one"]


def test_two_refreshes_at_once_are_one_and_a_named_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _refresh(folder)
    monkeypatch.setattr(index_tables, "_WAIT_S", 0.01)
    with closing(sqlite3.connect(folder / "index.sqlite")) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StorageError, match="locked"):
            _refresh(folder)
    assert _refresh(folder).reused == 2


_REFRESH = """
import sys, time
from datetime import date
from pathlib import Path
from planners.personal import PersonalData, refresh_index
folder, zone, held = Path(sys.argv[1]), sys.argv[2], sys.argv[3] == "hold"
if held:
    module = sys.modules["planners.personal.refresh_index"]
    module._FILES_A_COMMIT = 1
    module.link_entities = lambda db: (print("read", flush=True), time.sleep(600))
for _ in range(1 if held else 5):
    refresh_index(PersonalData.below(folder, zone=zone), folder / "index.sqlite", today=date(2026, 6, 15))
"""


def _process(folder: Path, zone: str, hold: str = "") -> subprocess.Popen[str]:
    command = [sys.executable, "-c", _REFRESH, str(folder), zone, hold]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_a_first_index_whose_process_was_killed_is_completed(folder: Path) -> None:
    with _process(folder, "UTC", "hold") as process:
        assert process.stdout is not None and process.stdout.readline() == "read\n"
        process.kill()
    assert _subjects(folder) == [], "nothing is shown that is not complete"
    report = _refresh(folder)
    assert (report.read, report.reused) == (0, 2)
    assert _subjects(folder) == ["one", "three", "two"]


def test_processes_that_refresh_one_index_at_once_leave_it_whole(folder: Path) -> None:
    """Two with the same zone, and one with another, which makes the index anew each time."""
    for process in [_process(folder, zone) for zone in ("UTC", "UTC", "Asia/Tokyo")]:
        _, told = process.communicate()
        assert process.returncode == 0 or "the index cannot be written: database is locked" in told, told
    with closing(sqlite3.connect(folder / "index.sqlite")) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert _refresh(folder).entities["Email"] == 3
    assert _refresh(folder).reused == 2
    assert _subjects(folder) == ["one", "three", "two"]


def test_a_reader_keeps_its_state_while_the_index_is_made_anew(folder: Path) -> None:
    _refresh(folder)
    with closing(sqlite3.connect(folder / "index.sqlite")) as reader:
        reader.execute("BEGIN")
        assert reader.execute("SELECT count(*) FROM email").fetchone() == (3,)
        assert _refresh(folder, zone="Asia/Tokyo").read == 2
        assert reader.execute("SELECT count(*), (SELECT value FROM about) FROM email").fetchone()[0] == 3
        reader.rollback()
        assert "Asia/Tokyo" in reader.execute("SELECT value FROM about").fetchone()[0]


def test_another_time_zone_or_a_later_year_makes_the_index_anew(folder: Path) -> None:
    _refresh(folder)
    assert _refresh(folder, zone="Asia/Tokyo").read == 2
    assert _refresh(folder, zone="Asia/Tokyo", today=date(2026, 12, 31)).read == 0
    assert _refresh(folder, zone="Asia/Tokyo", today=date(2027, 1, 1)).read == 2


def test_faults_are_reported_again_until_the_file_is_mended(folder: Path) -> None:
    broken = folder / "mail" / "INBOX" / "cur" / "3.host"
    broken.write_text(MAIL.format("three").replace("Mon, 1 Jun", "Mon, 99 Jun"))
    first = _refresh(folder)
    assert any("impossible date" in fault.problem for fault in first.faults)
    assert _refresh(folder).faults == first.faults
    broken.write_text(MAIL.format("three"))
    assert not any("impossible date" in fault.problem for fault in _refresh(folder).faults)


def test_the_folder_of_an_attachment_follows_the_disk(home: Home, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(home.folder, folder, ignore=shutil.ignore_patterns("index.sqlite*"))
    _refresh(folder)
    edge = home.truth.pairs("File", "parent", "Folder")
    attached = sorted(
        (file, where) for file, where in edge if home.truth.entities["File"][file]["kind"] == "attachment"
    )
    with index_in_use(folder / "index.sqlite"):
        before = personal_tools.list_folders_of_files([file for file, _ in attached])["folders"]
        assert sorted((each["source_id"], each["id"]) for each in before) == attached
        shutil.rmtree(folder / "files")
        (folder / "files").mkdir()
        _refresh(folder)
        assert personal_tools.list_folders_of_files([file for file, _ in attached])["folders"] == []
        assert personal_tools.count_files() == sum(
            file["kind"] == "attachment" for file in home.truth.entities["File"].values()
        )
