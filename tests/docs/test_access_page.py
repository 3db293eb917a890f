"""The page about access is true: its commands, its policy, its settings and its client work together."""

import asyncio
import contextlib
import io
import re
import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from services.server.settings import ServerSettings
from tests.conftest import ROOT
from tests.harness.commands import Run
from tests.harness.engines import serving
from tests.harness.issuers import Authority, write_pair

PAGE = (ROOT / "docs" / "access.md").read_text(encoding="utf-8")


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


async def test_the_example_works(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    create, serve = blocks("bash")
    code, token, _ = run(*shlex.split(create)[1:])
    assert code == 0
    # The tools in memory have namespaces of their own, and no filters by id.
    policy = blocks("yaml")[0].replace("sales, procurement", "crm").replace('      id: ["!sales/cancel*"]\n', "")
    Path("access.yaml").write_text(policy, encoding="utf-8")
    authority = Authority()
    write_pair(tmp_path, authority.issue("server"))
    Path("ca.pem").write_bytes(authority.pem)
    exported = dict(re.findall(r"^export (\w+)=(\S+)$", serve, re.MULTILINE))
    settings = ServerSettings.from_env(exported, host="0.0.0.0", port=0)
    monkeypatch.setenv("ORDERS_TOKEN", token.strip())
    async with serving(None, replace(settings, host="127.0.0.1")) as server:
        script = blocks("python")[0].replace("localhost:50051", server.address)
        printed = io.StringIO()

        def call() -> None:
            with contextlib.redirect_stdout(printed):
                exec(compile(script, "access.md", "exec"), {})

        await asyncio.to_thread(call)
    assert printed.getvalue() == "2 tools exist for this caller\nUNAUTHENTICATED\n"
