"""The 15 questions on countries (appendix C.2 of the paper), with truths read from the packages, not from the graph made of them.

Names are those of the packages; what :mod:`scripts.graphseek.countries_tables` calls otherwise stands in no truth. The union of England is
written by hand, since ``pycountry`` has countries and a province there.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

from scripts.graphseek.countries_tables import read_countries
from scripts.graphseek.question import Question, Truth

__all__ = ["countries_questions"]

_HEMISPHERE = "hemisphere"
_LOCATED = "located in"
_TYPE = "administrative type"
_SELECTION = "selection by type and place"
_PARTS = "political composition"


def countries_questions(folder: Path) -> list[Question]:
    """Return the questions with their truths.

    :param folder: the unpacked package ``world-countries``.
    :raises ImportError: when ``pycountry`` is not installed.
    :raises StorageError: when the folder is not that package.
    """
    pycountry = import_module("pycountry")
    world = _World(pycountry, folder)
    asked = [
        (_LOCATED, "Where is the state of Morelos located?", world.country_of("MX-MOR")),
        (_HEMISPHERE, "In which hemisphere is Botswana located?", world.hemisphere_of("BW")),
        (
            _HEMISPHERE,
            "Which country is located in the Northern Hemisphere?",
            world.northern(),
        ),
        (_TYPE, "What type of area is Mexico City in Mexico?", world.type_of("MX-CMX")),
        (_SELECTION, "Which one is a state in Australia?", world.of_type("AU", "State")),
        (_TYPE, "New South Wales is an Australian what?", world.type_of("AU-NSW")),
        (_TYPE, "What type of subdivision is Alabama in the United States of America?", world.type_of("US-AL")),
        (_LOCATED, "Where is California located?", world.country_of("US-CA")),
        (_SELECTION, "Which federal district is located in the United States?", world.of_type("US", "District")),
        (_LOCATED, "In which country is Yukon located?", world.country_of("CA-YT")),
        (_LOCATED, "Cornwall is a county located in which country?", world.country_of("GB-CON")),
        (
            _PARTS,
            "England is a constituent of which political unit, along with which other parts?",
            _names(["United Kingdom"], also=["England"], more=["Northern Ireland", "Scotland", "Wales"]),
        ),
        (_SELECTION, "Which type of subdivision is found in England?", world.types_in("GB-ENG")),
        (_LOCATED, "Heilongjiang is a province located in which country?", world.country_of("CN-HL")),
        (
            _TYPE,
            "Which type of subdivision is Xinjiang in the People's Republic of China?",
            world.type_of("CN-XJ"),
        ),
    ]
    return [
        Question(id=f"countries-{number:02}", graph="countries", family=family, text=text, truth=truth)
        for number, (family, text, truth) in enumerate(asked, start=1)
    ]


def _names(values: Iterable[str], also: Iterable[str] = (), more: Iterable[str] = ()) -> Truth:
    parts = [tuple(sorted(set(values))), tuple(sorted(set(more)))]
    return Truth(kind="names", parts=tuple(part for part in parts if part), also=tuple(also))


def _hemisphere(side: str) -> str:
    return f"{side} Hemisphere"


class _World:
    """The two packages."""

    def __init__(self, pycountry: Any, folder: Path) -> None:
        self._records = {record["cca2"]: record for record in read_countries(folder)}
        self._subdivisions = {str(each.code): each for each in pycountry.subdivisions}

    def country_of(self, code: str) -> Truth:
        """The country, at the end of the chain; what lies between, and the parts of the world it is in, may be told too."""
        record = self._records[self._subdivisions[code].country_code]
        between = []
        while code := self._subdivisions[code].parent_code or "":
            between.append(self._subdivisions[code].name)
        around = [record["name"]["official"], record["region"], record["subregion"]]
        return _names([record["name"]["common"]], also=[*between, *around])

    def hemisphere_of(self, country: str) -> Truth:
        latitude, longitude = self._records[country]["latlng"]
        sides = ["Northern" if latitude > 0 else "Southern"] if latitude else []
        return _names(map(_hemisphere, sides), also=[_hemisphere("Eastern" if longitude > 0 else "Western")])

    def northern(self) -> Truth:
        return _names(each["name"]["common"] for each in self._records.values() if each["latlng"][0] > 0)

    def type_of(self, code: str) -> Truth:
        return _names([self._subdivisions[code].type])

    def of_type(self, country: str, kind: str) -> Truth:
        """``District`` of the United States is what the graph calls a federal district."""
        subdivisions = self._subdivisions.values()
        return _names(each.name for each in subdivisions if each.country_code == country and each.type == kind)

    def types_in(self, code: str) -> Truth:
        return _names(each.type for each in self._subdivisions.values() if each.parent_code == code)
