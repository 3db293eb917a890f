"""The command: what it prints, what it leaves, and its exit codes."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from retrieval.snapshot.publish import published_id
from services.cli.app import app
from tests.conftest import ROOT
from tests.harness.commands import Run, every_command, started
from tests.harness.waiting import LIMIT_S, wait_until
from tests.services.cli.conftest import TABLES

COMMANDS = sorted({path[:n] for path, _ in every_command() for n in range(len(path) + 1)})  # the groups too


def test_twenty_commands_stand_at_the_top() -> None:
    assert len({path[0] for path in COMMANDS if path}) == 20


def test_the_help_of_every_command_fits_one_screen(subtests: pytest.Subtests) -> None:
    for path in COMMANDS:
        with subtests.test(ascii(path)):
            shown = CliRunner(env={"COLUMNS": "80", "NO_COLOR": "1"}).invoke(app, [*path, "--help"])
            lines = shown.output.splitlines()
            assert shown.exit_code == 0 and "Usage" in shown.output
            assert len(lines) <= 40 and max(map(len, lines)) <= 80, shown.output


@pytest.mark.slow
def test_the_same_documents_give_the_same_snapshot_whatever_the_order_workers_and_hash_seed(
    store: Path, tmp_path: Path
) -> None:
    """The first is of this process, one worker and another hash seed."""
    command = [sys.executable, "-m", "services.cli", "build", *TABLES[::-1], "--out", str(tmp_path / "store")]
    done = subprocess.run(
        [*command, "--encoder", "hashing.v1", "--workers", "2", "--json"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONHASHSEED": "0" if os.environ.get("PYTHONHASHSEED") == "12345" else "12345"},
    )
    assert json.loads(done.stdout)["snapshot_id"] == published_id(store)
    assert json.loads(done.stdout)["tools"] == 38


def test_search_prints_why(run: Run, store: Path) -> None:
    code, out, _ = run("search", "send a reminder to everyone whose task is due", "--store", store, "-k", 3)
    assert code == 0
    assert "projects/send_task_deadline_reminder" in out
    assert "matches" in out and "via" not in out.split(), "the evidence is behind --why"
    assert "…" not in out, "only a terminal has a width"
    code, evidence, _ = run(
        "search", "send a reminder to everyone whose task is due", "--store", store, "-k", 3, "--why"
    )
    assert code == 0 and "via" in evidence.split()
    code, out, _ = run("search", "send a reminder to everyone whose task is due", "--store", store, "-k", 3, "--json")
    answer = json.loads(out)
    assert all(0 < len(tool["explanation"].split()) <= 25 and tool["reasons"]["features"] for tool in answer["tools"])
    assert [tool["rank"] for tool in answer["tools"]] == [1, 2, 3]
    assert answer["preset"] == "default"
    assert answer["timings_ms"]["total"] > 0


def test_a_tool_is_shown_by_its_name_in_its_namespace(run: Run, store: Path) -> None:
    nodes = json.loads(run("show", "send_task_deadline_reminder", "--store", store, "--json")[1])["nodes"]
    assert nodes[0]["key"] == "tool:projects/send_task_deadline_reminder"


def test_validate_checks_documents_and_snapshots(run: Run, store: Path, tmp_path: Path) -> None:
    assert run("validate", *TABLES)[0] == 0
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"name": "ok", "parameters": []}\n{"description": "no name", "parameters": []}\n', encoding="utf-8")
    code, out, _ = run("validate", bad)
    assert code == 4
    assert "bad.jsonl:2" in out
    assert run("validate", store)[0] == 0
    assert "snapshot_id" in run("validate", *(store / "snapshots").iterdir())[1]
    assert run("validate")[0] == 2
    calls, access = tmp_path / "calls.yaml", tmp_path / "access.yaml"
    calls.write_text("rules: [{tool: 'hr/*', decision: allow}]")
    access.write_text("version: 1\nrules: [{match: {token: a}, roles: [read]}]")
    assert run("validate", calls, access)[0] == 0
    bad.write_text('{"tool": "a", "phrases": ["b"]}\n{"tool": "a", "phrase": ["b"]}\n{"tool": "a", "phrases": [')
    code, out, _ = run("validate", bad)
    assert code == 5 and "bad.jsonl:2: 'phrases' is missing" in out and "bad.jsonl:3: Invalid JSON" in out


def test_a_served_snapshot_answers_like_the_local_one_and_on_its_page(run: Run, store: Path, tmp_path: Path) -> None:
    ready, said = tmp_path / "ready.json", tmp_path / "said"
    command = ("serve", "--store", store, "--port", 0, "--ready-file", ready, "--baselines", "--web", "--web-port", 0)
    with said.open("w", encoding="utf-8") as output:
        server = started(*command, stderr=output.fileno())
    try:
        wait_until(lambda: "The page is at" in said.read_text(encoding="utf-8"), process=server)
        address = json.loads(ready.read_text(encoding="utf-8"))["address"]
        for preset in ("default", "paper", "bm25"):
            asked = ("search", "who still has open tasks", "--preset", preset, "--json")
            remote: dict[str, Any] = json.loads(run(*asked, "--address", address)[1])
            local: dict[str, Any] = json.loads(run(*asked, "--store", store)[1])
            assert [(t["id"], t["why"]) for t in remote["tools"]] == [(t["id"], t["why"]) for t in local["tools"]]
            assert remote["snapshot_id"] == local["snapshot_id"]
        page = re.search(r"The page is at (\S+)", said.read_text(encoding="utf-8"))
        assert page is not None
        with httpx.Client(base_url=page[1], trust_env=False) as client:
            found = client.post("/api/retrieve", json={"query": "who still has open tasks"}).json()
            assert found["tools"][0]["id"] in {tool["id"] for tool in local["tools"]}
            assert client.post("/api/runs", json={"query": "find a customer"}).status_code == 501
    finally:
        server.send_signal(signal.SIGTERM)
        assert server.wait(LIMIT_S) == 0
        server.communicate()
