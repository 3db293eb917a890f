"""The audit log: one JSON line an entry, from many writers; changes before and after them."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from ontology.errors import StorageError
from services.server.calls import Caller, CallRecord
from services.server.observe.audit_log import AUDITED_METHODS, AuditLog, AuditTrail
from services.server.observe.metrics import METHODS
from tests.conftest import ROOT

PUBLISH = CallRecord(method="Publish", tenant="acme", caller=Caller(name="ann"), log_fields={"snapshot_id": "s2"})
WRITER = """
import sys
from pathlib import Path
from services.server.observe.audit_log import AuditLog
log = AuditLog(Path(sys.argv[1]))
for number in range(40):
    log.write("publish", actor=sys.argv[2], subject=str(number))
"""


def entries(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def said(path: Path, *names: str) -> list[tuple[Any, ...]]:
    return [tuple(entry[name] for name in names) for entry in entries(path)]


def test_an_entry_is_one_short_line_without_secrets(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    path.write_text('{"action": "pub', encoding="utf-8")  # a torn line spoils no later one
    actor = "eve\n{}\u2028\ud800" + "x" * 9_999
    AuditLog(path).write("call", actor=actor, tenant="acme", subject="https://u:hunter22@host/?key=k123456")
    AuditLog(None).write("publish")
    AuditLog(tmp_path / "new").write("publish")
    _, line = path.read_bytes().splitlines()
    assert len(line) < 3_000 and b"hunter22" not in line and b"k123456" not in line
    assert {"action": "call", "tenant": "acme", "outcome": "done"}.items() <= json.loads(line).items()
    assert (tmp_path / "new").stat().st_mode & 0o007 == 0, "others of the machine may not read it"


def test_threads_and_processes_write_one_log(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    others = [subprocess.Popen([sys.executable, "-c", WRITER, str(path), name], cwd=ROOT) for name in ("ann", "bob")]
    log = AuditLog(path)
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda number: log.write("publish", actor="eve", subject=str(number)), range(40)))
    assert [other.wait() for other in others] == [0, 0]
    expected = sorted((name, str(number)) for name in ("ann", "bob", "eve") for number in range(40))
    assert sorted(said(path, "actor", "subject")) == expected


async def test_a_change_has_an_entry_before_it_and_one_after_it(tmp_path: Path) -> None:
    path, names = tmp_path / "audit.jsonl", ("action", "actor", "tenant", "subject", "outcome")
    trail = AuditTrail(AuditLog(path))
    await trail.begin(PUBLISH, "s2")
    assert said(path, *names) == [("publish", "ann", "acme", "s2", "begun")]
    await trail.end(PUBLISH, "DATA_LOSS")
    await trail.begin(CallRecord(method="Retrieve"))
    await trail.end(CallRecord(method="Retrieve"), "OK")
    assert said(path, *names)[1:] == [("publish", "ann", "acme", "s2", "DATA_LOSS")]
    assert set(AUDITED_METHODS) <= METHODS


async def test_a_log_that_cannot_be_written_lets_no_change_begin_and_is_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    trail = AuditTrail(AuditLog(tmp_path / "file" / "audit.jsonl"))
    with pytest.raises(StorageError):
        await trail.begin(PUBLISH, "s2")
    with caplog.at_level(logging.ERROR):
        await trail.end(PUBLISH, "OK")
        await trail.close()
    assert caplog.text.count("the audit log cannot be written") == 1
