"""The commands ``egotools admin tokens`` and ``egotools serve --insecure``."""

import asyncio
from pathlib import Path

import pytest

from services.server.access.tokens import StaticTokens
from tests.harness.commands import Run
from tests.harness.stores import BuiltStore


def test_tokens_are_made_listed_and_revoked(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "tokens.json"
    code, out, err = run("admin", "tokens", "create", "ci", "--file", file, "--days", 30)
    token = out.strip()
    assert code == 0 and "shown only now" in " ".join(err.split())
    assert asyncio.run(StaticTokens(file).verify(token)).name == "ci"
    assert token not in file.read_text(encoding="utf-8")
    assert run("admin", "tokens", "create", "ci", "--file", file)[0] == 2
    assert run("admin", "tokens", "create", "other", "--file", file, "--days", 0)[0] == 2
    assert run("admin", "tokens", "revoke", "ci", "--file", file)[0] == 0
    assert run("admin", "tokens", "revoke", "ci", "--file", file)[0] == 7
    assert "ci" not in file.read_text(encoding="utf-8")


def test_serve_refuses_to_listen_beyond_loopback(
    run: Run, store_of: BuiltStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = store_of("examples/enterprise/catalog/projects.csv", "hashing.v1")
    monkeypatch.delenv("EGOTOOLS_HOST", raising=False)
    code, _, err = run("serve", "--store", store, "--host", "0.0.0.0", "--port", 0)
    assert code == 2
    assert "without TLS and access control" in " ".join(err.split()) and "--insecure" in err
    code, _, err = run("serve", "--store", tmp_path, "--host", "0.0.0.0", "--port", 0, "--insecure")
    assert code == 7, err  # it would listen: what is missing is the snapshot
