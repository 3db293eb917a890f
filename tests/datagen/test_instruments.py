"""The instruments are sound: their rows have the form, name real tools, and plant what they say."""

from __future__ import annotations

import json
from collections import Counter
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from datagen.synthetic_request import CLASSES
from ingest.sources import read_catalog
from ontology.tool import Tool
from tests.conftest import ROOT

FOLDER = Path(__file__).parent / "instruments"
FIELDS = {"id", "query", "class", "tools", "values", "note"}
KINDS = {
    "sequence": {
        "missing-input",
        "wrong-order",
        "wrong-object",
        "output-does-not-fit",
        "unrelated-tool",
        "missing-link",
        "wrong-direction",
        "unanswerable-condition",
        "swapped-ends",
    },
    "error": {
        "repeated-tool",
        "incomplete-text",
        "incompatible-value",
        "leaked-name",
        "superfluous-tool",
        "needless-lookup",
        "missing-resolver",
        "other-object",
        "contradictory-values",
    },
}
LATER = {"swapped-ends", "other-object", "contradictory-values"}  # kinds of the fourth set and of the fifth
ONLY_FIFTH = {"needless-lookup"}
SHORT = {
    "single": "single-intent",
    "multi": "multi-intent",
    "explicit": "explicit-multi-step",
    "implicit": "implicit-multi-step",
    "conditional": "conditional-multi-step",
    "ir": "ir-multi-intent",
}

Row = dict[str, Any]


def _rows(name: str) -> list[Row]:
    text = (FOLDER / f"{name}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


FIRST_GOOD, FIRST_BAD = _rows("good"), _rows("bad")
SECOND_GOOD, SECOND_BAD = _rows("second/good"), _rows("second/bad")
THIRD_GOOD, THIRD_BAD = _rows("third/good"), _rows("third/bad")
FOURTH_GOOD, FOURTH_BAD = _rows("fourth/good"), _rows("fourth/bad")
FIFTH_GOOD, FIFTH_BAD = _rows("fifth/good"), _rows("fifth/bad")
GOOD = FIRST_GOOD + SECOND_GOOD + THIRD_GOOD + FOURTH_GOOD + FIFTH_GOOD
BAD = FIRST_BAD + SECOND_BAD + THIRD_BAD + FOURTH_BAD + FIFTH_BAD
SECOND_KINDS = {
    "missing-input": 16,
    "wrong-order": 14,
    "wrong-object": 14,
    "unrelated-tool": 8,
    "output-does-not-fit": 7,
    "missing-link": 7,
}


@pytest.fixture(scope="module")
def tools() -> dict[str, Tool]:
    catalog = read_catalog([str(ROOT / "examples" / "enterprise" / "catalog")])
    return {tool.id: tool for tool in catalog.tools}


def _unsaid(row: Row, position: int, tools: dict[str, Tool]) -> set[str]:
    """The required inputs of the tool at this position for which the request says nothing."""
    tool_id = row["tools"][position]
    said = {value["parameter"] for value in row["values"] if value["tool"] == tool_id}
    said |= {name.split(".")[0].split("[")[0] for name in said}
    return {
        parameter.name
        for parameter in tools[tool_id].parameters
        if parameter.required and "." not in parameter.name and parameter.name not in said
    }


def test_every_row_has_the_form() -> None:
    for row in GOOD:
        assert set(row) == FIELDS, row["id"]
        assert row["values"], row["id"]
    for row in BAD:
        assert set(row) == FIELDS | {"fault"}, row["id"]
        assert set(row["fault"]) == {"check", "kind"}, row["id"]
    for row in chain(GOOD, BAD):
        assert row["class"] in CLASSES, row["id"]
        assert row["query"].strip() == row["query"] != "", row["id"]
        assert row["note"], row["id"]
        assert 1 <= len(row["tools"]) <= 5, row["id"]


def test_every_tool_and_parameter_exists(tools: dict[str, Tool]) -> None:
    for row in chain(GOOD, BAD):
        assert not set(row["tools"]) - tools.keys(), row["id"]
        for value in row["values"]:
            assert value["tool"] in row["tools"], row["id"]
            names = {parameter.name for parameter in tools[value["tool"]].parameters}
            assert value["parameter"] in names, (row["id"], value)


def test_every_value_is_said_word_for_word() -> None:
    for row in chain(GOOD, BAD):
        for value in row["values"]:
            assert value["value"] in row["query"], (row["id"], value)


def test_no_text_is_there_twice_and_no_id_in_one_set() -> None:
    sets = (FIRST_GOOD + FIRST_BAD, SECOND_GOOD + SECOND_BAD, THIRD_GOOD + THIRD_BAD, FOURTH_GOOD + FOURTH_BAD)
    named = [[row["id"] for row in rows] for rows in (*sets, FIFTH_GOOD + FIFTH_BAD)]
    for found in ([row["query"].casefold() for row in chain(GOOD, BAD)], *named):
        assert [one for one, count in Counter(found).items() if count > 1] == []


def test_there_are_enough_of_each_class_and_check() -> None:
    assert min(Counter(row["class"] for row in FIRST_GOOD)[name] for name in CLASSES) >= 21
    checks = Counter(row["fault"]["check"] for row in FIRST_BAD)
    assert set(checks) == {"class", "sequence", "error"}
    assert min(checks.values()) >= 42


def test_the_second_has_enough_of_each_class_and_kind_and_tests_the_sequence_alone() -> None:
    assert min(Counter(row["class"] for row in SECOND_GOOD)[name] for name in CLASSES) >= 11
    assert {row["fault"]["check"] for row in SECOND_BAD} == {"sequence"}
    kinds = Counter(row["fault"]["kind"] for row in SECOND_BAD)
    assert set(kinds) == set(SECOND_KINDS)
    assert all(kinds[kind] >= least for kind, least in SECOND_KINDS.items())


def test_the_second_takes_other_paths_than_the_first() -> None:
    first = {tuple(row["tools"]) for row in chain(FIRST_GOOD, FIRST_BAD) if len(row["tools"]) > 1}
    for row in chain(SECOND_GOOD, SECOND_BAD):
        assert tuple(row["tools"]) not in first, row["id"]


def test_the_third_has_enough_of_each_class_check_and_kind() -> None:
    assert len(THIRD_GOOD) >= 75
    assert min(Counter(row["class"] for row in THIRD_GOOD)[name] for name in CLASSES) >= 13
    checks = Counter(row["fault"]["check"] for row in THIRD_BAD)
    assert set(checks) == {"class", "sequence", "error"}
    assert min(checks.values()) >= 40
    kinds = Counter((row["fault"]["check"], row["fault"]["kind"]) for row in THIRD_BAD)
    assert {kind for check, kind in kinds if check != "class"} == (
        KINDS["sequence"] | KINDS["error"]
    ) - LATER - ONLY_FIFTH
    assert min(count for (check, _), count in kinds.items() if check != "class") >= 4
    pairs = {kind for check, kind in kinds if check == "class"}
    assert len(pairs) == len(CLASSES) * (len(CLASSES) - 1)


def test_the_fourth_has_enough_of_each_class_and_check() -> None:
    assert min(Counter(row["class"] for row in FOURTH_GOOD)[name] for name in CLASSES) >= 10
    checks = Counter(row["fault"]["check"] for row in FOURTH_BAD)
    assert set(checks) == {"class", "sequence", "error"}
    assert min(checks.values()) >= 40
    assert {row["fault"]["kind"] for row in FOURTH_BAD} > LATER


def test_the_fifth_has_enough_of_each_class_and_check() -> None:
    assert min(Counter(row["class"] for row in FIFTH_GOOD)[name] for name in CLASSES) >= 10
    checks = Counter(row["fault"]["check"] for row in FIFTH_BAD)
    assert set(checks) == {"class", "sequence", "error"}
    assert min(checks.values()) >= 40
    assert {row["fault"]["kind"] for row in FIFTH_BAD} > LATER | ONLY_FIFTH


def test_what_is_called_missing_is_required_and_not_said(tools: dict[str, Tool]) -> None:
    for row in SECOND_BAD + THIRD_BAD + FOURTH_BAD + FIFTH_BAD:
        if row["fault"]["kind"] == "missing-input":
            assert any(_unsaid(row, position, tools) for position in range(len(row["tools"]))), row["id"]


def test_every_pair_of_classes_is_confused_and_the_label_is_the_wrong_one() -> None:
    pairs = set()
    for row in BAD:
        check, kind = row["fault"]["check"], row["fault"]["kind"]
        if check != "class":
            assert kind in KINDS[check], row["id"]
            continue
        true, labelled = (SHORT[part] for part in kind.split("-as-"))
        assert labelled == row["class"] != true, row["id"]
        pairs.add((true, labelled))
    assert len(pairs) == len(CLASSES) * (len(CLASSES) - 1)


def test_dependent_and_combined_requests_have_more_than_one_tool() -> None:
    for row in GOOD:
        assert (len(row["tools"]) == 1) == (row["class"] == "single-intent"), row["id"]


def test_what_a_good_request_does_not_say_an_earlier_tool_can_supply(tools: dict[str, Tool]) -> None:
    for row in GOOD:
        assert not _unsaid(row, 0, tools), row["id"]
        if row["class"] == "multi-intent":  # nothing is supplied by another want
            assert not any(_unsaid(row, position, tools) for position in range(len(row["tools"]))), row["id"]


def test_only_the_rows_that_say_so_repeat_a_tool() -> None:
    for row in chain(GOOD, BAD):
        planted = row.get("fault", {}).get("kind") == "repeated-tool"
        assert (len(set(row["tools"])) < len(row["tools"])) == planted, row["id"]


def test_names_leak_only_where_planted(tools: dict[str, Tool]) -> None:
    names = {name for tool in tools.values() for name in (tool.name, *(p.name for p in tool.parameters))}
    coded = {name for name in names if "_" in name or any(letter.isupper() for letter in name[1:])}
    for row in chain(GOOD, BAD):
        words = {word.strip(".,:;!?()'\"") for word in row["query"].replace("/", " ").split()}
        if words & coded:
            assert row.get("fault", {}).get("kind") == "leaked-name", row["id"]
