"""Row ``secrets`` of docs/reliability.md, with few calls."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.reliability import chaos_secrets
from scripts.reliability.chaos_secrets import leaks
from services.server import interceptors
from services.server.logs import fields


def test_nothing_that_is_told_has_a_text_of_a_request_or_a_secret(tmp_path: Path) -> None:
    assert leaks(tmp_path, 68) == {place: [] for place in ("logs", "metrics", "traces", "audit log", "error details")}


def test_a_server_that_tells_them_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = fields
    monkeypatch.setattr(interceptors, "fields", lambda **values: told(**values, words=chaos_secrets.WORDS[0]))
    assert leaks(tmp_path, 68)["logs"] == [chaos_secrets.WORDS[0]]
