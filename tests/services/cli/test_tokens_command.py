"""The commands ``egotools admin tokens`` and ``egotools serve --insecure``."""

import asyncio
from pathlib import Path

from services.server.access.tokens import StaticTokens
from tests.harness.commands import Run


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
