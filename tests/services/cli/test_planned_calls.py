"""``egotools plan``: over a store and through a server; with ``--execute`` against the mock company over HTTP: consent, answers, what stops."""

import asyncio
import io
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.harness.commands import Run
from tests.harness.company import running
from tests.harness.engines import serving

pytest.importorskip("starlette", reason="the extra web is not installed")

LEAVE = {"query": "Mark Olsen", "leaveTypeId": "ANNUAL", "startDate": "2026-12-21", "endDate": "2026-12-23"}


@dataclass(frozen=True)
class Leaves:
    """A company, and the command that requests leave there."""

    folder: Path
    arguments: tuple[str, ...]

    def requested(self) -> dict[str, Any]:
        """The leave requests of the person on that day, by identifier."""
        with closing(sqlite3.connect(self.folder / "company.sqlite")) as store:
            rows = store.execute("SELECT id, fields FROM records WHERE kind = 'leaveRequestId'").fetchall()
        found = {id_: json.loads(fields) for id_, fields in rows}
        return {id_: each for id_, each in found.items() if each["startDate"] == LEAVE["startDate"]}


@pytest.fixture
def leaves(hr_store: Path, tmp_path: Path) -> Iterator[Leaves]:
    known = [text for name, value in LEAVE.items() for text in ("--have", f"{name}={value}")]
    with running(tmp_path / "company") as company:
        address = ("--base-url", f"hr={company.url}/hr")
        command = ("plan", "--store", str(hr_store), "--goal", "hr/requestLeave", "--execute", *address)
        yield Leaves(tmp_path / "company", (*command, *known))


def test_a_plan_begins_with_its_calls_and_the_values_that_it_lacks(run: Run, hr_store: Path) -> None:
    known = [text for name, value in LEAVE.items() for text in ("--have", f"{name}={value}")]
    for given, said in (
        (("--goal", "hr/searchEmployees", "--have", "query=Mark Olsen"), "plan · 1 call · snapshot "),
        (("--goal", "hr/requestLeave", *known), "plan · 2 calls · snapshot "),
        (("--goal", "hr/requestLeave", *known[:-2]), "plan · 2 calls, 1 value to give · snapshot "),
    ):
        code, out, err = run("plan", "--store", hr_store, *given)
        assert code == 0 and out.startswith(said), f"{out}{err}"


class Terminal(io.StringIO):
    """A terminal at which somebody has typed."""

    def isatty(self) -> bool:
        return True


def test_without_consent_nothing_is_written_and_with_it_the_record_is(run: Run, leaves: Leaves) -> None:
    before = leaves.requested()
    code, out, _ = run(*leaves.arguments, "--yes", "--dry-run")
    assert code == 0 and "200 OK" not in out
    code, out, err = run(*leaves.arguments)
    assert code == 23 and "nobody confirmed" in err
    assert "step 1 hr/searchEmployees" in out and "200 OK" in out
    assert '"startDate": "2026-12-21"' in out  # the call that was not made is shown too
    assert leaves.requested() == before
    code, out, _ = run(*leaves.arguments, "--yes")
    made = leaves.requested()
    assert code == 0 and "201 Created" in out
    (id_,) = made.keys() - before.keys()
    assert made[id_]["employeeId"] == "E10486" and made[id_]["endDate"] == "2026-12-23"


@pytest.mark.parametrize(("typed", "code"), [("y\n", 0), ("n\n", 23), ("", 23)])
def test_a_terminal_is_asked_before_the_write_only(
    run: Run, leaves: Leaves, monkeypatch: pytest.MonkeyPatch, typed: str, code: int
) -> None:
    before = leaves.requested()
    monkeypatch.setattr("sys.stdin", Terminal(typed))
    found, _, err = run(*leaves.arguments)
    assert found == code and err.count("Call it?") == 1
    assert "hr/requestLeave may change something" in err and "E10486" in err
    assert len(leaves.requested()) == len(before) + (code == 0)


def test_json_has_the_plan_the_calls_and_where_their_arguments_come_from(run: Run, leaves: Leaves) -> None:
    code, out, _ = run(*leaves.arguments, "--yes", "--json")
    found = json.loads(out)
    search, leave = found["execution"]["calls"]
    assert code == 0 and found["execution"]["outcome"] == "made"
    assert [step["tool_id"] for step in found["plan"]["steps"]] == [search["tool_id"], leave["tool_id"]]
    assert leave["taken"] == [
        {
            "parameter": "employeeId",
            "supplier": "hr/searchEmployees",
            "output": "items[].employeeId",
            "row": 1,
            "rows": 1,
        }
    ]
    assert leave["status"] == "201 Created" and leave["body"]["status"] == "pending"


def test_what_stops_a_run_is_said(run: Run, leaves: Leaves) -> None:
    before = leaves.requested()
    bare = leaves.arguments[: leaves.arguments.index("--have")]
    code, out, err = run(*bare, "--yes", "--json")
    stopped = json.loads(out)["execution"]
    assert code == 2 and (stopped["outcome"], stopped["calls"]) == ("value missing", [])
    assert {each["parameter"] for each in stopped["open_inputs"]} == {"query", "startDate", "endDate"}
    assert "query (step 1)" in json.loads(err)["problem"]
    code, out, err = run(*leaves.arguments, "--have", "query=Nobody Atall", "--goal", "hr/getManager", "--yes")
    assert code == 2 and "no value for employeeId" in err and "not called: 3 hr/getManager" in out
    code, out, err = run(*leaves.arguments, "--have", "startDate=2026-12-31", "--yes")  # after its end
    assert code == 16 and "step 2 was answered with an error: 4" in err and '"code"' in out
    assert leaves.requested() == before


def test_a_request_alone_is_enough(run: Run, hr_store: Path) -> None:
    asked = ("plan", "request leave for an employee", "--store", hr_store)
    code, out, _ = run(*asked, "--json")
    goals = [step["confidence"] for step in json.loads(out)["steps"] if step["kind"] == "goal"]
    assert code == 0 and goals and all(0 <= each < 1 for each in goals)
    assert "Nobody named the goals" in run(*asked)[1]
    assert run(*asked, "--json")[:2] == (0, out)


async def test_a_server_plans_too(run: Run) -> None:
    async with serving() as server:
        arguments = ("plan", "--server", server.address, "--goal", "crm/get_customer")
        code, out, _ = await asyncio.to_thread(run, *arguments)
        assert code == 0 and "items[].customer_id" in "".join(out.split())
        code, _, err = await asyncio.to_thread(run, *arguments, "--goal", "crm/none")
    assert code != 0 and "crm/none" in err
