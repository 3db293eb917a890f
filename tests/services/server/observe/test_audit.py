"""The audit log: one JSON line an entry, from many writers; nothing is changed where it cannot be written."""

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from ontology.errors import StorageError
from services.server.calls import Caller, CallRecord
from services.server.observe.audit_log import AuditLog

PUBLISH = CallRecord(method="Publish", tenant="acme", caller=Caller(name="ann"), log_fields={"snapshot_id": "s2"})


def entries(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def said(path: Path, *names: str) -> list[tuple[Any, ...]]:
    return [tuple(entry[name] for name in names) for entry in entries(path)]


async def test_an_entry_is_one_short_line_without_secrets(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    path.write_text('{"action": "pub', encoding="utf-8")  # a torn line spoils no later one
    named = "eve\n{}\u2028\ud800" + "x" * 9_999
    for file in (path, None, tmp_path / "new"):
        log = AuditLog(file)
        log.note("swap", tenant=named, subject="https://u:hunter22@host/?key=k123456")
        await log.close()
    _, line = path.read_bytes().splitlines()
    assert len(line) < 3_000 and b"hunter22" not in line and b"k123456" not in line
    assert {"action": "swap", "actor": "server", "outcome": "done"}.items() <= json.loads(line).items()
    assert (tmp_path / "new").stat().st_mode & 0o007 == 0, "others of the machine may not read it"


async def test_several_servers_write_one_log(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    logs = [AuditLog(path) for _ in range(3)]
    for number in range(40):
        for tenant, log in enumerate(logs):
            log.note("swap", tenant=str(tenant), subject=str(number))
    for log in logs:
        await log.close()
    expected = sorted((str(tenant), str(number)) for tenant in range(3) for number in range(40))
    assert sorted(said(path, "tenant", "subject")) == expected


async def test_a_log_that_cannot_be_written_lets_no_change_begin_and_is_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    trail = AuditLog(tmp_path / "file" / "audit.jsonl")
    with pytest.raises(StorageError):
        await trail.begin(PUBLISH, "s2")
    with caplog.at_level(logging.ERROR):
        await trail.end(PUBLISH, "OK")
        await trail.close()
    assert caplog.text.count("the audit log cannot be written") == 1
