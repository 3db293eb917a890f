"""Refusals come in floods: they are counted, never waited for, and not lost when the server stops."""

from __future__ import annotations

import json
import logging
import threading
from pathlib import Path

import pytest

from services.server.observe.audit_log import AuditLog, AuditQueue
from tests.harness.waiting import wait_until


def lines(path: Path) -> list[tuple[str, str, int]]:
    found = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return [(entry["actor"], entry["subject"], entry["count"]) for entry in found]


def test_the_same_refusal_is_one_line_with_its_count(tmp_path: Path) -> None:
    queue = AuditQueue(AuditLog(tmp_path / "audit.jsonl"), every_s=600)
    for _ in range(5_000):
        queue.add("call", actor="eve", subject="Publish", outcome="PERMISSION_DENIED")
    queue.add("call", actor="bob", subject="Publish", outcome="PERMISSION_DENIED")
    queue.close()
    assert lines(tmp_path / "audit.jsonl") == [("eve", "Publish", 5_000), ("bob", "Publish", 1)]


def test_a_flood_of_different_refusals_is_bounded(tmp_path: Path) -> None:
    queue = AuditQueue(AuditLog(tmp_path / "audit.jsonl"), every_s=600, most=3)
    for number in range(100):
        queue.add("call", actor=f"eve{number}", subject="Publish", outcome="UNAUTHENTICATED")
    queue.close()
    assert lines(tmp_path / "audit.jsonl") == [
        ("eve0", "Publish", 1),
        ("eve1", "Publish", 1),
        ("eve2", "Publish", 1),
        ("", "other", 97),
    ]


def test_a_flood_that_lasts_is_written_less_and_less_often(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    queue = AuditQueue(AuditLog(path), every_s=0.01, longest_s=600)

    def flooded() -> bool:
        for _ in range(50):
            queue.add("call", actor="eve")
        return path.exists() and sum(count for *_, count in lines(path)) >= 5_000

    wait_until(flooded)
    queue.close()
    assert len(lines(path)) < 15


def test_the_thread_ends_when_nothing_is_left_and_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    queue = AuditQueue(AuditLog(path), every_s=0.001)
    for written in (1, 2):
        queue.add("call", subject=str(written))
        wait_until(lambda: not any(thread.name == "egotools-audit" for thread in threading.enumerate()))
        assert len(lines(path)) == written


def test_a_log_that_cannot_be_written_is_said_and_stops_nobody(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    queue = AuditQueue(AuditLog(tmp_path / "file" / "audit.jsonl"))
    with caplog.at_level(logging.ERROR):
        queue.add("call", subject="Publish")
        queue.close()
    assert "the audit log cannot be written" in caplog.text
    AuditQueue(AuditLog(None)).add("call")
