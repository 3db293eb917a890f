"""The audit log: many writers, one JSON line an entry, none lost over several files."""

from __future__ import annotations

import fcntl
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from ontology.errors import StorageError
from services.server.observe.audit_log import AuditLog
from tests.conftest import ROOT

WRITER = """
import sys
from pathlib import Path
from services.server.observe.audit_log import AuditLog
log = AuditLog(Path(sys.argv[1]), max_bytes=4000)
for number in range(40):
    log.write("publish", actor=sys.argv[2], subject=str(number))
"""


def entries(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for file in path.parent.glob(f"{path.name}*") for line in file.read_text().splitlines()]


def test_an_entry_is_one_short_line_without_secrets(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    actor = "eve\n{}\u2028\ud800" + "x" * 9_999
    AuditLog(path).write("call", actor=actor, tenant="acme", subject="https://u:hunter22@host/?key=k123456", count=3)
    AuditLog(None).write("publish")
    (line,) = path.read_bytes().splitlines()
    assert len(line) < 3_000 and b"hunter22" not in line and b"k123456" not in line
    assert {"action": "call", "tenant": "acme", "outcome": "done", "count": 3}.items() <= json.loads(line).items()
    assert path.stat().st_mode & 0o007 == 0, "others of the machine may not read it"


def test_threads_and_processes_write_one_log_over_many_files(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    others = [subprocess.Popen([sys.executable, "-c", WRITER, str(path), name], cwd=ROOT) for name in ("ann", "bob")]
    log = AuditLog(path, max_bytes=4_000)
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda number: log.write("publish", actor="eve", subject=str(number)), range(40)))
    assert [other.wait() for other in others] == [0, 0]
    written = [(entry["actor"], entry["subject"]) for entry in entries(path)]
    assert sorted(written) == sorted((name, str(number)) for name in ("ann", "bob", "eve") for number in range(40))
    assert len(list(tmp_path.iterdir())) > 3 and all(file.stat().st_size <= 4_000 for file in tmp_path.iterdir())


def test_a_torn_line_spoils_no_later_one(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    path.write_text('{"action": "pub', encoding="utf-8")
    AuditLog(path).write("rollback")
    assert json.loads(path.read_text().splitlines()[-1])["action"] == "rollback"


def test_a_lock_that_another_holds_is_an_error_with_its_remedy(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    with path.open("a") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(StorageError, match="lsof"):
            AuditLog(path, lock_s=0.01).write("publish")
