"""The published readings: complete, scored as the page says, and of requests whose class the key names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from datagen.synthetic_request import CLASSES
from ontology.errors import DocumentError, EgotoolsError
from research.reader_answers import Answer, Gold
from research.readings.__main__ import (
    FOLDER,
    PAGE,
    READERS,
    ROUNDS,
    Reading,
    by_catalogue,
    long_readings,
    read_rounds,
    tables,
    unanswerable_table,
)
from research.readings.servable import ServableRow, read_servable, servable_table


def test_the_page_has_the_figures_of_the_readings() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for lines in (tables(read_rounds()), unanswerable_table(), by_catalogue({"long": long_readings()})):
        assert "\n".join(lines).strip() in page


def test_each_reading_has_two_readers_who_answered_every_row() -> None:
    readings = [one for of in read_rounds().values() for one in of]
    folders = {path.parent for name in ROUNDS for path in FOLDER.glob(f"{name}/*/sheet.jsonl")}
    assert len(readings) == len(folders) >= 6
    for one in readings:
        assert len(one.gold) >= 80
        assert all(answers.keys() == one.gold.keys() for answers in one.answers)
        assert {gold.request_class for gold in one.gold.values()} <= set(CLASSES)


def test_the_figures_by_hand() -> None:
    gold = {
        row: Gold(id=row, request=row, slots=(("a",),), request_class=name)
        for row, name in (("1", "single-intent"), ("2", "single-intent"), ("3", "multi-intent"))
    }
    first = {row: Answer(id=row, slots=(("a",),), typeable=True) for row in gold}
    second = first | {"2": Answer(id="2", slots=(("b",),), typeable=False)}
    lines = list(tables({"first": [Reading(catalogue="company", gold=gold, answers=(first, second))]}))
    assert "| first | company | 3 | 0 % / 33 % | 100 % / 67 % | 0.00, 0.00 |" in lines
    assert "| single-intent | 3 of 4; 1 |" in lines
    assert "| multi-intent | 2 of 2; 0 |" in lines
    assert "| ir-multi-intent | – |" in lines


def test_what_readers_say_of_unanswerable_requests_by_hand() -> None:
    rows = [
        ServableRow(kind="other-domain", servable=(False, "partly"), typeable=(True, False)),
        ServableRow(kind="other-domain", servable=(False, True), typeable=(True, True)),
        ServableRow(kind="answerable", servable=(True, True), typeable=(False, True)),
    ]
    _, _, *lines = servable_table({"shop": rows})
    assert lines == [
        "| shop | other-domain | 2 | 0 / 1 | 0 / 1 | 2 / 0 | 2 / 1 |",
        "| shop | answerable | 1 | 1 / 1 | 0 / 0 | 0 / 0 | 0 / 1 |",
    ]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ({"id": "r1", "servable": "yes", "typeable": True}, "it is no answer"),
        ({"id": "r1", "servable": 1, "typeable": True}, "it is no answer"),
        ({"id": "r2", "servable": True, "typeable": True}, "its rows are not those of the sheet"),
    ],
)
def test_an_answer_that_is_none_is_an_error(tmp_path: Path, answer: dict[str, Any], message: str) -> None:
    (tmp_path / "sheet.jsonl").write_text('{"id": "r1", "text": "hello"}\n', encoding="utf-8")
    (tmp_path / "key.jsonl").write_text('{"id": "r1", "kind": "answerable"}\n', encoding="utf-8")
    (tmp_path / "reader1.jsonl").write_text(json.dumps(answer) + "\n", encoding="utf-8")
    with pytest.raises(DocumentError, match=message):
        read_servable(tmp_path, ["reader1"])


def test_a_key_without_kinds_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "sheet.jsonl").write_text('{"id": "r1", "text": "hello"}\n', encoding="utf-8")
    (tmp_path / "key.jsonl").write_text('{"id": "r1", "tools": []}\n', encoding="utf-8")
    with pytest.raises(DocumentError, match="it has no kind"):
        read_servable(tmp_path, [])


def test_a_reading_whose_files_do_not_belong_together_is_an_error(tmp_path: Path) -> None:
    folder = tmp_path / "first" / "shop"
    folder.mkdir(parents=True)
    (folder / "sheet.jsonl").write_text('{"id": "r1", "text": "hello"}\n', encoding="utf-8")
    (folder / "key.jsonl").write_text('{"id": "r1", "request": "q", "tools": ["a"]}\n', encoding="utf-8")
    for reader in READERS:
        (folder / f"{reader}.jsonl").write_text('{"id": "r2", "needed": [], "typeable": true}\n', encoding="utf-8")
    with pytest.raises(EgotoolsError, match="'r2' is not in the sheet"):
        read_rounds(tmp_path)
