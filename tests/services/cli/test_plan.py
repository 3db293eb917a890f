"""``egotools plan --domain``: tools of a real server, called for real; dry runs, journals that are resumed and replayed, bad input."""

import io
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from inference import HashingEncoder
from planners.journal.run_journal import read_run_journal
from services.jobs.build import build_snapshot
from tests.conftest import ROOT
from tests.harness.commands import Run
from tests.planners.conftest import library_store
from tests.planners.dfs.library_tools import STOCK

__all__ = ["library_store"]

DOMAIN = ROOT / "tests" / "planners" / "dfs" / "library.yaml"
MODULE = "tests.planners.dfs.library_tools"
GRAPH: dict[str, Any] = {
    "action": "find",
    "return_var": "other",
    "vars": {"a": "Author", "b": "Book", "other": "Author"},
    "constraints": [
        {"kind": "edge", "from": "b", "edge": "written_by", "to": "a"},
        {"kind": "edge", "from": "b", "edge": "written_by", "to": "other"},
        {"kind": "filter", "var": "a", "field": "name", "op": "=", "value": "Neil Gaiman"},
    ],
}


@pytest.fixture(autouse=True)
def stock(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))  # no terminal
    STOCK.calls.clear()
    STOCK.broken.clear()
    yield
    STOCK.broken.clear()


@pytest.fixture
def options(library_store: Path, tmp_path: Path) -> list[object]:
    (tmp_path / "graph.json").write_text(json.dumps(GRAPH), encoding="utf-8")
    return [
        "plan",
        *("--domain", DOMAIN, "--store", library_store, "--graph", tmp_path / "graph.json", "--python", MODULE),
        *("--today", "2026-01-01"),
    ]


def answer(out: str) -> list[str]:
    return [each["id"] for each in json.loads(out)["execution"]["answer"]]


def test_a_dry_run_says_which_tools_and_calls_none(run: Run, options: list[object]) -> None:
    code, out, _ = run(*options, "--dry-run")
    assert code == 0
    assert "b written_by other" in out and "a: Author (name = Neil Gaiman)" in out
    assert "Book written_by Author (backward): rank " in out and "Nothing was called" in out
    code, out, _ = run(*options, "--dry-run", "--json")
    found = json.loads(out)
    assert found["graph"] == {**GRAPH, "return_mode": "all"} and found["execution"] is None
    chosen = {each["purpose"]: each["tools"][0].rpartition("/")[2] for each in found["tools"]}
    assert chosen == {
        "Author": "find_authors",
        "Book written_by Author": "list_authors_of_books",
        "Book written_by Author (backward)": "list_books_of_authors",
    }
    assert STOCK.calls == []


def test_answer_graph_and_log(run: Run, options: list[object]) -> None:
    code, out, _ = run(*options)
    assert code == 0
    assert "pratchett" in out and "Terry Pratchett" in out and "Author.name = Neil Gaiman" in out


def test_a_word_that_is_not_understood_is_refused_unless_best_effort(
    run: Run, options: list[object], tmp_path: Path
) -> None:
    domain = tmp_path / "library.yaml"
    named = DOMAIN.read_text(encoding="utf-8").replace('["=", contains]}', '["=", contains], words: [named]}')
    domain.write_text(named, encoding="utf-8")
    asked = ["plan", "--domain", domain, *options[3:5], *options[7:]]
    for name, is_empty in (("Neil Gaiman", False), ("Nobody", True)):
        request = f"Find the author named '{name}' bigger than 1 MB"
        code, out, err = run(*asked, request)
        assert code == 2 and '"bigger than 1 MB" is not understood' in f"{out}{err}"
        code, out, _ = run(*asked, request, "--best-effort", "--journal", tmp_path / name)
        assert code == 0 and out.startswith('left out: "bigger than 1 MB" is not understood')
        assert ("no answer to the whole request" in out) is is_empty
        assert ("nothing was found for: Author.name = Nobody" in out) is is_empty
        assert run(*asked, request, "--journal", tmp_path / name, "--replay")[0] == 0
        told = json.loads(run(*asked, request, "--best-effort", "--json")[1])
        assert len(told["left_out"]) == 1 and ("emptied_by" in told) is is_empty


def test_a_journal_is_resumed_and_replayed(run: Run, options: list[object], tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    _, first, _ = run(*options, "--journal", path, "--json")
    calls = list(STOCK.calls)
    assert json.loads(first)["account"]["calls"] == len(calls) > 2
    _, again, _ = run(*options, "--journal", path, "--replay", "--json")
    assert answer(again) == answer(first) == ["pratchett"]
    assert STOCK.calls == calls
    lines = path.read_bytes().splitlines(keepends=True)
    last = max(at for at, record in enumerate(read_run_journal(path).records) if record.kind == "call_begun")
    path.write_bytes(b"".join(lines[: last + 1]))  # as if the process was killed amid its last call
    code, resumed, _ = run(*options, "--journal", path, "--json")
    assert (code, answer(resumed)) == (0, ["pratchett"])
    assert STOCK.calls == [*calls, calls[-1]]


def test_names_of_a_mailbox_do_not_command_the_terminal(run: Run, tmp_path: Path) -> None:
    steer, day, home = "\x1b]0;owned\x07\x1b[31mred\x9b2J", "20260601T100000Z", tmp_path / "home"
    for name in ("mail/INBOX/cur", "mail/INBOX/new", "calendars", "cards", "files"):
        (home / name).mkdir(parents=True)
    (home / "mail" / "INBOX" / "cur" / f"1{steer}").write_text("no mail", encoding="utf-8")
    (home / "files" / os.fsdecode(f"{steer}.txt".encode() + b"\xff")).write_text("x", encoding="utf-8")
    event = ("BEGIN:VEVENT", "UID:1", f"SUMMARY:Party{steer}", f"DTSTART:{day}", f"DTEND:{day}", "END:VEVENT")
    calendar = ("BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//c//c//EN", *event, "END:VCALENDAR", "")
    (home / "calendars" / "a.ics").write_text("\r\n".join(calendar), encoding="utf-8", newline="")
    build_snapshot(["python:planners.personal.personal_tools"], tmp_path / "store", encoder=HashingEncoder())
    store, index = tmp_path / "store", tmp_path / "index.sqlite"
    given = ("--domain", "personal", "--store", store, "--data", home, "--index", index, "--today", "2026-06-15")
    for request in ("Find all the events.", "Find the files."):
        code, out, error = run("plan", request, *given)
        assert code == 0 and "not read" in error, error
        assert "red" in out and not {"\x1b", "\x07", "\x9b"} & {*out, *error}


def test_a_name_of_the_data_is_found_in_lower_case_and_its_run_replayed_without_the_index(
    run: Run, tmp_path: Path
) -> None:
    store, index, folder = tmp_path / "store", tmp_path / "index.sqlite", tmp_path / "home" / "files" / "Tax papers"
    folder.mkdir(parents=True)
    (folder / "a.txt").write_text("x", encoding="utf-8")
    build_snapshot(["python:planners.personal.personal_tools"], store, encoder=HashingEncoder())
    given = ("--domain", "personal", "--store", store, "--index", index, "--journal", tmp_path / "run", "--json")
    _, first, _ = run("plan", "Find the files in the tax papers.", *given, "--data", tmp_path / "home")
    index.unlink()
    _, again, _ = run("plan", "Find the files in the tax papers.", *given, "--replay")
    for told in map(json.loads, (first, again)):
        assert [each["id"] for each in told["execution"]["answer"]] == ["files/Tax papers/a.txt"]
