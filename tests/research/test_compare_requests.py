"""Sets of requests side by side: one size, their own tools, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from research.compare_requests import main
from scripts.run_command import run_command

TOOLS = [
    {"id": "pay", "name": "pay_invoice", "description": "Pay an invoice."},
    {"id": "find", "name": "find", "description": "Find customers by name."},
]


def written(folder: Path, texts: Sequence[str], tool: str = "pay") -> Path:
    folder.mkdir()
    lines = [
        {"id": f"r{place}", "query": text, "tools": [tool], "class": ("single-intent", "multi-intent")[place % 2]}
        for place, text in enumerate(texts)
    ]
    (folder / "queries.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    (folder / "tools.jsonl").write_text("".join(json.dumps(row) + "\n" for row in TOOLS), encoding="utf-8")
    return folder / "queries.jsonl"


def table(text: str) -> dict[str, list[str]]:
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]
    return {row[0]: row[1:] for row in rows}


def test_two_sets_stand_side_by_side_at_one_size(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hand = written(tmp_path / "hand", ["Settle what we owe Acme", "Is the rent due?"])
    made = written(tmp_path / "made", ["Pay invoice 7", "Pay invoice 8", "Pay invoice 9", "Pay an invoice"])
    main([hand, made], encoder="hashing.v1", by_class=True)
    whole, *classes = capsys.readouterr().out.split("\n### ")
    said = table(whole)
    assert said[""] == ["hand", "made"]
    assert said["requests"] == ["2", "2"]
    assert float(said["content words that stand in the gold tools' documents"][0]) == 0.0
    assert float(said["content words that stand in the gold tools' documents"][1]) > 0.6
    assert [each.splitlines()[0] for each in classes] == ["multi-intent", "single-intent"]


def test_names_and_whole_sets_on_demand(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [written(tmp_path / name, ["Pay it", "Pay them", "Who?"][:size]) for name, size in (("a", 1), ("b", 3))]
    main(files, names=["ours"], full=True, encoder="hashing.v1")
    said = table(capsys.readouterr().out)
    assert (said[""], said["requests"]) == (["ours", "b"], ["1", "3"])


def test_gold_tools_that_are_not_there_and_tools_that_cannot_be_read_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    strange = written(tmp_path / "strange", ["Pay it"], tool="absent")
    monkeypatch.setattr("sys.argv", ["compare_requests", str(strange), "--encoder", "hashing.v1"])
    for exit_code, words in ((2, "absent"), (3, "--tools")):
        with pytest.raises(SystemExit) as stopped:
            run_command(main)
        assert stopped.value.code == exit_code
        assert words in capsys.readouterr().err
        (tmp_path / "strange" / "tools.jsonl").unlink(missing_ok=True)
