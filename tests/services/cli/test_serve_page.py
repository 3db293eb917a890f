"""The command ``egotools serve --web`` in a process of its own."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path

import httpx
import pytest

from benchmarks.personal.write_personal_data import TODAY, ZONE, write_personal_data
from inference import HashingEncoder
from planners.personal import PersonalData, refresh_index
from services.jobs.build import build_snapshot
from tests.harness.commands import started
from tests.harness.waiting import wait_until

TOOL = {"name": "find_customer", "description": "Find a customer by name."}


@pytest.mark.slow
def test_the_page_is_served_beside_the_server_and_ends_with_it(tmp_path: Path) -> None:
    pytest.importorskip("uvicorn", reason="the extra web is not installed")
    (tmp_path / "tools.jsonl").write_text(json.dumps(TOOL))
    build_snapshot([str(tmp_path / "tools.jsonl")], tmp_path / "store", encoder=HashingEncoder())
    said = tmp_path / "said"
    with said.open("w") as output:
        arguments = ("serve", "--store", tmp_path / "store", "--port", 0, "--web", "--web-port", 0)
        process = started(*arguments, stderr=output.fileno())
        try:
            wait_until(lambda: "The page is at" in said.read_text(), process=process)
            address = re.search(r"The page is at (\S+)", said.read_text())
            assert address is not None
            with httpx.Client(base_url=address[1], trust_env=False) as client:
                found = client.post("/api/retrieve", json={"query": "find a customer"}).json()
                assert found["tools"][0]["id"] == "tools/find_customer"
                run = client.post("/api/runs", json={"query": "find a customer"})
                assert run.status_code == 501
            process.send_signal(signal.SIGTERM)
            assert process.wait() == 0
        finally:
            process.kill()
            process.communicate()


@pytest.mark.slow
def test_the_page_answers_requests_of_a_domain(tmp_path: Path) -> None:
    """As the document of the page says how it is started."""
    pytest.importorskip("uvicorn", reason="the extra web is not installed")
    truth = write_personal_data(tmp_path / "home", messages=50, seed=11)
    index, store, said = tmp_path / "index.sqlite", tmp_path / "store", tmp_path / "said"
    refresh_index(PersonalData.below(tmp_path / "home", zone=ZONE), index, today=TODAY)
    build_snapshot(["python:planners.personal.personal_tools"], store, encoder=HashingEncoder())
    options = ("--port", 0, "--web", "--web-port", 0, "--web-domain", "personal")
    with said.open("w") as output:
        process = started(
            "serve", "--store", store, *options, stderr=output.fileno(), EGOTOOLS_PERSONAL_INDEX=str(index)
        )
        try:
            wait_until(lambda: "The page is at" in said.read_text(), process=process)
            address = re.search(r"The page is at (\S+)", said.read_text())
            assert address is not None
            with httpx.Client(base_url=address[1], trust_env=False, timeout=60.0) as client:
                session = client.get("/api/session").json()
                assert session["domains"] == ["personal"]
                asked = {"query": "Find all the email attachments of type .txt.", "domain": "personal"}
                lines = client.post("/api/runs", json=asked).text.splitlines()
                last = json.loads([line for line in lines if line.startswith("data: ")][-1].removeprefix("data: "))
                assert last["event"] == "Answered"
            attached = {two for _, two in truth.pairs("Email", "has_attachment", "File")}
            assert (
                {each["id"] for each in last["answer"]} == {each for each in attached if each.endswith(".txt")} != set()
            )
            process.send_signal(signal.SIGTERM)
            assert process.wait() == 0
        finally:
            process.kill()
            process.communicate()
