"""Runs that are killed and go on, runs that are replayed, and their account; with real processes and real tools."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from egotools import ClientDeadlineError, ClientError, PermissionDeniedError, Security, SecurityScheme
from egotools.calling.http_invoker import HttpInvoker
from egotools.calling.invoker import ToolInvoker
from planners.calls.tool_access import CallPipeline, PythonInvoker, never
from planners.journal.recorded import RecordedInvoker, Steps
from planners.journal.run_journal import RunJournal, open_run_journal, read_run_journal
from tests.conftest import ROOT
from tests.harness.http_server import Arrived, Loopback, Reply
from tests.harness.waiting import LIMIT_S, wait_until
from tests.planners.calls import shop_tools
from tests.planners.calls.tools import MODULE, NOTHING, http, python
from tests.planners.journal import warehouse_tools


def recording(inner: ToolInvoker, journal: RunJournal) -> RecordedInvoker:
    return RecordedInvoker(inner, Steps(journal, faults="retried"))


def process(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.planners.journal.warehouse_run", "run", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
        stdout=subprocess.PIPE,
        text=True,
    )


def marks(folder: Path) -> list[str]:
    path = folder / warehouse_tools.MARKS
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def killed_at(folder: Path, step: str) -> None:
    """Run until a step has left its mark and waits, then kill the process."""
    (folder / f"hold {step}").touch()
    with process(folder) as running:
        wait_until(lambda: step in marks(folder), process=running)
        running.send_signal(signal.SIGKILL)
        running.wait(timeout=LIMIT_S)
    (folder / f"hold {step}").unlink()


def finished(folder: Path, *arguments: str) -> str:
    with process(folder, *arguments) as running:
        return running.communicate(timeout=LIMIT_S)[0]


ALL = ["find steel", "find tin", "move steel Ulm", "find steel", "move tin Ulm"]


class TestResumption:
    def test_a_killed_run_goes_on_without_repeating_what_it_finished(self, tmp_path: Path) -> None:
        killed_at(tmp_path, "find tin")
        bodies = json.loads(finished(tmp_path))
        assert marks(tmp_path) == ["find steel", "find tin", *ALL[1:]]  # the read that was cut off, once more
        assert bodies[2] == {"moved": "steel", "to": "Ulm"} and len(bodies) == 5
        assert json.loads(finished(tmp_path)) == bodies  # all of it from the journal
        assert len(marks(tmp_path)) == 6

    def test_of_a_write_that_was_cut_off_is_asked(self, tmp_path: Path) -> None:
        killed_at(tmp_path, "move steel Ulm")
        assert marks(tmp_path) == ALL[:3]
        assert finished(tmp_path) == "EFFECT_NOT_KNOWN move_stock"
        assert marks(tmp_path) == ALL[:3]
        assert len(json.loads(finished(tmp_path, "repeat"))) == 5
        assert marks(tmp_path) == [*ALL[:3], *ALL[2:]]

    async def test_a_write_without_an_answer_is_asked_about_and_one_that_was_never_sent_is_not(
        self, tmp_path: Path
    ) -> None:
        shop_tools.RELEASE.clear()
        wait = python("wait", NOTHING)
        try:
            with open_run_journal(tmp_path / "run") as journal:
                invoker = recording(PythonInvoker([MODULE], timeout_s=0.1), journal)
                with pytest.raises(ClientDeadlineError):
                    await invoker.invoke(wait, {})
                with pytest.raises(PermissionDeniedError, match="nobody confirmed"):
                    inner = CallPipeline(PythonInvoker([MODULE]), never)
                    await recording(inner, journal).invoke(python("book"), {"material": "tin"})
        finally:
            shop_tools.RELEASE.set()
        with open_run_journal(tmp_path / "run") as journal:
            invoker = recording(PythonInvoker([MODULE]), journal)
            with pytest.raises(PermissionDeniedError, match="not known whether it was done"):
                await invoker.invoke(wait, {})
            assert (await invoker.invoke(python("book"), {"material": "tin"})).ok


@pytest.mark.parametrize(
    "credential", ["token-of-this-test", "user:password-of-this-test", ("user", "password-of-this-test")]
)
async def test_no_credential_is_in_a_journal_even_where_the_server_repeats_it(
    tmp_path: Path, credential: str | tuple[str, str]
) -> None:
    kind = ("http", "basic") if ":" in credential or isinstance(credential, tuple) else ("http", "bearer")
    security = (Security(schemes=(SecurityScheme(key="key", type=kind[0], scheme=kind[1]),)),)
    tool = http("orders", NOTHING, "GET")
    tool = replace(tool, call=replace(tool.call, security=security))
    secrets: list[str] = []

    def repeated(arrived: Arrived) -> Reply:
        secrets.append({name.lower(): value for name, value in arrived.headers.items()}["authorization"].split()[1])
        return Reply(body=json.dumps({"headers": arrived.headers, "rows": [{"id": secrets[-1]}]}).encode())

    with Loopback(repeated) as server, open_run_journal(tmp_path / "run") as journal:
        invoker = HttpInvoker(servers={"": server.url}, credentials={"key": credential})
        answer = await recording(invoker, journal).invoke(tool, {})
    assert answer.body["rows"] == [{"id": "[credential]"}]
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert secrets and not [each for each in (*secrets, "of-this-test") if each.encode() in written]
    assert (tmp_path / "run").stat().st_mode & 0o077 == 0


async def test_failures_are_replayed(tmp_path: Path) -> None:
    async def call(invoker: ToolInvoker) -> ClientError:
        with pytest.raises(ClientError) as caught:
            await invoker.invoke(python("book"), {})
        return caught.value

    with open_run_journal(tmp_path / "run") as journal:
        first = await call(recording(PythonInvoker([MODULE]), journal))
    again = await call(RecordedInvoker(None, Steps(read_run_journal(tmp_path / "run"), is_replay=True)))
    assert (str(again), again.reason) == (str(first), first.reason)
