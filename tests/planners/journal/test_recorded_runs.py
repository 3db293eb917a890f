"""Runs that are killed and go on, runs that are replayed, and their account; with real processes and real tools."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from egotools import ClientDeadlineError, ClientError, PermissionDeniedError, Security, SecurityScheme
from egotools.calling.http_invoker import HttpInvoker
from egotools.calling.invoker import ToolInvoker
from ontology.errors import EgotoolsError, InvalidArgumentError
from planners.calls.tool_access import CallPipeline, PythonInvoker, never
from planners.calls.tool_finder import ToolFinder
from planners.dfs.resolver import Entity, Resolver, Step
from planners.dfs.tool_resolver import ToolResolver
from planners.journal.recorded import RecordedFinder, RecordedInvoker, Steps, rows_of
from planners.journal.run_journal import RunJournal, account_of, open_run_journal, read_run_journal
from planners.query.domain import read_domain
from tests.conftest import ROOT
from tests.harness.http_server import Arrived, Loopback, Reply
from tests.harness.servers import client_of
from tests.harness.waiting import LIMIT_S, wait_until
from tests.planners.calls import shop_tools
from tests.planners.calls.tools import MODULE, NOTHING, http, python
from tests.planners.dfs.library_tools import Library
from tests.planners.journal import warehouse_run, warehouse_tools

LIBRARY = "tests.planners.dfs.library_tools"


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

    def test_a_journal_cut_off_anywhere_is_resumed_with_the_same_bodies(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        path = tmp_path / "run"
        bodies = asyncio.run(warehouse_run.run(path, repeat=True))
        content = path.read_bytes()
        for length in range(0, len(content), 97):
            path.write_bytes(content[:length])
            ended = sum(record.kind == "call_ended" for record in read_run_journal(path).records)
            warehouse_tools.MARKS.unlink()
            assert asyncio.run(warehouse_run.run(path, repeat=True)) == bodies
            assert marks(tmp_path) == ALL[ended:] or (not marks(tmp_path) and ended == 5)
            warehouse_tools.MARKS.touch()

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


async def questions(resolver: Resolver) -> list[object]:
    """What a run asks, and what it gets: answers and errors."""
    wrote, by = Step("Author", "written_by", "Book", forward=False), Step("Book", "written_by", "Author", forward=True)
    books = await resolver.follow(wrote, ["gaiman", "austen"])
    answers: list[object] = [books, await resolver.follow(by, [book.id for _, book in books])]
    answers.append(await resolver.find("Book", []))
    try:
        answers.append(await resolver.find("Author", []))
    except EgotoolsError as error:
        answers.append(str(error))
    answers.append(await resolver.count("Book", []))
    return [_fields(each) for each in answers]


def _fields(answer: object) -> object:
    if isinstance(answer, Entity):
        return (answer.id, dict(answer.fields))
    return [_fields(each) for each in answer] if isinstance(answer, list | tuple) else answer


async def test_a_replay_calls_nothing_and_is_equal(tmp_path: Path, library_store: Path) -> None:
    library = Library(
        {"gaiman": "Neil Gaiman", "austen": "Jane Austen", "pratchett": "Terry Pratchett"},
        {"b1": ("Emma", "1815-12-23", ("austen",)), "b3": ("Good Omens", "1990-05-10", ("pratchett", "gaiman"))},
        broken={"find_authors"},
    )
    domain = read_domain(ROOT / "tests" / "planners" / "dfs" / "library.yaml")
    python_tools = PythonInvoker([], objects={LIBRARY: library})
    path = tmp_path / "run"
    async with client_of(library_store) as client:
        with open_run_journal(path) as journal:
            steps = Steps(journal, faults="retried")
            finder = RecordedFinder(ToolFinder(client), steps)
            first = await questions(ToolResolver(domain, finder, RecordedInvoker(python_tools, steps)))
    assert "out of order" in str(first[3])
    calls = list(library.calls)
    replayed = read_run_journal(path)
    steps = Steps(replayed, is_replay=True)
    resolver = ToolResolver(domain, RecordedFinder(None, steps), RecordedInvoker(None, steps))
    assert await questions(resolver) == first
    assert library.calls == calls
    with pytest.raises(InvalidArgumentError, match="does not say what this call gave"):
        await resolver.follow(Step("Author", "written_by", "Book", forward=False), ["pratchett"])
    with pytest.raises(InvalidArgumentError, match="does not say what this find gave"):
        await resolver.follow(Step("Book", "published_on", "Date", forward=True), ["b1"])
    account = account_of(replayed.records)
    assert account.calls == len(calls)
    assert account.failed == 1
    assert account.by_tool[f"{LIBRARY}/list_books_of_authors"].rows == 2
    assert {each.rpartition("/")[2] for each in account.by_tool} == {name for name, _ in calls}
    assert account.seconds > 0 and account.answer_bytes > 100 and account.unfinished == 0


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


@pytest.mark.parametrize(
    ("body", "rows"),
    [(None, 0), ([1, 2], 2), ({"a": [1], "b": [1, 2, 3], "n": 7}, 3), ({"a": 1}, 1), ({}, 0), ("text", 1), ([], 0)],
)
def test_rows(body: Any, rows: int) -> None:
    assert rows_of(body) == rows
