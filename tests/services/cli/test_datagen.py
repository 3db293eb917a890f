"""``egotools datagen``: what it writes, that the same comes again, that nothing made is lost, and what bad input gets."""

import json
from pathlib import Path
from typing import Any

import pytest

from inference import HashingEncoder
from inference.chat import Message
from services.jobs.build import build_snapshot
from tests.conftest import ROOT
from tests.datagen.author import Author
from tests.harness.chat import Body, Reply, chat_server
from tests.harness.commands import Run

CATALOG = ROOT / "examples" / "enterprise" / "catalog"


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def results(folder: Path) -> dict[str, bytes]:
    """Every file that a run leaves, by its place in the folder."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != ".lock"
    }


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("datagen") / "store"
    documents = [str(CATALOG / "projects.csv"), str(CATALOG / "support.jsonl")]
    build_snapshot(documents, folder, encoder=HashingEncoder(), workers=1)
    return folder


def test_a_model_writes_and_reads_back_within_its_calls_and_the_rest_comes_with_the_next_run(
    run: Run, store: Path, tmp_path: Path
) -> None:
    author = Author()

    def script(request: Body, _number: int) -> Reply:
        return Reply(text=author([Message(one["role"], one["content"]) for one in request["messages"]]))

    with chat_server(script) as server:
        model = ("--generator", "llm", "--llm-url", server.base_url, "--llm-model", "m", "--per-class", 2)
        code, _, err = run("datagen", store, "--out", tmp_path / "out", *model, "--max-calls", 12)
        assert code == 11 and "the same command again" in " ".join(err.split())
        few = rows(tmp_path / "out" / "queries.jsonl")
        assert "stopped:" in (tmp_path / "out" / "report.md").read_text(encoding="utf-8")
        code, _, err = run("datagen", store, "--out", tmp_path / "out", *model)
        assert code == 0, err
        hits, whole = server.hits, results(tmp_path / "out")
        assert run("datagen", store, "--out", tmp_path / "out", *model)[0] == 0
        assert server.hits == hits, "the same again asks the model nothing"
    assert results(tmp_path / "out") == whole
    made = rows(tmp_path / "out" / "queries.jsonl")
    assert len(few) < len(made) == 12 and all(row["generator"] == "llm.v2" and row["needs"] for row in made)
    needs = ("eval", store, "--queries", tmp_path / "out" / "queries.jsonl", "--needs")
    assert run(*needs, "--out", tmp_path / "report", "--systems", "semantic@needs")[0] == 0


@pytest.mark.parametrize(
    ("options", "code", "told"),
    [
        (["--per-class", 0], 2, "--per-class"),
        (["--per-class", -3], 2, "--per-class"),
        (["--generator", "magic"], 2, "llm, with a chat model, or template"),
        (["--generator", "rules"], 2, "was removed"),
        (["--max-calls", 3], 2, "uses no chat model"),
        (["--llm-steps", "wording"], 2, "another call reads it back"),
        (["--generator", "llm"], 2, "--llm-url"),
        (["--mix", "absent.yaml"], 2, "single-intent"),
        (["--ontology", "absent.yaml"], 5, "absent.yaml"),
    ],
)
def test_options_that_cannot_be_served_are_rejected_before_anything_is_written(
    run: Run, store: Path, tmp_path: Path, options: list[object], code: int, told: str
) -> None:
    said = run("datagen", store, "--out", tmp_path / "out", *options)
    assert said[0] == code and told in said[2]
    assert not list(tmp_path.glob("out/*.jsonl"))
