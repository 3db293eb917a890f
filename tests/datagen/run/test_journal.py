"""The journal: what is kept survives a kill, a torn line and a damaged one; a folder has one writer."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from datagen.interfaces import GeneratedText
from datagen.run.journal import Outcome, open_journal
from datagen.synthetic_request import RejectedRequest, SampleValue, Verdict
from ontology.digests import config_hash
from ontology.errors import StorageError

CONFIG = {"snapshot": "s1", "steps": {"generator": ["rules.v1"]}}
DRAFT = Outcome(
    generated=GeneratedText(text="Who’s paid? \ud83d", values=(SampleValue(tool="a", parameter="p", value="Ann"),)),
    verdicts=(Verdict(check="class", passed=True, reason="it asks one thing", by="rules.v1"),),
)
REJECTED = Outcome(
    generated=RejectedRequest(
        stage="generate", subject=("a", "b"), reason="nothing joins them", request_class="multi-intent"
    )
)


def journal_file(folder: Path) -> Path:
    return folder / "journal" / f"{config_hash(CONFIG)}.jsonl"


def keep(folder: Path, **outcomes: Outcome) -> None:
    with open_journal(folder, CONFIG) as journal:
        for key, outcome in outcomes.items():
            journal.keep(key, outcome)
        journal.settle()


@pytest.mark.parametrize("outcome", [DRAFT, REJECTED], ids=["text", "rejection"])
def test_what_was_kept_is_found_again(tmp_path: Path, outcome: Outcome) -> None:
    keep(tmp_path, one=outcome)
    with open_journal(tmp_path, CONFIG) as journal:
        assert journal.get("one") == outcome
        assert journal.get("two") is None


@pytest.mark.parametrize("cut", [1, 20, 60])
def test_a_torn_last_line_is_dropped_and_written_over(
    tmp_path: Path, cut: int, caplog: pytest.LogCaptureFixture
) -> None:
    keep(tmp_path, one=DRAFT, two=REJECTED)
    path = journal_file(tmp_path)
    path.write_bytes(path.read_bytes()[:-cut])
    with open_journal(tmp_path, CONFIG) as journal:
        assert (journal.get("one"), journal.get("two")) == (DRAFT, None)
        journal.keep("two", REJECTED)
        journal.settle()
    assert "torn" in caplog.text
    with open_journal(tmp_path, CONFIG) as journal:
        assert (journal.get("one"), journal.get("two")) == (DRAFT, REJECTED)


DEEP = b'{"key":"one","generated":' + b"[" * 100_000 + b"]" * 100_000 + b"}"


@pytest.mark.parametrize(
    "damage", [b"not json", b"[]", b'{"key": "one"}', b"\xff\xff", b'{"key":"one","generated":{}}', DEEP]
)
def test_a_damaged_line_costs_that_line_alone(tmp_path: Path, damage: bytes) -> None:
    keep(tmp_path, one=DRAFT, two=REJECTED)
    path = journal_file(tmp_path)
    lines = path.read_bytes().split(b"\n")
    path.write_bytes(b"\n".join([lines[0], damage, *lines[2:]]))
    with open_journal(tmp_path, CONFIG) as journal:
        assert (journal.get("one"), journal.get("two")) == (None, REJECTED)


def test_a_journal_that_is_no_file_is_a_typed_error(tmp_path: Path) -> None:
    path = journal_file(tmp_path)
    path.parent.mkdir(parents=True)
    os.mkfifo(path)
    with pytest.raises(StorageError, match="not a regular file") as caught, open_journal(tmp_path, CONFIG):
        raise AssertionError("it cannot be opened")
    assert caught.value.subject == str(path)


def test_what_was_rejected_counts_once_something_else_was_not(tmp_path: Path) -> None:
    with open_journal(tmp_path, CONFIG) as journal:
        journal.keep("rejected", REJECTED)
        assert journal.get("rejected") is None
        journal.keep("made", DRAFT)
        assert (journal.get("rejected"), journal.get("made")) == (REJECTED, DRAFT)
        journal.keep("as it died", REJECTED)
    with open_journal(tmp_path, CONFIG) as journal:
        assert (journal.get("rejected"), journal.get("made"), journal.get("as it died")) == (REJECTED, DRAFT, None)


def test_another_configuration_starts_anew_and_the_old_one_is_kept(tmp_path: Path) -> None:
    keep(tmp_path, one=DRAFT)
    with open_journal(tmp_path, {**CONFIG, "snapshot": "s2"}) as journal:
        assert journal.get("one") is None
    with open_journal(tmp_path, CONFIG) as journal:
        assert journal.get("one") == DRAFT


def test_a_disk_that_rejects_is_a_typed_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_file: int, _rest: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with open_journal(tmp_path, CONFIG) as journal:
        with monkeypatch.context() as patched:
            patched.setattr(os, "write", full)
            with pytest.raises(StorageError, match="No space left"):
                journal.keep("one", DRAFT)
        assert journal.get("one") is None
