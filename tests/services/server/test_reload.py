"""``egotools serve --catalogs`` as a process: SIGHUP serves what was published since, and never ends it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from egotools.admin import AdminClient
from tests.conftest import ROOT
from tests.harness.editions import build_editions
from tests.harness.waiting import LIMIT_S, wait_until


@contextmanager
def serving(folder: Path, *arguments: object, **variables: str) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """The command in a process of its own, and its ready file."""
    ready = folder / "ready.json"
    environ = {name: value for name, value in os.environ.items() if not name.startswith("EGOTOOLS_")} | variables
    command = [sys.executable, "-m", "services.cli", "serve", "--port", "0", "--ready-file", str(ready)]
    with (folder / "log").open("w", encoding="utf-8") as log:
        process = subprocess.Popen(
            [*command, *map(str, arguments)], cwd=ROOT, env=environ, stdout=log, stderr=log, text=True
        )
    try:
        yield process, ready
    finally:
        process.kill()
        process.wait()


def logged(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "log").read_text(encoding="utf-8").splitlines() if line[:1] == "{"]


@pytest.mark.slow
def test_sighup_reloads_and_sigterm_still_ends_it(tmp_path: Path) -> None:
    acme = build_editions(tmp_path / "acme", "alpha", "beta")
    other = acme.copy(tmp_path / "other")
    file = tmp_path / "catalogs.yaml"
    file.write_text("catalogs: {acme: {store: acme}, other: {store: other}}", encoding="utf-8")
    with serving(tmp_path, "--catalogs", file, "--admin-port", "0", EGOTOOLS_WATCH_S="0") as (process, ready):
        wait_until(lambda: logged(tmp_path), process=process)
        process.send_signal(signal.SIGHUP)  # while it starts
        wait_until(ready.exists, process=process)
        said = json.loads(ready.read_text(encoding="utf-8"))
        acme.publish("beta")
        other.publish("beta")
        other.damage("beta")
        with AdminClient(said["admin_address"]) as admin:
            assert {each.tenant: each.snapshot_id for each in admin.catalogs()} == {
                "acme": acme.ids["alpha"],
                "other": other.ids["alpha"],
            }
            process.send_signal(signal.SIGHUP)
            wait_until(lambda: admin.catalogs()[0].snapshot_id == acme.ids["beta"], process=process)
            wait_until(lambda: admin.catalogs()[1].problem, process=process)
            assert admin.catalogs()[1].snapshot_id == other.ids["alpha"]
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGHUP)
        assert process.wait(LIMIT_S) == 0
    messages = [line["message"] for line in logged(tmp_path)]
    assert messages.count("reloading") >= 1 and "refused" in messages and messages[-1] == "stopped"
