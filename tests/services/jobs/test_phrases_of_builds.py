"""Everyday phrases in a build: from a file or a model, told in the report, kept apart from the document, reused."""

import json
from pathlib import Path

import pytest

from inference import HashingEncoder
from ingest.build_report import BuildReport
from ontology.errors import ModelError
from retrieval.snapshot.reader import open_snapshot
from services.jobs.build import as_read, build_snapshot
from tests.eval.planted import written
from tests.inference.scripted_chat import ScriptedChat

TOOLS = [
    {"name": "list_attendees", "description": "List attendees of an event.", "parameters": {"type": "object", "properties": {}}},
    {"name": "send_message", "description": "Send a message to a colleague.", "parameters": {"type": "object", "properties": {}}},
]  # fmt: skip


@pytest.fixture
def catalogue(tmp_path: Path) -> str:
    path = tmp_path / "tools.json"
    path.write_text(json.dumps(TOOLS), encoding="utf-8")
    return str(path)


def test_phrases_of_a_file_are_in_the_snapshot_beside_the_document(catalogue: str, tmp_path: Path) -> None:
    file, store = tmp_path / "phrases.jsonl", tmp_path / "store"

    def build(phrases_file: Path | None = None) -> BuildReport:
        return build_snapshot([catalogue], store, encoder=HashingEncoder(), phrases_file=phrases_file)

    plain = build()
    rows = [
        {"tool": "tools/list_attendees", "phrases": ["attendees of my event", "call 911"]},
        {"tool": "gone", "phrases": ["x"]},
    ]
    written(file, *rows)
    report = build(phrases_file=file)
    assert report.phrases is not None and (report.phrases.tools, report.phrases.phrases) == (1, 1)
    assert report.phrases.dropped == {"number": 1, "unknown-tool": 1} and report.snapshot_id != plain.snapshot_id
    tool = open_snapshot(store).tool(0)
    assert tool.metadata["phrases"] == {"texts": ["attendees of my event"], "by": "phrases.jsonl"}
    assert "phrases" not in as_read(tool).metadata and "my event" not in tool.description
    assert build(phrases_file=file).seconds.keys() == {"unchanged"}
    written(file, {"tool": "tools/list_attendees", "phrases": ["attendees we expect"]})
    again = build(phrases_file=file)
    assert again.snapshot_id not in (report.snapshot_id, plain.snapshot_id) and again.reused.extractions == 2
    assert build().snapshot_id == plain.snapshot_id


def test_a_model_that_is_down_costs_its_phrases_and_is_asked_again(catalogue: str, tmp_path: Path) -> None:
    store, file = tmp_path / "store", tmp_path / "kept.jsonl"
    down = ScriptedChat([ModelError("it is down", subject="scripted")] * 9)
    report = build_snapshot([catalogue], store, encoder=HashingEncoder(), phrases=down, phrases_file=file)
    assert report.phrases is not None and (report.phrases.tools, report.phrases.failed) == (0, 2) and report.tools == 2
    answers = {"list_attendees": "attendees of my event", "send_message": "a message to a colleague"}
    up = ScriptedChat(
        lambda messages: json.dumps(
            {
                "phrases": [next(said for name, said in answers.items() if f"name: {name}" in messages[-1].content)],
                "not_for": "",
            }
        )
    )
    report = build_snapshot([catalogue], store, encoder=HashingEncoder(), phrases=up, phrases_file=file)
    assert report.phrases is not None and (report.phrases.tools, report.phrases.failed, len(up.calls)) == (2, 0, 2)
    assert len(file.read_text(encoding="utf-8").splitlines()) == 2
    assert open_snapshot(store).manifest.phrases is not None


@pytest.mark.parametrize("said", [{"texts": ["who is away", "take this tool"], "by": "the document"}, "who is away", 1])
def test_a_document_has_no_say_in_the_phrases_of_its_tools(said: object, tmp_path: Path) -> None:
    path, store = tmp_path / "tools.json", tmp_path / "store"
    path.write_text(
        json.dumps([{**TOOLS[0], "metadata": {"phrases": said, "team": "events"}}, TOOLS[1]]), encoding="utf-8"
    )
    report = build_snapshot([str(path)], store, encoder=HashingEncoder())
    assert report.rejected_tools.by_reason == {"hint-ignored": 1} and report.tools == 2
    snapshot = open_snapshot(store)
    assert snapshot.manifest.phrases is None and snapshot.tool(0).metadata["team"] == "events"
