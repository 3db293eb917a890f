"""Reading sheets: what a reader sees, how answers are compared with the gold set, and the figures by hand."""

from __future__ import annotations

import itertools
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from eval.gold_slots import Slot
from ontology import load_ontology
from ontology.errors import DocumentError, InvalidArgumentError
from ontology.tool import Parameter, Tool
from research.reader_answers import Answer, Gold, judged, numbered_rows, read_answers
from research.reading_scores import adjudicate, kappa
from research.reading_sheet import app, read_requests
from research.sheet_catalogue import one_line, tool_row
from tests.retrieval.conftest import TOOLS, content_of, published


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sheet") / "store"
    folder.mkdir()
    published(folder, content_of(TOOLS, load_ontology()))
    return folder


def _write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def _run(*words: object) -> str:
    done = CliRunner().invoke(app, [str(word) for word in words])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.output


def _drawn(folder: Path, store: Path, requests: list[dict[str, Any]], seed: int = 3) -> tuple[list[Any], list[Any]]:
    file = _write(folder / "requests.jsonl", requests)
    sheet, key = folder / "sheet.jsonl", folder / "key.jsonl"
    _run(
        "draw", store, file, "--count", 2, "--seed", seed, "--out", sheet, "--key", key, "--listing", folder / "all.txt"
    )
    return [[json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] for path in (sheet, key)]  # type: ignore[return-value]


def test_a_sheet_has_the_gold_tools_among_others_and_does_not_tell_them(tmp_path: Path, store: Path) -> None:
    ids = sorted(tool.id for tool in TOOLS)
    requests: list[dict[str, Any]] = [
        {"id": "conditional-1", "query": "order from Hansa", "tools": [ids[0], [ids[1], ids[2]]], "class": "single"},
        {"id": "none-1", "query": "what is a supplier", "tools": []},
    ]
    rows, key = _drawn(tmp_path, store, requests)
    assert [row["id"] for row in rows] == ["r001", "r002"] == [row["id"] for row in key]
    for row in rows:
        assert set(row) == {"id", "text", "tools"}
        assert all(set(tool) == {"tool", "system", "what", "needs", "takes", "gives"} for tool in row["tools"])
        seen = [tool["tool"] for tool in row["tools"]]
        assert len(set(seen)) == len(seen) >= 3
    by_request = {gold["request"]: (row, gold) for row, gold in zip(rows, key, strict=True)}
    row, gold = by_request["conditional-1"]
    assert gold["tools"] == [ids[0], [ids[1], ids[2]]]
    assert {ids[0], ids[1], ids[2]} < {tool["tool"] for tool in row["tools"]}
    assert len((tmp_path / "all.txt").read_text(encoding="utf-8").splitlines()) == len(TOOLS)


def test_a_draw_is_the_same_for_a_seed_and_does_not_depend_on_the_order(tmp_path: Path, store: Path) -> None:
    requests = [{"id": f"q{n}", "query": f"find supplier {n}", "tools": [TOOLS[0].id]} for n in range(9)]
    once = _drawn(tmp_path, store, requests)
    assert _drawn(tmp_path, store, requests[::-1]) == once
    assert any(_drawn(tmp_path, store, requests, seed)[1] != once[1] for seed in (4, 5))
    with pytest.raises(InvalidArgumentError, match="there are 1 requests, not 2"):
        _drawn(tmp_path, store, requests[:1])


@pytest.mark.parametrize(
    "row",
    [
        {"query": "order", "tools": []},
        {"id": 3, "query": "order", "tools": []},
        {"id": "1", "query": "order", "tools": None},
        {"id": "1", "query": "order", "tools": [3]},
        {"id": "1", "query": "order", "tools": [[]]},
        {"id": "1", "query": "\ud800", "tools": []},
    ],
)
def test_a_row_that_is_no_labelled_request_is_refused_with_its_line(tmp_path: Path, row: dict[str, Any]) -> None:
    with pytest.raises(DocumentError, match=r"requests\.jsonl:1"):
        read_requests([_write(tmp_path / "requests.jsonl", [row])])


def test_a_line_separator_in_a_text_is_no_end_of_a_row(tmp_path: Path) -> None:
    row = {"id": "a", "query": "order\u2028from Hansa\u0085", "tools": []}
    file = tmp_path / "requests.jsonl"
    file.write_text("\ufeff" + json.dumps(row, ensure_ascii=False) + "\r\n", encoding="utf-8")
    assert [one.text for one in read_requests([file])] == [row["query"]]
    assert [read for _, read in numbered_rows(file)] == [row]


@pytest.mark.parametrize("text", ["[" * 100_000, "{", "[]"])
def test_a_line_of_a_sheet_that_is_no_row_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "sheet.jsonl").write_text(f"{{}}\n{text}\n", encoding="utf-8")
    with pytest.raises(DocumentError, match=r"sheet\.jsonl:2"):
        list(numbered_rows(tmp_path / "sheet.jsonl"))


def test_a_pipe_is_no_sheet(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "sheet.jsonl")
    with pytest.raises(DocumentError, match="no regular file"):
        list(numbered_rows(tmp_path / "sheet.jsonl"))


def test_a_tool_in_one_line() -> None:
    long = Tool(id="a/b", name="b", description="Find things. " * 30, parameters=(Parameter(name="q", required=True),))
    row = tool_row(long)
    assert row["needs"] == ["q (string)"] and len(row["what"]) <= 202 and row["what"].endswith(" …")
    assert one_line(Tool(id="a/b", name="b", description="B is found", metadata={"title": "B"})) == "B is found"
    assert one_line(Tool(id="a/b", name="b", metadata={"title": "Find B"})) == "Find B"


def _label(gold: list[tuple[str, ...]], steps: list[tuple[str, ...]], **more: Any) -> tuple[bool, bool, bool]:
    answer = Answer(id="r", slots=tuple(steps), typeable=True, **more)
    label = judged(Gold(id="r", request="q", slots=tuple(gold)), answer)
    return label.wrong, label.wrong_in_any_way, label.incomplete


@pytest.mark.parametrize(
    ("gold", "steps", "expected"),
    [
        ([("a",)], [("a",)], (False, False, False)),
        ([("a",), ("b",)], [("b",), ("a",)], (False, False, False)),
        ([("a",)], [("a", "b")], (False, False, True)),  # the gold set lacks an alternative
        ([("a", "b")], [("a",)], (True, False, False)),  # b would not do
        ([("a",), ("b",)], [("a",)], (True, True, False)),  # b is needless
        ([("a",)], [("a",), ("b",)], (True, True, False)),  # b is missing
        ([("a",), ("b",)], [("a", "b"), ("c",)], (True, True, False)),  # a and b fill one step only
        ([("a",), ("a", "b")], [("a", "b"), ("a",)], (False, False, False)),
        ([], [], (False, False, False)),
        ([], [("a",)], (True, True, False)),
    ],
)
def test_a_label_by_hand(gold: list[Slot], steps: list[Slot], expected: tuple[bool, bool, bool]) -> None:
    assert _label(gold, steps) == expected


def test_what_is_ambiguous_or_not_servable_is_a_wrong_label() -> None:
    assert _label([("a",)], [("a",)], missing=("missing: the date",)) == (True, True, False)
    assert _label([("a",)], [("a",)], ambiguous=True) == (True, True, False)


_SLOTS = st.lists(st.sets(st.sampled_from("abcd"), min_size=1).map(lambda s: tuple(sorted(s))), max_size=4, unique=True)


@settings(max_examples=60)
@given(gold=_SLOTS, steps=_SLOTS)
def test_a_label_is_right_if_some_order_of_the_steps_suits_its_slots(gold: list[Slot], steps: list[Slot]) -> None:
    def suits(order: tuple[Slot, ...], inside: bool) -> bool:
        pairs = zip(gold, order, strict=True)
        return all(set(a) <= set(b) if inside else set(a) & set(b) for a, b in pairs)

    orders = [order for order in itertools.permutations(steps) if len(order) == len(gold)]
    wrong, loose, _ = _label(gold, steps)
    assert wrong == (not any(suits(order, True) for order in orders))
    assert loose == (not any(suits(order, False) for order in orders))


def test_kappa_by_hand() -> None:
    # Of 10 rows both say yes of 4 and no of 2: observed .6; chance .5 * .7 + .5 * .3 = .5.
    one = [True] * 5 + [False] * 5
    other = [True] * 4 + [False] + [True] * 3 + [False] * 2
    assert kappa(one, other) == pytest.approx((0.6 - 0.5) / 0.5)
    assert kappa(one, one) == 1
    assert kappa([True, True], [True, True]) is None


@pytest.mark.parametrize(
    "row",
    [
        {"id": "r001", "needed": "unclear", "typeable": True},
        {"id": "r001", "needed": [[]], "typeable": True},
        {"id": "r001", "needed": [3], "typeable": True},
        {"id": "r001", "needed": ["a"]},
        {"id": "r009", "needed": ["a"], "typeable": True},
    ],
)
def test_an_answer_that_is_none_is_an_error_with_its_line(tmp_path: Path, row: dict[str, Any]) -> None:
    with pytest.raises(DocumentError, match=r"a\.jsonl:1"):
        read_answers(_write(tmp_path / "a.jsonl", [row]), ["r001"])


def test_every_row_must_be_answered_once(tmp_path: Path) -> None:
    row = {"id": "r001", "needed": ["a"], "typeable": True}
    with pytest.raises(DocumentError, match="answered before"):
        read_answers(_write(tmp_path / "a.jsonl", [row, row]), ["r001"])
    with pytest.raises(InvalidArgumentError, match="1 rows are not answered: r002"):
        read_answers(_write(tmp_path / "a.jsonl", [row]), ["r001", "r002"])


KEY = [
    {"id": "r001", "request": "q1", "class": "single-intent", "tools": ["a"]},
    {"id": "r002", "request": "q2", "class": "single-intent", "tools": ["a", "b"]},
    {"id": "r003", "request": "q3", "class": "multi-intent", "tools": ["c"]},
    {"id": "r004", "request": "q4", "class": "multi-intent", "tools": ["d"]},
]
FIRST = [
    {"id": "r001", "needed": [["a"]], "typeable": True},
    {"id": "r002", "needed": [["a"]], "typeable": True, "note": "b is only a check"},
    {"id": "r003", "needed": ["missing: nothing does it"], "typeable": False},
    {"id": "r004", "needed": "ambiguous", "typeable": True},
]
SECOND = [
    {"id": "r001", "needed": [["a", "z"]], "typeable": True},
    {"id": "r002", "needed": [["a"], ["b"]], "typeable": True},
    {"id": "r003", "needed": ["missing: no tool"], "typeable": False},
    {"id": "r004", "needed": ["d"], "typeable": True},
]
THIRD = [{"id": "r002", "needed": ["a"], "typeable": True}, {"id": "r004", "needed": ["d"], "typeable": True}]


def test_two_readers_and_an_adjudicated_reading_are_scored(tmp_path: Path) -> None:
    sheet = _write(tmp_path / "sheet.jsonl", [{"id": row["id"], "text": f"do {row['id']}", "tools": []} for row in KEY])
    files = [_write(tmp_path / f"{name}.jsonl", rows) for name, rows in (("key", KEY), ("one", FIRST), ("two", SECOND))]
    final = _write(tmp_path / "final.jsonl", THIRD)
    told = _run("score", sheet, *files, "--adjudicated", final)
    assert "| one | 3/4 = 75.0 % [30.1, 95.4] | 3/4" in told
    assert "| two | 1/4 = 25.0 % [4.6, 69.9] | 1/4 = 25.0 % [4.6, 69.9] | 1/4" in told
    assert "| adjudicated | 2/4 = 50.0 %" in told
    assert "label 2/4 alike, kappa 0.20; typeable 4/4 alike, kappa 1.00; the same needed tools 1/4" in told
    assert "| multi-intent | 1/2 = 50.0 %" in told
    assert "one: needs (a) (b is only a check)" in told and "one: needs ambiguous" in told
    assert "r001 [" not in told, "nobody disputes it"
    quiet = _run("score", sheet, *files, "--quiet")
    assert "do r002" not in quiet and "| adjudicated" not in quiet


def test_readers_whose_files_have_one_name_are_both_scored(tmp_path: Path) -> None:
    sheet = _write(tmp_path / "sheet.jsonl", [{"id": row["id"], "text": f"do {row['id']}", "tools": []} for row in KEY])
    key = _write(tmp_path / "key.jsonl", KEY)
    answers = []
    for folder, rows in (("first", FIRST), ("second", SECOND)):
        (tmp_path / folder).mkdir()
        answers.append(_write(tmp_path / folder / "answers.jsonl", rows))
    told = _run("score", sheet, key, *answers, "--quiet")
    assert [f"| {path} |" in told for path in answers] == [True, True]


def test_a_row_on_which_readers_differ_must_be_decided() -> None:
    gold = {"r": Gold(id="r", request="q", slots=(("a",),))}
    one = {"r": Answer(id="r", slots=(("a",),), typeable=True)}
    other = {"r": Answer(id="r", slots=(("b",),), typeable=True)}
    with pytest.raises(InvalidArgumentError, match="1 rows are open: r"):
        adjudicate(gold, [one, other], {})
    assert adjudicate(gold, [one, other], other) == other
    assert adjudicate(gold, [one, one], {}) == one


def test_the_key_of_another_sheet_is_refused(tmp_path: Path) -> None:
    sheet = _write(tmp_path / "sheet.jsonl", [{"id": "r001", "text": "do", "tools": []}])
    key, answers = _write(tmp_path / "key.jsonl", KEY), _write(tmp_path / "one.jsonl", FIRST[:1])
    with pytest.raises(InvalidArgumentError, match="key of another sheet"):
        _run("score", sheet, key, answers)


def test_the_instructions_explain_every_part_of_an_answer() -> None:
    told = _run("instructions")
    for word in ("`needed`", "`typeable`", '"ambiguous"', "`missing:`", "`note`"):
        assert word in told
