"""What a refresh reads again, and what it reuses."""

from datetime import date
from pathlib import Path

import pytest

from planners.personal import PersonalData, index_in_use, personal_tools, refresh_index

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


def _makes(folder: Path, *, zone: str = "UTC", today: date = TODAY) -> bool:
    """Refresh the index; return whether another file has taken its place."""
    index = folder / "index.sqlite"
    before = index.stat().st_ino if index.exists() else 0
    refresh_index(PersonalData.below(folder, zone=zone), index, today=today)
    return index.stat().st_ino != before


def _subjects(folder: Path) -> list[str]:
    with index_in_use(folder / "index.sqlite"):
        return sorted(each["subject"] for each in personal_tools.find_emails()["emails"])


def test_the_index_is_made_anew_when_a_file_is_new_changed_or_gone_and_only_then(folder: Path) -> None:
    assert _makes(folder) and not _makes(folder)
    (folder / "mail" / "INBOX" / "cur" / "2.host:2,").write_text(MAIL.format("two"))  # a copy of one in the mbox
    assert _makes(folder) and _subjects(folder) == ["one", "three", "two"]
    with (folder / "mail" / "old.mbox").open("a") as file:
        file.write(f"{SEPARATOR}{MAIL.format('four')}\n")
    assert _makes(folder) and _subjects(folder) == ["four", "one", "three", "two"]
    (folder / "mail" / "old.mbox").unlink()
    assert _makes(folder) and _subjects(folder) == ["one", "two"]
    assert _makes(folder, zone="Asia/Tokyo") and _makes(folder, zone="Asia/Tokyo", today=date(2027, 1, 1))
    assert [each.name for each in folder.glob(".*")] == [], "nothing is left beside it"
