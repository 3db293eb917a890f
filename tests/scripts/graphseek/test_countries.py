"""The graph of countries and its questions, on records like those of the packages."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from datagen.ev_graph.graph_table import GraphTable
from ontology.errors import StorageError
from planners.graphs.loading.csv_tables import csv_tables
from scripts import countries_graph
from scripts.graphseek.countries_questions import countries_questions
from scripts.graphseek.countries_tables import country_tables, hemisphere, subdivision_name
from scripts.graphseek.csv_folder import write_csv_folder

_COUNTRIES: tuple[tuple[str, str, str, str, str, float, float, list[str], list[str]], ...] = (
    ("GB", "GBR", "United Kingdom", "Europe", "Northern Europe", 54.0, -2.0, ["London"], ["IRL", "UNK"]),
    ("IE", "IRL", "Ireland", "Europe", "Northern Europe", 53.0, -8.0, ["Dublin"], ["GBR"]),
    ("BW", "BWA", "Botswana", "Africa", "Southern Africa", -22.0, 24.0, ["Gaborone"], []),
    ("AQ", "ATA", "Antarctica", "Antarctic", "", -90.0, 0.0, [], []),
    ("MX", "MEX", "Mexico", "Americas", "North America", 23.0, -102.0, ["Mexico City"], []),
    ("US", "USA", "United States", "Americas", "North America", 38.0, -97.0, ["Washington D.C."], []),
    ("AU", "AUS", "Australia", "Oceania", "Australia and New Zealand", -27.0, 133.0, ["Canberra"], []),
    ("CA", "CAN", "Canada", "Americas", "North America", 60.0, -95.0, ["Ottawa"], []),
    ("CN", "CHN", "China", "Asia", "Eastern Asia", 35.0, 105.0, ["Beijing"], []),
)
_SUBDIVISIONS = (
    ("MX-MOR", "Morelos", "State", None),
    ("MX-CMX", "Ciudad de México", "Federal entity", None),
    ("AU-NSW", "New South Wales", "State", None),
    ("AU-NT", "Northern Territory", "Territory", None),
    ("US-AL", "Alabama", "State", None),
    ("US-CA", "California", "State", None),
    ("US-DC", "District of Columbia", "District", None),
    ("CA-YT", "Yukon", "Territory", None),
    ("GB-ENG", "England", "Country", None),
    ("GB-SCT", "Scotland", "Country", None),
    ("GB-WLS", "Wales [Cymru GB-CYM]", "Country", None),
    ("GB-NIR", "Northern Ireland", "Province", None),
    ("GB-CON", "Cornwall", "Unitary authority", "GB-ENG"),
    ("CN-HL", "Heilongjiang Sheng", "Province", None),
    ("CN-XJ", "Xinjiang Uygur Zizhiqu", "Autonomous region", None),
)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder like that of ``world-countries``, and a stand-in for ``pycountry``."""
    records = [
        {
            "cca2": two,
            "cca3": three,
            "name": {"common": name, "official": f"The {name}"},
            "status": "officially-assigned",
            "region": region,
            "subregion": subregion,
            "latlng": [latitude, longitude],
            "capital": capitals,
            "borders": borders,
            "area": -1 if two == "AQ" else 10.5,
            "independent": two != "AQ",
            "landlocked": two == "BW",
        }
        for two, three, name, region, subregion, latitude, longitude, capitals, borders in _COUNTRIES
    ]
    records.append({**records[0], "cca2": "XK", "status": "user-assigned"})
    (tmp_path / "countries.json").write_text(json.dumps(records), encoding="utf-8")
    module = ModuleType("pycountry")
    module.__dict__["subdivisions"] = [
        SimpleNamespace(code=code, name=name, type=kind, parent_code=parent, country_code=code[:2])
        for code, name, kind, parent in _SUBDIVISIONS
    ]
    monkeypatch.setitem(sys.modules, "pycountry", module)
    return tmp_path


def _rows(tables: list[GraphTable], name: str, *ends: str) -> list[tuple[object, ...]]:
    return [row for table in tables if (table.type, table.ends) == (name, ends) for row in table.rows()]


def test_a_place_is_in_its_parent_and_only_then_in_the_country(package: Path) -> None:
    tables = country_tables(package)
    assert _rows(tables, "LOCATED_IN", "Subdivision", "Subdivision") == [("GB-CON", "GB-ENG")]
    outer = _rows(tables, "LOCATED_IN", "Subdivision", "Country")
    assert ("GB-ENG", "GB") in outer
    assert ("GB-CON", "GB") not in outer
    assert len(outer) == len(_SUBDIVISIONS) - 1


def test_countries_without_a_code_borders_to_them_and_unknown_areas_are_left_out(package: Path) -> None:
    tables = country_tables(package)
    countries = {row[0]: row for row in _rows(tables, "Country")}
    assert set(countries) == {two for two, *_ in _COUNTRIES}
    assert countries["AQ"][5:8] == ("Southern Hemisphere", None, False)
    assert _rows(tables, "BORDERS", "Country", "Country") == [("GB", "IE"), ("IE", "GB")]
    assert _rows(tables, "PART_OF", "Country", "Region") == [("AQ", "Antarctic")]


def test_names_and_types_are_those_people_use(package: Path) -> None:
    named = {row[0]: (row[1], row[3]) for row in _rows(country_tables(package), "Subdivision")}
    assert named["CN-XJ"] == ("Xinjiang", "Autonomous region")
    assert named["MX-CMX"] == ("Mexico City", "Federal entity")
    assert named["GB-WLS"] == ("Wales", "Constituent country")
    assert named["US-DC"] == ("District of Columbia", "Federal district")
    assert subdivision_name("CN-BJ", "Beijing Shi") == "Beijing"
    assert subdivision_name("XX-1", "Shi") == "Shi"
    assert [hemisphere(value) for value in (1, 0, -0.5)] == ["Northern Hemisphere", None, "Southern Hemisphere"]


def test_truths_are_read_from_the_records(package: Path) -> None:
    truths = {each.id: each.truth for each in countries_questions(package)}
    assert truths["countries-02"].parts == (("Southern Hemisphere",),)
    assert truths["countries-03"].parts == (
        ("Canada", "China", "Ireland", "Mexico", "United Kingdom", "United States"),
    )
    assert truths["countries-05"].parts == (("New South Wales",),)
    assert truths["countries-09"].parts == (("District of Columbia",),)
    assert truths["countries-11"].parts == (("United Kingdom",),)
    assert "England" in truths["countries-11"].also
    assert truths["countries-12"].parts == (("United Kingdom",), ("Northern Ireland", "Scotland", "Wales"))
    assert truths["countries-13"].parts == (("Unitary authority",),)


def test_the_script_writes_files_with_typed_headers(package: Path, tmp_path: Path) -> None:
    folder = tmp_path / "graph"
    assert countries_graph.main([str(folder), "--package", str(package)]) == 0
    with (folder / "nodes_Country.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0][:2] == ["key:ID", "name:string"]
    assert rows[0][-2:] == ["independent:boolean", "landlocked:boolean"]
    assert rows[1][5:] == ["Southern Hemisphere", "", "false", "false"]
    with (folder / "relationships_PART_OF.3.csv").open(encoding="utf-8", newline="") as file:
        assert list(csv.reader(file)) == [[":START_ID(Country)", ":END_ID(Region)"], ["AQ", "Antarctic"]]


def test_a_folder_that_is_not_the_package_is_refused(
    package: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (package / "countries.json").write_text("[{}]", encoding="utf-8")
    with pytest.raises(StorageError):
        country_tables(package)
    assert countries_graph.main([str(tmp_path / "out"), "--package", str(package)]) == 1
    assert "world-countries" in capsys.readouterr().err


def test_the_loader_reads_the_files_as_the_tables_they_were_written_from(package: Path, tmp_path: Path) -> None:
    tables = country_tables(package)
    write_csv_folder(tables, tmp_path / "all")
    nodes, relationships = csv_tables(tmp_path / "all")
    read = {(each.type, "", ""): list(each.rows) for each in nodes}
    read |= {(each.type, each.source_type, each.target_type): list(each.rows) for each in relationships}
    assert read == {(each.type, *(each.ends or ("", ""))): list(each.rows()) for each in tables}
