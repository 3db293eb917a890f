"""The command: what it prints, what it leaves, and its exit codes."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from ontology.reporting import no_progress
from retrieval.snapshot.publish import published_id
from services.cli.app import app
from services.jobs.build import build
from services.jobs.plans import BuildPlan
from tests.conftest import ROOT
from tests.harness.commands import Run
from tests.harness.waiting import LIMIT_S, wait_until

CATALOG = ROOT / "examples" / "enterprise" / "catalog"
TABLES = (str(CATALOG / "projects.csv"), str(CATALOG / "support.jsonl"))


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cli") / "store"
    build(BuildPlan(addresses=TABLES, store=folder, encoder="hashing.v1", workers=1), no_progress)
    return folder


def _commands() -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = []

    def walk(command: Any, path: tuple[str, ...]) -> None:
        found.append(path)
        for name in command.list_commands(None) if hasattr(command, "list_commands") else ():
            walk(command.get_command(None, name), (*path, name))

    walk(typer.main.get_command(app), ())
    return found


COMMANDS = _commands()


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


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["no-such-file.json"], 4, "no-such-file.json"),
        ([TABLES[0], "--encoder", "word2vec"], 2, "minilm-l6-int8.v1"),
        ([TABLES[0], "--extractor", "magic"], 2, "rules"),
        ([TABLES[0], "--extractor", "llm"], 2, "--llm-url"),
        ([TABLES[0], "--ontology", "no-such-ontology.yaml"], 5, "no-such-ontology.yaml"),
    ],
)
def test_build_refuses_with_a_sentence_and_its_exit_code(
    run: Run, tmp_path: Path, arguments: list[str], code: int, words: str
) -> None:
    given, _, err = run("build", "--out", tmp_path / "store", *arguments)
    assert given == code, err
    assert words in err.replace("\n", " ")
    assert not (tmp_path / "store" / "CURRENT").exists()


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


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["x", "-k", "0"], 2, "k: it must be"),
        (["x", "-k", "many"], 2, "auto"),
        (["x", "-k", "auto:many"], 2, "auto"),
        ([""], 2, "letter or digit"),
        (["x" * 100_000], 2, "characters"),
        (["x", "--preset", "magic"], 2, "paper"),
        (["x", "--filter", "nonsense"], 2, "KEY=VALUE"),
        (["x", "--have", "nonsense"], 2, "NAME=VALUE"),
        (["x", "--have", "=nonsense"], 2, "NAME=VALUE"),
        (["x", "--done", ""], 2, "done: "),
    ],
)
def test_search_refuses_what_cannot_be_asked(
    run: Run, store: Path, arguments: list[str], code: int, words: str
) -> None:
    given, _, err = run("search", "--store", store, *arguments)
    assert given == code
    assert words in err


@pytest.mark.parametrize(
    ("arguments", "code", "error", "told"),
    [
        (("search", "x", "--store", "FOLDER"), 7, "NotFoundError", "egotools build"),
        (("search", "x", "--nonsense"), 2, "InvalidArgumentError", "--nonsense"),
        (("nonsense",), 2, "InvalidArgumentError", "nonsense"),
        (("build",), 2, "InvalidArgumentError", "ADDRESS"),
    ],
)
def test_errors_are_json_when_asked_for(
    run: Run, tmp_path: Path, arguments: tuple[str, ...], code: int, error: str, told: str
) -> None:
    found, out, err = run(*(str(tmp_path) if each == "FOLDER" else each for each in arguments), "--json")
    said = json.loads(err)
    assert (found, said["exit_code"], said["error"], out) == (code, code, error, "")
    assert told in said["problem"] + said["remedy"]


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


def test_a_served_snapshot_answers_like_the_local_one(run: Run, store: Path, tmp_path: Path) -> None:
    ready = tmp_path / "ready.json"
    command = [
        sys.executable,
        "-m",
        "services.cli",
        "serve",
        "--store",
        str(store),
        "--port",
        "0",
        "--ready-file",
        str(ready),
        "--baselines",
    ]
    server = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True)
    try:
        wait_until(ready.exists, process=server)
        address = json.loads(ready.read_text(encoding="utf-8"))["address"]
        for preset in ("default", "paper", "bm25"):
            asked = ("search", "who still has open tasks", "--preset", preset, "--json")
            remote: dict[str, Any] = json.loads(run(*asked, "--address", address)[1])
            local: dict[str, Any] = json.loads(run(*asked, "--store", store)[1])
            assert [(t["id"], t["why"]) for t in remote["tools"]] == [(t["id"], t["why"]) for t in local["tools"]]
            assert remote["snapshot_id"] == local["snapshot_id"]
    finally:
        server.send_signal(signal.SIGTERM)
        assert server.wait(LIMIT_S) == 0


def test_a_server_that_is_not_there_is_an_error(run: Run) -> None:
    code, _, err = run("search", "x", "--address", "127.0.0.1:9")
    assert code == 14
    assert "127.0.0.1:9" in err
    code, _, err = run("search", "x", "--address", "u:S3CRET@127.0.0.1:9")
    assert code == 14
    assert "S3CRET" not in err
