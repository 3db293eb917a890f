"""Countries and their subdivisions as tables of a graph, from the packages ``pycountry`` and ``world-countries``.

The set of the paper (WikiDataSets, Countries) cannot be had; its 15 questions are asked of this graph instead.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

from benchmarks.ev_graph.graph_table import ColumnType, GraphTable, table_of_rows
from ontology.errors import StorageError

__all__ = ["country_tables", "hemisphere", "read_countries", "subdivision_name"]

_Record: TypeAlias = Mapping[str, Any]

_CONSTITUENTS = ("GB-ENG", "GB-SCT", "GB-WLS", "GB-NIR")
"""The package calls three of them "Country" and one "Province"; here they are constituent countries."""
_FEDERAL_DISTRICTS = ("US-DC",)
"""The package calls it "District"; it is a federal district, as BR-DF, which the package does call so."""
_ENGLISH = {"MX-CMX": "Mexico City"}
"""Names of subdivisions that questions give in English and the package in Spanish."""
_CHINESE_WORDS = frozenset({"Sheng", "Shi", "Zizhiqu", "SAR", "Huizu", "Zhuangzu", "Uygur"})
"""Words for kinds of subdivisions, and of the peoples of autonomous regions, which the package's names of China end with."""


def read_countries(folder: Path) -> list[_Record]:
    """Return the records of ``world-countries`` that have a code of ISO 3166-1, by code.

    :param folder: the unpacked package.
    :raises StorageError: when the folder is not that package.
    """
    try:
        records = json.loads((folder / "countries.json").read_text(encoding="utf-8"))
        return sorted(
            (each for each in records if each["status"] == "officially-assigned"), key=lambda each: each["cca2"]
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StorageError(
            "the package world-countries is not there",
            subject=str(folder),
            remedy="Unpack what `npm pack world-countries` gives",
        ) from error


def hemisphere(latitude: float) -> str | None:
    """Return which side of the equator; None on it."""
    return None if latitude == 0 else f"{'Northern' if latitude > 0 else 'Southern'} Hemisphere"


def subdivision_name(code: str, iso_name: str) -> str:
    """Return what people call a subdivision: without notes in brackets, and words of its kind in names of China."""
    name = _ENGLISH.get(code) or iso_name.partition(" [")[0]
    if not code.startswith("CN-"):
        return name
    return " ".join(word for word in name.split() if word not in _CHINESE_WORDS)


def country_tables(folder: Path) -> list[GraphTable]:
    """Return all tables.

    :param folder: the unpacked package ``world-countries``.
    :raises StorageError: when the folder is not that package.
    :raises ImportError: when ``pycountry`` is not installed.
    """
    pycountry = import_module("pycountry")
    countries = read_countries(folder)
    subdivisions = sorted(pycountry.subdivisions, key=lambda each: str(each.code))
    return [*_country_nodes(countries), _subdivision_nodes(subdivisions), *_relationships(countries, subdivisions)]


def _country_nodes(countries: Sequence[_Record]) -> list[GraphTable]:
    rows = [
        (
            each["cca2"],
            each["name"]["common"],
            each["name"]["official"],
            float(each["latlng"][0]),
            float(each["latlng"][1]),
            hemisphere(each["latlng"][0]),
            float(each["area"]) if each["area"] > 0 else None,
            bool(each["independent"]),
            bool(each["landlocked"]),
        )
        for each in countries
    ]
    columns: dict[str, ColumnType] = {
        "officialName": "string",
        "latitude": "number",
        "longitude": "number",
        "hemisphere": "string",
        "area": "number",
        "independent": "boolean",
        "landlocked": "boolean",
    }
    named = {kind: sorted({each[kind] for each in countries} - {""}) for kind in ("region", "subregion")}
    return [
        _nodes("Country", rows, columns),
        _nodes("Region", [(name, name) for name in named["region"]]),
        _nodes("Subregion", [(name, name) for name in named["subregion"]]),
        _nodes("City", [(key, name) for _, key, name in _capitals(countries)]),
    ]


def _capitals(countries: Sequence[_Record]) -> list[tuple[str, str, str]]:
    return [
        (each["cca2"], f"{each['cca2']}-capital-{number}", name)
        for each in countries
        for number, name in enumerate(each["capital"], start=1)
    ]


def _subdivision_nodes(subdivisions: Sequence[Any]) -> GraphTable:
    kinds = dict.fromkeys(_CONSTITUENTS, "Constituent country") | dict.fromkeys(_FEDERAL_DISTRICTS, "Federal district")
    rows = [
        (each.code, subdivision_name(each.code, each.name), each.name, kinds.get(each.code, each.type))
        for each in subdivisions
    ]
    return _nodes("Subdivision", rows, {"isoName": "string", "type": "string"})


def _relationships(countries: Sequence[_Record], subdivisions: Sequence[Any]) -> list[GraphTable]:
    by_three = {each["cca3"]: each["cca2"] for each in countries}
    inner = [(each.code, each.parent_code) for each in subdivisions if each.parent_code]
    outer = [(each.code, each.country_code) for each in subdivisions if not each.parent_code]
    regions = sorted({(each["subregion"], each["region"]) for each in countries if each["subregion"]})
    borders = [(each["cca2"], by_three[other]) for each in countries for other in each["borders"] if other in by_three]
    in_subregion = [(each["cca2"], each["subregion"]) for each in countries if each["subregion"]]
    in_region = [(each["cca2"], each["region"]) for each in countries if not each["subregion"]]
    return [
        _edges("LOCATED_IN", "Subdivision", "Subdivision", inner),
        _edges("LOCATED_IN", "Subdivision", "Country", outer),
        _edges("PART_OF", "Subdivision", "Country", [(code, "GB") for code in _CONSTITUENTS]),
        _edges("PART_OF", "Country", "Subregion", in_subregion),
        _edges("PART_OF", "Country", "Region", in_region),
        _edges("PART_OF", "Subregion", "Region", regions),
        _edges("BORDERS", "Country", "Country", borders),
        _edges("HAS_CAPITAL", "Country", "City", [(code, key) for code, key, _ in _capitals(countries)]),
    ]


def _nodes(name: str, rows: Sequence[tuple[object, ...]], more: Mapping[str, ColumnType] | None = None) -> GraphTable:
    columns: dict[str, ColumnType] = {"key": "string", "name": "string", **(more or {})}
    return table_of_rows("node", name, (), tuple(columns.items()), rows)


def _edges(name: str, source: str, target: str, pairs: Sequence[tuple[object, ...]]) -> GraphTable:
    return table_of_rows("relationship", name, (source, target), (("source", "string"), ("target", "string")), pairs)
