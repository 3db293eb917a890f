"""``egotools plan``: over a store in this process and through a server, as a table and as JSON."""

import asyncio
import json
from pathlib import Path

import pytest

from inference import HashingEncoder
from services.jobs.build import build_snapshot
from tests.conftest import ROOT
from tests.harness.commands import Run
from tests.services.server.memory_engine import serving


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("plan")
    build_snapshot(
        [str(ROOT / "examples" / "enterprise" / "catalog" / "warehouse.json")], folder, encoder=HashingEncoder()
    )
    return folder


def test_a_request_alone_is_enough_and_nothing_is_not(run: Run, store: Path) -> None:
    code, out, _ = run("plan", "reserve a dock slot for an inbound delivery", "--store", store, "--json")
    goals = [step["confidence"] for step in json.loads(out)["steps"] if step["kind"] == "goal"]
    assert code == 0 and goals and all(0 <= each < 1 for each in goals)
    shown = run("plan", "reserve a dock slot for an inbound delivery", "--store", store)[1]
    assert "Nobody named the goals" in shown
    assert run("plan", "reserve a dock slot for an inbound delivery", "--store", store, "--json")[:2] == (0, out)
    for option in (("--today", "2026-01-01"), ("--yes",), ("--max-calls", 3), ("--python", "os")):
        code, _, err = run("plan", "reserve a dock slot", "--store", store, *option)
        assert code == 2 and ("would have no effect" in err or "none is made" in err)
    code, _, err = run("plan", "--store", store)
    assert code != 0 and "neither a goal nor a need nor a request" in " ".join(err.split())
    code, _, err = run("plan", "--store", store, "--goal", "warehouse/none")
    assert code != 0 and "warehouse/none" in err


async def test_a_server_plans_too(run: Run) -> None:
    async with serving() as server:
        arguments = ("plan", "--server", server.address, "--goal", "crm/get_customer")
        code, out, _ = await asyncio.to_thread(run, *arguments)
        assert code == 0 and "items[].customer_id" in "".join(out.split()) and "made by hand" in out
        code, _, err = await asyncio.to_thread(run, *arguments, "--goal", "crm/none")
    assert code != 0 and "crm/none" in err
