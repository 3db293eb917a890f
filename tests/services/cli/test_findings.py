"""``egotools admin findings``, and the findings in ``egotools diff``."""

import json
from pathlib import Path
from typing import Any

from tests.eval.planted import written
from tests.harness.commands import Run, json_lines
from tests.services.jobs.test_examination import BAD, CLEAN


def _build(run: Run, folder: Path, *rows: object, policy: str = "quarantine") -> tuple[int, str, str]:
    command = (
        "build",
        written(folder / "tools.jsonl", *rows),
        "--out",
        folder / "store",
        "--encoder",
        "hashing.v1",
        "--workers",
        1,
    )
    return run(*command, *(("--findings", policy) if policy else ()))


def test_by_default_nothing_is_held_back_and_one_line_says_where_to_look(run: Run, tmp_path: Path) -> None:
    store = tmp_path / "store"
    found = f"Findings: 1 tools (1 severe), none held back; see `egotools admin findings list --store {store}`"
    code, out, _ = _build(run, tmp_path, CLEAN, BAD, policy="")
    assert code == 0 and "2 tools" in out and found in out.splitlines()
    code, out, _ = _build(run, tmp_path, CLEAN, policy="")
    assert code == 0 and "Findings" not in out
    document = written(tmp_path / "new.jsonl", BAD)
    code, out, _ = run("sync", f"erp={document}", "--store", tmp_path / "synced")
    assert code == 0 and "1 tools, 1 added" in out and "1 tools (1 severe), none held back" in out


def test_a_quarantined_tool_is_listed_approved_and_built(run: Run, tmp_path: Path) -> None:
    store = tmp_path / "store"
    other = {**BAD, "id": "erp/list_banks", "name": "list_banks"}
    code, out, _ = _build(run, tmp_path, CLEAN, BAD, other)
    assert code == 0 and "Quarantined, not in the snapshot: 2: erp/list_" in out
    code, out, _ = run("admin", "findings", "list", "--store", store)
    assert code == 0 and "erp/list_vendors (quarantined)" in out and "characters that nobody sees" in out
    code, out, _ = run("admin", "findings", "list", "--store", store, "--quarantined", "--json")
    listed: dict[str, Any] = json.loads(out)
    assert sorted(listed["quarantined"]) == ["erp/list_banks", "erp/list_vendors"]
    assert {each["severity"] for each in listed["findings"]} == {"quarantine"}
    approve = ("admin", "findings", "approve", "erp/list_*", "--reason", "ours", "--by", "ann", "--store", store)
    code, out, _ = run(*approve)
    assert code == 0 and "Approved: 2" in out and "erp/list_vendors by ann" in out
    kept, _ = json_lines(store / "approvals.jsonl")
    assert (kept["by"], kept["reason"], kept["at"][:2]) == ("ann", "ours", "20")
    code, out, _ = _build(run, tmp_path, CLEAN, BAD, other)
    assert code == 0 and "3 tools" in out and "Quarantined" not in out and "Released by approvals: 2: " in out
    assert "by ann" in run("admin", "findings", "list", "--store", store)[1]
