"""The published readings: complete, scored as the page says, and of requests whose class the key names."""

from __future__ import annotations

from pathlib import Path

import pytest

from datagen.synthetic_request import CLASSES
from ontology.errors import EgotoolsError
from research.reader_answers import Answer, Gold
from research.readings.__main__ import FOLDER, PAGE, READERS, Reading, read_rounds, tables


def test_the_page_has_the_figures_of_the_readings() -> None:
    assert "\n".join(tables(read_rounds())).strip() in PAGE.read_text(encoding="utf-8")


def test_each_reading_has_two_readers_who_answered_every_row() -> None:
    readings = [one for of in read_rounds().values() for one in of]
    folders = {path.parent for path in FOLDER.glob("*/*/sheet.jsonl")}
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


def test_a_reading_whose_files_do_not_belong_together_is_an_error(tmp_path: Path) -> None:
    folder = tmp_path / "first" / "shop"
    folder.mkdir(parents=True)
    (folder / "sheet.jsonl").write_text('{"id": "r1", "text": "hello"}\n', encoding="utf-8")
    (folder / "key.jsonl").write_text('{"id": "r1", "request": "q", "tools": ["a"]}\n', encoding="utf-8")
    for reader in READERS:
        (folder / f"{reader}.jsonl").write_text('{"id": "r2", "needed": [], "typeable": true}\n', encoding="utf-8")
    with pytest.raises(EgotoolsError, match="'r2' is not in the sheet"):
        read_rounds(tmp_path)
