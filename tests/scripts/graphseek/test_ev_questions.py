"""Truths of the questions on the EV graph: on a graph of a few rows by hand, and the shipped ones against the generator."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import replace

import pytest

from datagen.ev_graph.ev_tables import ev_tables
from datagen.ev_graph.graph_table import ColumnType, GraphTable, table_of_rows
from scripts.graphseek.ev_frames import ev_frames
from scripts.graphseek.ev_questions import ev_questions, random_ev_questions
from scripts.graphseek.ev_truths import ASSEMBLED_AT, ev_truth
from scripts.graphseek.question import (
    FIRST_PARAPHRASES,
    SECOND_PARAPHRASES,
    TASKS,
    Question,
    paraphrases,
    write_questions,
)
from scripts.graphseek.write_tasks import all_ev_questions

_FLOW = ("costClass", "cost", "year", "quarter", "month")
_TYPES: dict[str, ColumnType] = {
    "cost": "number",
    **dict.fromkeys(("year", "quarter", "month", "assemblyTier"), "integer"),
}


def _columns(names: tuple[str, ...]) -> tuple[tuple[str, ColumnType], ...]:
    return tuple((name, _TYPES.get(name, "string")) for name in names)


def _nodes(name: str, columns: tuple[str, ...], *rows: tuple[object, ...]) -> GraphTable:
    return table_of_rows("node", name, (), _columns(("key", *columns)), rows)


def _edges(name: str, ends: str, columns: tuple[str, ...], *rows: tuple[object, ...]) -> GraphTable:
    source, target = ends.split(" ")
    return table_of_rows("relationship", name, (source, target), _columns(("source", "target", *columns)), rows)


def _pairs(text: str) -> list[tuple[str, str]]:
    return [(source, target) for source, _, target in (pair.partition(">") for pair in text.split())]


def _flows(text: str, cost_class: str, cost: float = 1.0) -> Iterator[tuple[object, ...]]:
    for source, target in _pairs(text):
        yield source, target, cost_class, cost, 2020, 1, 1


def _tiny() -> Iterator[GraphTable]:
    yield _nodes("Region", ("name",), ("RG-1", "West"), ("RG-2", "East"))
    yield _nodes("BusinessUnit", ("name",), ("BU-1", "Drives"), ("BU-2", "Tools"))
    yield _nodes("ProcessFamily", ("label",), ("PF-1", "welding"), ("PF-2", "gluing"))
    months = (("CM-1", 2020, 1, 1), ("CM-2", 2020, 2, 4), ("CM-3", 2021, 1, 1))
    yield _nodes("CalendarMonth", ("year", "quarter", "month"), *months)
    yield _nodes("FactorySite", ("name",), ("FS-1", "S1"), ("FS-2", "S2"), ("FS-3", "S3"))
    yield _nodes("AssemblyLine", ("name",), ("AL-1", "L1"), ("AL-2", "L2"))
    yield _nodes("VehicleModel", ("name",), *((f"VM-{n}", f"M{n}") for n in range(1, 5)))
    yield _nodes("AssemblyProcess", ("name",), ("AP-1", "weld"), ("AP-2", "bolt"), ("AP-3", "glue"))
    names = ("P1", "P2", "P3", "P4", "P5", "P6", "Twin", "Twin")
    yield _nodes("BatteryModule", ("name",), *((f"BMK-{n}", name) for n, name in enumerate(names, start=1)))
    yield _nodes("DriveAssembly", ("name",), ("DA-1", "D1"), ("DA-2", "D2"))
    costs = (("AX-1", 3, 2022, 1.5), ("AX-2", 3, 2022, 2.25), ("AX-3", 2, 2022, 8.0), ("AX-4", 3, 2021, 16.0))
    yield _nodes("AuxiliaryModule", ("assemblyTier", "year", "cost"), *costs)
    yield _edges("LOCATED_IN", "FactorySite Region", (), *_pairs("FS-1>RG-1 FS-2>RG-1 FS-3>RG-2"))
    yield _edges("INSTALLED_AT", "AssemblyLine FactorySite", (), *_pairs("AL-1>FS-1 AL-2>FS-2"))
    yield _edges("PROCESSED_AT", "AssemblyProcess AssemblyLine", (), *_pairs("AP-1>AL-1 AP-2>AL-1 AP-3>AL-2"))
    yield _edges("BELONGS_TO", "AssemblyProcess ProcessFamily", (), *_pairs("AP-1>PF-1 AP-2>PF-1 AP-3>PF-2"))
    assigned = (("AP-1", "BU-1", 2020), ("AP-2", "BU-1", 2020), ("AP-3", "BU-2", 2021))
    yield _edges("ASSIGNED_TO", "AssemblyProcess BusinessUnit", ("year",), *assigned)
    built = "BMK-1>FS-1 BMK-2>FS-1 BMK-3>FS-2 BMK-4>FS-2 BMK-5>FS-3"
    yield _edges("BUILT_AT", "BatteryModule FactorySite", (), *_pairs(built))
    made = "BMK-1>CM-1 BMK-2>CM-1 BMK-3>CM-2 BMK-4>CM-3"
    yield _edges("PRODUCED_IN", "BatteryModule CalendarMonth", (), *_pairs(made))
    yield _edges(
        "ASSEMBLED_IN", "VehicleModel CalendarMonth", (), *_pairs("VM-1>CM-1 VM-2>CM-1 VM-1>CM-2 VM-2>CM-2 VM-3>CM-3")
    )
    yield _edges("SCHEDULED_IN", "VehicleModel CalendarMonth", (), *_pairs("VM-1>CM-1 VM-1>CM-3 VM-2>CM-1"))
    yield _edges(
        "ASSEMBLED_AT",
        "VehicleModel FactorySite",
        _FLOW,
        *_flows("VM-1>FS-1 VM-2>FS-2 VM-4>FS-1 VM-4>FS-2", "Plan"),
        *_flows("VM-1>FS-1 VM-2>FS-2 VM-3>FS-3 VM-4>FS-3", "Actuals"),
    )
    yield _edges(
        "OUTPUTS",
        "AssemblyProcess VehicleModel",
        _FLOW,
        *_flows("AP-1>VM-1 AP-2>VM-1", "Plan"),
        *_flows("AP-1>VM-1 AP-2>VM-1", "Actuals"),
        ("AP-3", "VM-1", "Actuals", 1.0, 2020, 2, 4),
        ("AP-1", "VM-2", "Actuals", 1.0, 2021, 1, 1),
    )
    yield _edges(
        "INTEGRATED_IN",
        "BatteryModule VehicleModel",
        _FLOW,
        *_flows("BMK-1>VM-1 BMK-2>VM-1 BMK-2>VM-2 BMK-6>VM-1 BMK-6>VM-2", "Plan"),
        *(row for place in ("Plan", "Actuals") for row in _flows("BMK-3>VM-4", place, 100.0)),
        *(row for place in ("Plan", "Actuals") for row in _flows("BMK-4>VM-4", place, 90.0)),
        *(row for place in ("Plan", "Actuals") for row in _flows("BMK-5>VM-4", place, 80.0)),
        *_flows("BMK-6>VM-4 BMK-7>VM-4 BMK-8>VM-4", "Actuals"),
    )
    yield _edges("INTEGRATED_IN", "BatteryModule DriveAssembly", _FLOW, *_flows("BMK-1>DA-2", "Plan"))
    yield _edges("INTEGRATED_IN", "DriveAssembly DriveAssembly", _FLOW, *_flows("DA-2>DA-1", "Plan"))
    yield _edges("INTEGRATED_IN", "DriveAssembly VehicleModel", _FLOW, *_flows("DA-1>VM-2 DA-1>VM-3", "Plan"))


_BY_HAND: dict[str, tuple[dict[str, str | int], tuple[tuple[str | float, ...], ...]]] = {
    "ev-01": ({"year": 2021}, (("P4",),)),
    "ev-02": ({"year": 2021, "quarter": 1, "quarter_word": "first"}, (("M3",),)),
    "ev-03": ({"family": "gluing"}, (("M1",),)),
    "ev-04": ({"tier": 3, "year": 2022}, ((3.75,),)),
    "ev-05": ({"module": "P1"}, (("M1", "M2", "M3"),)),
    "ev-06": ({"module": "P2"}, (("S1", "S2"), ("West",))),
    "ev-07": ({"site": "S3"}, (("P5",),)),
    "ev-08": ({}, (("M4",),)),
    "ev-09": ({}, (("M1",),)),
    "ev-10": ({"model": "M4", "month": "January", "year": 2020}, (("S1", "S2"),)),
    "ev-11": ({"model": "M4"}, (("P3", "P4", "P5"),)),
    "ev-12": ({"module": "P6"}, (("M1", "M2"),)),
    "ev-13": ({"unit": "Tools", "year": 2021}, (("glue",),)),
    "ev-14": ({"site": "S2"}, (("glue",),)),
    "ev-15": ({"model": "M1", "year": 2020, "quarter": 1, "quarter_word": "first"}, (("bolt", "weld"),)),
}


@pytest.fixture(scope="module")
def tiny() -> dict[str, Question]:
    return {each.id: each for each in ev_questions(ev_frames(_tiny()))}


@pytest.mark.parametrize("question", _BY_HAND)
def test_truths_of_a_graph_of_a_few_rows_are_those_found_by_hand(tiny: dict[str, Question], question: str) -> None:
    parameters, parts = _BY_HAND[question]
    assert tiny[question].parameters == parameters
    assert tiny[question].truth.parts == parts
    assert all(str(value) in tiny[question].text for name, value in parameters.items() if name != "quarter")


def test_random_parameters_are_any_that_the_graph_holds_each_once() -> None:
    drawn = random_ev_questions(ev_frames(_tiny()), 9)
    assert {each.id for each in drawn} == _BY_HAND.keys() - {"ev-08", "ev-09"}
    texts = [each.text for each in drawn]
    assert len(set(texts)) == len(texts)
    modules = [each.parameters["module"] for each in drawn if each.id == "ev-12"]
    assert sorted(map(str, modules)) == ["P1", "P2", "P3", "P4", "P5", "P6"]  # a name of two modules asks nothing clear
    truths = {(each.id, *each.parameters.values()): each.truth.parts for each in drawn}
    assert truths["ev-12", "P1"] == (("M1",),)
    assert truths["ev-10", "M3", "January", 2020] == ((),)  # assembled in that month, and planned nowhere
    assert [each.text for each in random_ev_questions(ev_frames(_tiny()), 9)] == texts


def test_parameters_are_drawn_from_generated_tables_some_of_whose_nodes_have_no_year() -> None:
    drawn = random_ev_questions(ev_frames(ev_tables(0.02)), 3)
    assert len(drawn) == 3 * 13
    assert all(isinstance(each.parameters.get("year", 0), int) for each in drawn)


def test_a_site_that_makes_a_missing_module_is_affected_where_it_assembles_nothing_with_it() -> None:
    frames = ev_frames(_tiny())
    rows = frames.edges[ASSEMBLED_AT]
    edges = {**frames.edges, ASSEMBLED_AT: rows.loc[rows["source"] != "VM-4"]}
    truth = ev_truth(replace(frames, edges=edges), "ev-06", {"module": "P5"})
    assert truth.parts == (("S3",), ("East",))


@pytest.fixture(scope="module")
def shipped() -> list[Question]:
    return all_ev_questions()


def test_the_shipped_questions_are_those_of_the_graph_of_size_one(
    shipped: list[Question], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("tasks") / "ev.jsonl"
    write_questions(path, shipped)
    assert path.read_text(encoding="utf-8") == (TASKS / "ev.jsonl").read_text(encoding="utf-8")


def test_every_question_has_an_answer_and_ids_are_unique(shipped: list[Question]) -> None:
    assert all(part for each in shipped for part in each.truth.parts)
    records = [
        json.loads(line) for path in sorted(TASKS.glob("*.jsonl")) for line in path.read_text("utf-8").splitlines()
    ]
    ids = [record["id"] for record in records if "id" in record]
    assert len(set(ids)) == len(ids) == 25 + 15 + 26
    assert {"use-05"} == {record["follows"] for record in records if record.get("follows")}


def test_each_of_the_thirty_questions_has_a_paraphrase_in_other_words(shipped: list[Question]) -> None:
    countries = [json.loads(line) for line in (TASKS / "countries.jsonl").read_text(encoding="utf-8").splitlines()]
    asked = {each.id: each.text for each in shipped} | {record["id"]: record["text"] for record in countries}
    told = paraphrases(shipped)
    assert sorted(told) == [f"ev-{number:02}" for number in range(1, 16)]
    lines = (TASKS / "paraphrases.jsonl").read_text(encoding="utf-8").splitlines()
    templates = {record["question"]: record["template"] for record in map(json.loads, lines)}
    assert len(templates) == 30
    assert templates.keys() <= asked.keys()
    assert all("{" not in text and text != asked[name] for name, text in told.items())


def test_the_second_paraphrases_are_frozen_and_say_who_wrote_them() -> None:
    """Figures of their first run stand in the documents; a line that changed would take them back."""
    file = (TASKS / SECOND_PARAPHRASES).read_bytes()
    assert hashlib.sha256(file).hexdigest() == "cb1512278474b968b5c92ddfbc4fc19b663bf7ba9470413dcd9fd3aa754634a4"
    head, *records = map(json.loads, file.decode().splitlines())
    assert "but not the rules" in head["about"]
    assert [each["question"] for each in records] == [
        f"{graph}-{number:02}"
        for graph, count in (("ev", 15), ("countries", 15), ("tools", 25))
        for number in range(1, count + 1)
    ]


def test_other_words_are_filled_with_the_parameters_of_the_question(shipped: list[Question]) -> None:
    first, second = (paraphrases(shipped, file) for file in (FIRST_PARAPHRASES, SECOND_PARAPHRASES))
    assert first.keys() == second.keys() == {f"ev-{number:02}" for number in range(1, 16)}
    assert second["ev-01"] == "Which battery modules were manufactured during 2020?"
    assert not set(first.values()) & set(second.values())
