"""A question is answered right, or it is refused or asked back: what was recognised in it is never left out in silence.

Truths are computed from the rows of the graph, without the planner. ``RIGHT`` has forms that the rules promise to read, ``NEVER_WRONG`` those that
they may refuse.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias

import pytest

from tests.planners.graphseek.rules.harbour_graph import NODES, RELATIONSHIPS, drafted_catalog, write_harbours
from tests.planners.graphseek.rules.rule_runs import Answered, answer_all

_Node: TypeAlias = dict[str, Any]
_Truth: TypeAlias = "set[str] | float | dict[str, float]"
_REFUSED = ("unreadable", "asked back")
_ONLY_REFUSED = {"nothing in the graph says it"}
"""The truth of a question that can only be refused: no answer is this one."""


def _all(type_: str, holds: Callable[[_Node], bool] = lambda _: True) -> list[_Node]:
    columns, rows = NODES[type_]
    nodes = (dict(zip([name for name, _ in columns], row, strict=True)) for row in rows)
    return [each for each in nodes if holds(each)]


def _names(nodes: Iterable[_Node]) -> set[str]:
    return {each["name"] for each in nodes}


def _key(name: str) -> str:
    return next(str(each["key"]) for type_ in NODES for each in _all(type_) if each["name"] == name)


def _pairs(relationship: str) -> Iterator[tuple[str, str]]:
    yield from ((str(source), str(target)) for source, target, *_ in RELATIONSHIPS[relationship][3])


def _from(relationship: str, end: str) -> set[str]:
    """Keys at the beginnings of the relationships that end at a node."""
    return {source for source, target in _pairs(relationship) if target == end}


def _to(relationship: str, start: str) -> set[str]:
    return {target for source, target in _pairs(relationship) if source == start}


def _captains(holds: Callable[[_Node], bool]) -> list[_Node]:
    return _all("Captain", holds)


def _steers(ship: Callable[[_Node], bool]) -> set[str]:
    """Names of the captains that steer a ship that …"""
    ships = {each["key"] for each in _all("Ship", ship)}
    return _names(_captains(lambda each: bool(_to("STEERS", each["key"]) & ships)))


def _mean(numbers: Iterable[float]) -> float:
    known = list(numbers)
    return sum(known) / len(known)


def _by(nodes: Iterable[_Node], key: str, of: Callable[[list[_Node]], float]) -> dict[str, float]:
    groups: dict[str, list[_Node]] = {}
    for each in nodes:
        groups.setdefault(each[key], []).append(each)
    return {name: of(each) for name, each in groups.items()}


def _wages(nodes: Iterable[_Node]) -> float:
    return _mean(each["wage"] for each in nodes if each["wage"] is not None)


def _days(*ends: str) -> float:
    return sum(int(str(days)) for *pair, days in RELATIONSHIPS["STEERS"][3] if set(ends) <= set(map(str, pair)))


_AGES = sorted(_all("Captain"), key=lambda each: -each["age"])
_LICENSED = sorted(_all("Captain"), key=lambda each: str(each["licensed"]))
_STEERED = {each["name"]: len(_from("STEERS", each["key"])) for each in _all("Ship")}
_AT_VARNA = _from("LIVES_IN", _key("Varna"))
_KESTREL, _MIA, _ADA = _key("Kestrel"), _key("Mia Holm"), _key("Ada Winter")
_TRAINED = _to("TRAINS", _ADA)
_OF_SEAWAYS = _from("EMPLOYED_BY", _key("Seaways"))
_LICENSED_2021 = {each["key"] for each in _captains(lambda each: each["licensed"][:4] == "2021")}
_HEAVIEST = max(_all("Ship"), key=lambda each: each["tonnage"] or 0)["name"]
_RICH_CREWS = _names(
    _all(
        "Company",
        lambda firm: (
            len(
                [e for e in _captains(lambda e: (e["wage"] or 0) > 5000) if firm["key"] in _to("EMPLOYED_BY", e["key"])]
            )
            > 1
        ),
    )
)
_VARNA_CREWS = _names(
    _all("Company", lambda firm: len(_AT_VARNA & _from("EMPLOYED_BY", firm["key"])) > 1),
)

RIGHT: dict[str, _Truth] = {
    # which end of an order a superlative means
    "Which are the three oldest captains by age?": _names(_AGES[:3]),
    "Which captain is the oldest by age?": _names(_AGES[:1]),
    "Which captain is the youngest by age?": _names(_AGES[-1:]),
    "Which captain has the earliest licensed date?": _names(_LICENSED[:1]),
    # a date goes to the property that it stands beside
    "Which captains licensed in 2021 steer Kestrel?": _names(
        _captains(lambda each: each["key"] in _LICENSED_2021 & _from("STEERS", _KESTREL))
    ),
    "How many captains licensed in 2021 steer Kestrel?": len(_LICENSED_2021 & _from("STEERS", _KESTREL)),
    "Which captains steer ships launched after 2020?": _steers(lambda each: each["launched"] > "2020-12-31"),
    "Which captains steer ships launched before 2020?": _steers(lambda each: each["launched"] < "2020-01-01"),
    "Which captains steer ships launched in 2021?": _steers(lambda each: each["launched"][:4] == "2021"),
    "Which captains were licensed in 2021?": _names(_captains(lambda each: each["key"] in _LICENSED_2021)),
    "Which captains were licensed after 2020?": _names(_captains(lambda each: each["licensed"] > "2020-12-31")),
    # a negation behind a name
    "In which harbour do captains of Seaways not live?": _names(
        _all("Harbour", lambda each: not _from("LIVES_IN", each["key"]) & _OF_SEAWAYS)
    ),
    "Which ships does Mia Holm not steer?": _names(_all("Ship", lambda e: e["key"] not in _to("STEERS", _MIA))),
    "Which captains does Ada Winter not train?": _names(_captains(lambda each: each["key"] not in _TRAINED)),
    # a value, or none
    "Which ships have no tonnage?": _names(_all("Ship", lambda each: each["tonnage"] is None)),
    "How many captains have no wage?": len(_captains(lambda each: each["wage"] is None)),
    "Which captains have a wage?": _names(_captains(lambda each: each["wage"] is not None)),
    "Which ships have a tonnage?": _names(_all("Ship", lambda each: each["tonnage"] is not None)),
    # "who" behind a noun asks for nothing
    "What is the average age of captains who live in Varna?": _mean(
        each["age"] for each in _captains(lambda each: each["key"] in _AT_VARNA)
    ),
    "What is the average age of captains who steer Kestrel?": _mean(
        each["age"] for each in _captains(lambda each: each["key"] in _from("STEERS", _KESTREL))
    ),
    # a type, and behind it the name of something else
    "What is the total tonnage of the ships Mia Holm steers?": sum(
        each["tonnage"] for each in _all("Ship", lambda each: each["key"] in _to("STEERS", _MIA))
    ),
    # groups
    "What is the average age for each grade?": _by(_all("Captain"), "grade", lambda of: _mean(e["age"] for e in of)),
    "What is the average age by grade?": _by(_all("Captain"), "grade", lambda of: _mean(e["age"] for e in of)),
    "What is the average wage of the captains by grade?": _by(_all("Captain"), "grade", _wages),
    "How many captains by grade?": _by(_all("Captain"), "grade", len),
    # forms that were right before
    "Which captain has the highest wage?": _names([max(_all("Captain"), key=lambda each: each["wage"] or 0)]),
    "Which captains with a wage above 5000 live in Varna?": _names(
        _captains(lambda each: (each["wage"] or 0) > 5000 and each["key"] in _AT_VARNA)
    ),
    "Which companies have no captains?": {"Ostmar"},
    "How many ships launched after 2020 does Ida Voss steer?": 2,
    "Which ships were launched in the first quarter of 2021?": {"Heron"},
    "Which ships were launched in March 2023?": {"Curlew"},
    "Which ships have a tonnage above 2000?": _names(_all("Ship", lambda each: (each["tonnage"] or 0) > 2000)),
    "Which ships have a tonnage of 2600?": {"Heron"},
    "Which captain of Norline has the highest wage?": {"Mia Holm"},
    "Which captain of Norline is the oldest by age?": {"Tom Berg"},
    "What is the oldest age?": 62,
    "Which captains steer ships that Ida Voss inspects?": _steers(lambda each: each["name"] in ("Heron", "Osprey")),
    "Which captains with a wage do not steer a ship?": {"Ada Winter"},
    "Which company has the most captains?": {"Norline"},
}
NEVER_WRONG: dict[str, _Truth] = {
    "Which harbour is the oldest by depth?": set(),
    "Which captain is the newest?": _names(_LICENSED[-1:]),
    "Which captains live in the deepest harbour?": _names(
        _captains(lambda each: each["key"] in _from("LIVES_IN", _key("Gdansk")))
    ),
    "Which captains live in the largest harbour?": _ONLY_REFUSED,
    "Which captains steer the heaviest ship?": _steers(lambda each: each["name"] == _HEAVIEST),
    "Which captains steer the dearest ship?": _ONLY_REFUSED,
    "Which captains steer the ship with the highest tonnage?": _steers(lambda each: each["name"] == _HEAVIEST),
    "What is the age of the captain with the highest wage?": 57.0,
    "What is the wage of the oldest captain by age?": 5900.0,
    # two relationships between the types
    "Which ship has the most captains?": {
        name for name, number in _STEERED.items() if number == max(_STEERED.values())
    },
    "Which ships have fewer than two captains?": {name for name, number in _STEERED.items() if number < 2},
    "Which ships have exactly 2 captains?": {name for name, number in _STEERED.items() if number == 2},
    "Which ships have no captain?": {name for name, number in _STEERED.items() if not number},
    "Which ships have captains licensed in 2021?": _names(
        _all("Ship", lambda each: bool(_from("STEERS", each["key"]) & _LICENSED_2021))
    ),
    # words that belong to what is counted
    "Which companies have more than one captain with a wage above 5000?": _RICH_CREWS,
    "Which companies have more than one captain who lives in Varna?": _VARNA_CREWS,
    "Which companies have more than one captain from Varna?": _VARNA_CREWS,
    "Which company has the most captains with a wage above 5000?": {"Bluefleet", "Norline"},
    # a condition on something that is named
    "Which captains steer Kestrel with a tonnage above 2000?": set(),
    "Which captains steer ships with a tonnage above 2000?": _steers(lambda each: (each["tonnage"] or 0) > 2000),
    # properties of relationships
    "How many days does Mia Holm steer Kestrel?": _days(_MIA, _KESTREL),
    "How many days is Kestrel steered?": _days(_KESTREL),
    "What is the total of days on Kestrel?": _days(_KESTREL),
    "Which ships have the most days?": {"Kestrel"},
    "Which captains steer Kestrel for more than 60 days?": {"Mia Holm", "Jon Reed"},
    "How many tonnage does Kestrel have?": 900.0,
    # words that narrow or turn round what stands behind them
    "Which captains live outside Varna?": _names(_captains(lambda each: each["key"] not in _AT_VARNA)),
    "Which captains live near Varna?": _ONLY_REFUSED,
    "What is the total tonnage of sailing ships?": 1350.0,
    "What is the average age of captains outside Norline?": 46.6,
    "How many people are employed by Norline?": len(_from("EMPLOYED_BY", _key("Norline"))),
    "Which captains admire Kestrel?": _ONLY_REFUSED,
    # parts that no plan makes use of
    "List the names and wages of all captains.": _ONLY_REFUSED,
    "What are the age and the wage of Mia Holm?": _ONLY_REFUSED,
    "What is the tonnage by state of the ships?": _ONLY_REFUSED,
    "What is the average age of captains with more than one ship?": _ONLY_REFUSED,
    "Which other captains steer Kestrel?": _ONLY_REFUSED,
    "Which captains of grade first steer Kestrel?": {"Mia Holm"},
    "Which first captains steer Kestrel?": {"Mia Holm"},
    "Which captains steer Heron and train Jon Reed?": {"Mia Holm"},
    "Which captains steer Heron but do not train Jon Reed?": {"Ida Voss", "Tom Berg"},
    "Which captains steer ships Ida Voss inspects?": {"Mia Holm", "Ida Voss", "Tom Berg"},
    "Which captains licensed before 2010 steer ships launched after 2020?": {"Mia Holm", "Ida Voss"},
    "Which captains steer ships since 2021?": _ONLY_REFUSED,
    "Which captains live in a harbour with a depth above 11 and a depth below 13?": {"Mia Holm", "Jon Reed"},
    "Which captains steer the ship Mia Holm?": set(),
    "Which companies have more than two captains in Varna?": set(),
    "Which company has the most captains in Gdynia?": {"Bluefleet"},
    "Which captains live in harbours with more than one company?": {"Mia Holm", "Jon Reed"},
    "Which captains live in a harbour with no company?": {"Nina Falk", "Tom Berg"},
    "What is the second highest wage?": 6400,
    "What share of captains live in Varna?": 2 / 7,
    "Do all captains have a wage?": _ONLY_REFUSED,
    "Which ships have a tonnage of 2000?": set(),
    "In which harbour do captains of Ostmar not live?": _names(_all("Harbour")),
    "Which ships does Mia Holm's trainer steer?": {"Heron", "Osprey"},
    "Who trains the trainer of Mia Holm?": {"Ada Winter"},
    "Which captains are neither first nor third?": {"Nina Falk", "Tom Berg"},
    "Which captains steer ships launched in 2021 or 2022?": {"Mia Holm", "Ida Voss", "Tom Berg"},
    "Which captains licensed in 2021 in Varna steer Kestrel?": {"Jon Reed"},
    "What is the depth of the harbour with the most captains?": _ONLY_REFUSED,
    "How many grades are there?": 3,
    "What is the wage of the captain who steers Plover?": 3800.0,
}
_NAMES = frozenset().union(*(_names(_all(type_)) for type_ in NODES))


def _said(answered: Answered, truth: _Truth) -> _Truth:
    """Return what an answer says, of the kind of a truth."""
    text = answered.text.partition("\nNote")[0]
    if isinstance(truth, dict):
        pairs = re.findall(r"(\w+): (-?\d+(?:\.\d+)?)", text)
        return {name: round(float(number), 2) for name, number in pairs}
    if isinstance(truth, set):
        return {each for each in _NAMES if re.search(rf"\b{each}\b(?! itself)", text)}
    numbers = [float(each) for each in re.findall(r"-?\d+(?:\.\d+)?", text)]
    return round(numbers[-1], 2) if numbers else float("nan")


def _rounded(truth: _Truth) -> _Truth:
    if isinstance(truth, dict):
        return {name: round(number, 2) for name, number in truth.items()}
    return truth if isinstance(truth, set) else round(float(truth), 2)


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Answered]:
    folder = tmp_path_factory.mktemp("harbours")
    write_harbours(folder / "harbours.lbdb")
    catalog = drafted_catalog(folder / "harbours.lbdb", folder)
    talks = [[text] for text in (*RIGHT, *NEVER_WRONG)]
    return asyncio.run(answer_all(f"ladybug:{folder / 'harbours.lbdb'}", folder, talks, catalog))


@pytest.mark.parametrize("question", RIGHT)
def test_what_is_read_is_answered_right(answers: dict[str, Answered], question: str) -> None:
    answered, truth = answers[question], RIGHT[question]
    assert answered.outcome == "answered", answered.text
    assert _said(answered, truth) == _rounded(truth), answered.text


@pytest.mark.parametrize("question", NEVER_WRONG)
def test_what_is_not_read_whole_is_refused_or_asked_back(answers: dict[str, Answered], question: str) -> None:
    answered, truth = answers[question], NEVER_WRONG[question]
    if answered.outcome not in _REFUSED:
        assert answered.outcome == "answered", answered.text
        assert _said(answered, truth) == _rounded(truth), answered.text
