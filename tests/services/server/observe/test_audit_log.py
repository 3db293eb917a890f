"""The audit log: many writers, one chain; a line that is altered, removed, moved or cut off is found."""

from __future__ import annotations

import errno
import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from ontology.errors import NotFoundError, StorageError
from retrieval.snapshot.publish import published_id
from services.audited import audited
from services.server.observe.audit_check import verify_audit_log
from services.server.observe.audit_log import AuditLog, ChainEnd, head_of, segments_of
from tests.conftest import ROOT
from tests.harness.commands import Run
from tests.harness.waiting import wait_until

WRITER = """
import sys
from pathlib import Path
from services.server.observe.audit_log import AuditLog
log = AuditLog(Path(sys.argv[1]), max_bytes=4000)
for number in range(int(sys.argv[2])):
    log.write("publish", actor=sys.argv[3], subject=str(number))
"""


def filled(path: Path, count: int = 10, max_bytes: int = 1_000_000) -> Path:
    log = AuditLog(path, max_bytes=max_bytes)
    for number in range(count):
        log.write("publish", actor="ann", tenant="acme", subject=f"snapshot-{number}")
    return path


def entries(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for file in segments_of(path) for line in file.read_text("utf-8").splitlines()]


def lines_of(path: Path) -> int:
    """Number of the lines, while others write and rename."""
    try:
        return sum(file.read_bytes().count(b"\n") for file in segments_of(path))
    except FileNotFoundError:
        return 0


def problems(path: Path, **given: Any) -> list[str]:
    return [fault.problem for fault in verify_audit_log(path, **given).faults]


def test_an_entry_says_who_did_what_to_what(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    AuditLog(path).write("rollback", actor="ann", tenant="acme", subject="s1", outcome="SNAPSHOT_CORRUPT", count=3)
    (entry,) = entries(path)
    said = {"action": "rollback", "actor": "ann", "tenant": "acme", "subject": "s1", "outcome": "SNAPSHOT_CORRUPT"}
    assert said.items() <= entry.items()
    assert (entry["n"], entry["count"], entry["previous"]) == (1, 3, "0" * 64)
    assert verify_audit_log(path).end == ChainEnd(1, entry["hash"])
    assert path.stat().st_mode & 0o007 == 0, "others of the machine may not read it"


def test_an_entry_is_one_short_line_without_secrets(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    AuditLog(path).write(
        "call", actor="eve\n{}\u2028\ud800" + "x" * 9_999, subject="https://u:hunter22@host/?key=k123456"
    )
    (line,) = path.read_bytes().splitlines()
    assert len(line) < 3_000 and b"hunter22" not in line and b"k123456" not in line
    assert problems(path) == []


def test_a_log_without_a_file_keeps_nothing(tmp_path: Path) -> None:
    AuditLog(None).write("publish")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(NotFoundError):
        verify_audit_log(tmp_path / "audit.jsonl")


def test_threads_and_processes_write_one_chain_over_many_files(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    command = [sys.executable, "-c", WRITER, str(path), "40"]
    others = [subprocess.Popen([*command, name], cwd=ROOT, text=True) for name in ("ann", "bob")]
    log = AuditLog(path, max_bytes=4_000)
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda number: log.write("publish", actor="eve", subject=str(number)), range(40)))
    assert [other.wait() for other in others] == [0, 0]
    found = entries(path)
    assert [entry["n"] for entry in found] == list(range(1, 121))
    written = {(entry["actor"], entry["subject"]) for entry in found}
    assert written == {(name, str(number)) for name in ("ann", "bob", "eve") for number in range(40)}
    assert len(segments_of(path)) > 5 and all(file.stat().st_size <= 4_000 for file in segments_of(path))
    assert problems(path) == []


def test_a_writer_that_is_killed_loses_no_line_that_it_was_told_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    for _ in range(2):
        before = lines_of(path)
        with subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), "100000", "ann"], cwd=ROOT, text=True
        ) as writer:
            try:
                wait_until(lambda least=before + 20: lines_of(path) >= least, process=writer)  # type: ignore[misc]
            finally:
                writer.kill()
        assert problems(path) == []
    AuditLog(path).write("publish")
    assert problems(path) == []


def test_half_a_line_of_a_writer_that_ended_is_cut(tmp_path: Path) -> None:
    path = filled(tmp_path / "audit.jsonl", 3)
    whole = path.read_bytes()
    path.write_bytes(whole + whole.splitlines()[0][:50])
    AuditLog(path).write("publish", subject="next")
    assert [entry["subject"] for entry in entries(path)][-2:] == ["snapshot-2", "next"]
    assert problems(path) == []


Damage = Callable[[list[bytes]], list[bytes]]
DAMAGES: dict[str, Damage] = {
    "altered": lambda lines: [*lines[:4], lines[4].replace(b"ann", b"bob"), *lines[5:]],
    "altered, same meaning": lambda lines: [*lines[:4], lines[4].replace(b":", b": ", 1), *lines[5:]],
    "removed": lambda lines: lines[:4] + lines[5:],
    "first removed": lambda lines: lines[1:],
    "reordered": lambda lines: [*lines[:4], lines[5], lines[4], *lines[6:]],
    "put in": lambda lines: [*lines[:5], lines[4], *lines[5:]],
    "last removed": lambda lines: lines[:-1],
    "all removed": lambda lines: [],
    "truncated": lambda lines: [*lines[:-1], lines[-1][:40]],
    "garbage": lambda lines: [*lines[:4], b"\xff\x00 [[[\n", *lines[4:]],
    "deep": lambda lines: [*lines[:4], b"[" * 100_000 + b"\n", *lines[4:]],
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("written_after", [False, True])
def test_damage_is_found_and_stays_found(tmp_path: Path, damage: str, written_after: bool) -> None:
    path = filled(tmp_path / "audit.jsonl")
    path.write_bytes(b"".join(DAMAGES[damage](path.read_bytes().splitlines(keepends=True))))
    if written_after:
        AuditLog(path).write("publish", subject="after")
    assert problems(path)


def test_every_flipped_bit_is_found(tmp_path: Path) -> None:
    path = filled(tmp_path / "audit.jsonl", 4)
    whole = path.read_bytes()
    chosen = random.Random(14)
    for _ in range(150):
        flipped = bytearray(whole)
        flipped[chosen.randrange(len(whole))] ^= 1 << chosen.randrange(8)
        path.write_bytes(flipped)
        assert problems(path), bytes(flipped)


def test_a_missing_file_of_the_log_is_found_unless_it_was_moved_away(tmp_path: Path) -> None:
    path = filled(tmp_path / "audit.jsonl", 30, max_bytes=2_000)
    oldest, second, *_ = segments_of(path)
    after_oldest = int(oldest.suffix[1:]) + 1
    oldest.rename(tmp_path / "elsewhere")
    assert problems(path) == [f"entry {after_oldest} follows entry 0"]
    assert problems(path, first=after_oldest) == []
    second.unlink()
    assert problems(path, first=after_oldest)


def test_a_chain_that_was_made_anew_is_found_by_an_entry_that_was_noted(tmp_path: Path) -> None:
    path = filled(tmp_path / "audit.jsonl")
    noted = verify_audit_log(path).end
    for file in (path, head_of(path)):
        file.unlink()
    assert problems(filled(path), known=noted) == ["entry 10 is another one than was noted"]
    for file in (path, head_of(path)):
        file.unlink()
    assert problems(filled(path, 4), known=noted) == ["the lines 5 to 10 are missing at the end"]
    head_of(path).unlink()
    assert problems(path) == ["the file .head is missing, so that a cut at the end cannot be seen"]


def test_a_full_disk_is_an_error_and_leaves_the_log_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = filled(tmp_path / "audit.jsonl", 3)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    for call in ("pwrite", "fsync"):
        with monkeypatch.context() as patched:
            patched.setattr(os, call, full)
            with pytest.raises(StorageError, match="No space left"):
                AuditLog(path).write("publish", subject="lost")
        assert len(entries(path)) == 3 and problems(path) == []


def test_the_command_says_what_is_wrong_and_ends_with_its_code(tmp_path: Path, run: Run) -> None:
    path = filled(tmp_path / "audit.jsonl")
    last = entries(path)[-1]["hash"]
    code, out, err = run("audit", "verify", path)
    assert (code, out, err) == (0, f"10 entries in 1 files; the last is 10:{last}\n", "")
    assert run("audit", "verify", path, "--known", f"10:{last}")[0] == 0
    assert run("audit", "verify", path, "--known", f"11:{last}")[0] == 24
    assert run("audit", "verify", path, "--known", "ten")[0] == 2
    assert run("audit", "verify", tmp_path / "none")[0] == 7
    path.write_bytes(path.read_bytes().replace(b"snapshot-3", b"snapshot-4"))
    code, _, err = run("audit", "verify", path)
    assert code == 24 and f"{path}:4: entry 4 was altered" in err
    code, out, _ = run("audit", "verify", path, "--json")
    assert code == 24 and json.loads(out)["faults"] == [{"place": f"{path}:4", "problem": "entry 4 was altered"}]


def test_commands_that_change_what_is_served_are_in_the_log(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, store = tmp_path / "audit.jsonl", tmp_path / "store"
    document = ROOT / "examples" / "enterprise" / "catalog" / "procurement.yaml"
    build = ("build", document, "--out", store, "--encoder", "hashing.v1", "--json")
    assert run(*build, "--no-publish")[0] == 0 and not path.exists()
    monkeypatch.setenv("EGOTOOLS_AUDIT_LOG", str(path))
    assert run(*build, "--no-publish")[0] == 0 and not path.exists()
    assert run(*build)[0] == 0
    assert run("rollback", "0123456789abcdef", "--store", store)[0] == 7
    found = entries(path)
    assert [(entry["action"], entry["outcome"]) for entry in found] == [
        ("publish", "begun"),
        ("publish", "done"),
        ("rollback", "begun"),
        ("rollback", "NOT_FOUND"),
    ]
    subjects = [str(store), f"{store} {published_id(store)}", str(store), str(store)]
    assert [entry["subject"] for entry in found] == subjects and all(entry["actor"] for entry in found)
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("EGOTOOLS_AUDIT_LOG", str(tmp_path / "file" / "audit.jsonl"))
    assert run("rollback", "--store", store)[0] == StorageError.exit_code


def test_what_a_command_found_no_better_is_unchanged_and_what_it_published_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "audit.jsonl"
    monkeypatch.setenv("EGOTOOLS_AUDIT_LOG", str(path))
    for snapshot_id in ("", "0123456789abcdef"):
        with audited("publish", "store") as change:
            change.published(snapshot_id)
    assert [(entry["subject"], entry["outcome"]) for entry in entries(path)] == [
        ("store", "begun"),
        ("store", "unchanged"),
        ("store", "begun"),
        ("store 0123456789abcdef", "done"),
    ]
