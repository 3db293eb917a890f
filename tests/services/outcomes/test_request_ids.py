"""Request ids: any replica of a store can check one; nobody else can make, change or read one."""

from __future__ import annotations

import stat
import time
from pathlib import Path

import pytest

from ontology.errors import InvalidArgumentError, StorageError
from services.outcomes import RequestIds, open_secret
from services.outcomes.request_ids import MAX_AGE_S


def test_another_replica_of_the_store_reads_the_id(tmp_path: Path) -> None:
    one, other = (RequestIds(open_secret(tmp_path / "outcomes")) for _ in range(2))
    request_id = one.issue("acme", "find a customer")
    assert other.read(request_id, "acme") == other.read(request_id, "acme", "find a customer")
    assert len(request_id) <= 64
    assert stat.S_IMODE((tmp_path / "outcomes" / "secret").stat().st_mode) == 0o600


@pytest.mark.parametrize("tenant", ["", "other", "acm"])
def test_an_id_of_another_tenant_is_refused(tenant: str) -> None:
    ids = RequestIds(b"s" * 32)
    with pytest.raises(InvalidArgumentError, match="request_id"):
        ids.read(ids.issue("acme", "x"), tenant)


def test_every_changed_letter_is_noticed() -> None:
    ids = RequestIds(b"s" * 32)
    request_id = ids.issue("acme", "x")
    for place in range(len(request_id)):
        for letter in ("A", "B"):
            changed = request_id[:place] + letter + request_id[place + 1 :]
            if changed != request_id and place < len(request_id) - 1:
                with pytest.raises(InvalidArgumentError):
                    ids.read(changed, "acme")


@pytest.mark.parametrize("seconds", [MAX_AGE_S + 60, -3_600])
def test_an_old_id_and_one_of_the_future_are_refused(seconds: int) -> None:
    ids = RequestIds(b"s" * 32)
    with pytest.raises(InvalidArgumentError, match="within the last 7 days"):
        ids.read(ids.issue("", "x"), "", now=time.time() + seconds)


def test_a_damaged_secret_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"short")
    with pytest.raises(StorageError, match="5 bytes"):
        open_secret(tmp_path)
