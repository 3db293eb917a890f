"""What a server does is in its audit log: changes before they begin and when they have ended, swaps, denials."""

from __future__ import annotations

import asyncio
import fcntl
import json
import logging
from pathlib import Path

import pytest

from ontology.errors import StorageError
from services.server.caller import Caller, CallRecord
from services.server.observe.audit_log import AUDITED_METHODS, AuditLog, AuditTrail
from services.server.observe.prometheus_metrics import METHODS
from tests.services.server.memory_engine import SNAPSHOT_ID, serving, small_settings
from tests.services.server.observe.scraping import samples

PUBLISH = CallRecord(method="Publish", tenant="acme", caller=Caller(name="ann"), log_fields={"snapshot_id": "s2"})


def entries(path: Path) -> list[tuple[str, ...]]:
    found = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return [tuple(entry[name] for name in ("action", "actor", "tenant", "subject", "outcome")) for entry in found]


async def test_a_change_has_an_entry_before_it_and_one_after_it(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    trail = AuditTrail(AuditLog(path))
    await trail.begin(PUBLISH, "s2")
    assert entries(path) == [("publish", "ann", "acme", "s2", "begun")]
    await trail.end(PUBLISH, "DATA_LOSS")
    await trail.begin(CallRecord(method="Retrieve"))
    await trail.end(CallRecord(method="Retrieve"), "OK")
    assert entries(path)[1:] == [("publish", "ann", "acme", "s2", "DATA_LOSS")]


async def test_a_change_that_cannot_be_noted_is_not_made_and_one_that_was_made_is_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    trail = AuditTrail(AuditLog(tmp_path / "file" / "audit.jsonl"))
    with pytest.raises(StorageError):
        await trail.begin(PUBLISH, "s2")
    with caplog.at_level(logging.ERROR):
        await trail.end(PUBLISH, "OK")
    assert "the audit log cannot be written" in caplog.text


async def test_who_holds_the_lock_of_the_log_has_changes_refused_but_holds_up_no_other_work(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    trail = AuditTrail(AuditLog(path, lock_s=0.05))
    with path.open("a") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        trail.denied("Publish", actor="eve", tenant="", reason="PERMISSION_DENIED")
        began = [asyncio.ensure_future(trail.begin(PUBLISH, "s2")) for _ in range(40)]
        await asyncio.gather(*(asyncio.to_thread(int) for _ in range(40)))  # as metrics and stores use threads
        assert not any(each.done() and each.exception() is None for each in began)
        refused = await asyncio.gather(*began, return_exceptions=True)
    assert {type(each) for each in refused} == {StorageError}
    trail.close()
    assert [entry[1] for entry in entries(path)] == ["eve"], "a denial is not kept out by it"


async def test_swaps_and_denials_of_a_server_are_in_its_log_when_it_has_stopped(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    async with serving(settings=small_settings(audit_log=path)) as server:
        for _ in range(3):
            server.observing.denied(
                "Publish", actor="eve", tenant="", code="PERMISSION_DENIED", reason="PERMISSION_DENIED"
            )
        server.observing.publication_refused("", "torn", "SNAPSHOT_CORRUPT")
        server.observing.trail.policy_loaded("policy.yaml")
        found = dict(samples(server.observing.metrics.scrape().decode()))
    assert found["egotools_requests_total", "PERMISSION_DENIED", "Publish", ""] == 3
    assert found["egotools_refusals_total", "PERMISSION_DENIED"] == 3
    assert found["egotools_refused_publications_total", ""] == 1
    assert set(entries(path)) == {
        ("swap", "server", "", SNAPSHOT_ID, "done"),
        ("call", "eve", "", "Publish", "PERMISSION_DENIED"),
        ("swap", "server", "", "torn", "SNAPSHOT_CORRUPT"),
        ("load-policy", "server", "", "policy.yaml", "done"),
    }


def test_the_methods_that_are_audited_are_methods() -> None:
    assert set(AUDITED_METHODS) <= METHODS
