"""The command ``egotools serve --web`` in a process of its own."""

import json
import re
import signal
from pathlib import Path

import httpx
import pytest

from inference import HashingEncoder
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
