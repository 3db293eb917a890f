"""The rows behind the files of the tasks: made by a seeded generator, so that the files and the expected answers have one source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import TypeAlias

__all__ = ["Cell", "Rows", "task_rows"]

Cell: TypeAlias = str | int | float
Rows: TypeAlias = Sequence[Mapping[str, Cell]]

_SEED = 17
_REGIONS = ("North", "South", "East", "West")
_PRODUCTS = ("gate valve", "shaft seal", "coupling", "gasket set")
_NAMES = ("Ada", "Bruno", "Carla", "Dario", "Edda", "Felix", "Gesa", "Henrik", "Irma", "Jonas", "Kira", "Lars")
_COUNTRIES = ("Norway", "Poland", "Italy", "France")


def task_rows() -> dict[str, Rows]:
    """Return the rows of each table by its name."""
    return {
        "sales": _sales(40, "S"),
        "stock": _stock(),
        "machines": _machines(),
        "tickets": _tickets(),
        "runs": _runs(),
        "offer": _offer(),
        "participants": _participants(),
        "sales_january": _sales(14, "J"),
        "sales_february": _sales(12, "F"),
        "rooms": _rooms(),
    }


def _sales(count: int, letter: str) -> Rows:
    random = Random(f"{_SEED} sales {letter}")
    return [
        {
            "sale": f"{letter}-{number:03}",
            "region": random.choice(_REGIONS),
            "product": random.choice(_PRODUCTS),
            "quantity": random.randint(1, 30),
            "amount": random.randint(2_000, 90_000) / 100,
        }
        for number in range(1, count + 1)
    ]


def _stock() -> Rows:
    random = Random(f"{_SEED} stock")
    categories = ("seals", "bearings", "motors")
    return [
        {
            "item": f"IT-{number:04}",
            "category": random.choice(categories),
            "price": random.randint(500, 30_000) / 100,
            "quantity": random.randint(0, 80),
        }
        for number in range(1, 25)
    ]


def _machines() -> Rows:
    random = Random(f"{_SEED} machines")
    names = random.sample(
        ("Argo", "Brant", "Corvus", "Delphin", "Egret", "Fulmar", "Grebe", "Heron", "Ibis", "Jackdaw"), 10
    )
    return [
        {
            "name": name,
            "hall": random.choice(("A", "B", "C")),
            "status": random.choice(("running", "broken", "idle")),
            "hours": random.randint(100, 9_000),
        }
        for name in names
    ]


def _tickets() -> Rows:
    random = Random(f"{_SEED} tickets")
    return [
        {
            "ticket": f"T{number}",
            "team": random.choice(("Support", "Field", "Billing")),
            "status": random.choice(("open", "closed", "closed", "waiting")),
            "hours": random.randint(1, 40) / 2,
        }
        for number in range(501, 526)
    ]


def _runs() -> Rows:
    random = Random(f"{_SEED} runs")
    return [
        {
            "runner": name,
            "club": random.choice(("Harbour", "Hill", "Forest")),
            "distance": random.randint(40, 210) / 10,
            "minutes": random.randint(22, 130),
        }
        for name in _NAMES
    ]


def _offer() -> Rows:
    random = Random(f"{_SEED} offer")
    return [
        {
            "position": place * 10,
            "article": article,
            "pieces": random.randint(1, 12),
            "total": random.randint(3_000, 60_000) / 100,
        }
        for place, article in enumerate(
            ("Pump P20", "Pump P35", "Valve DN50", "Valve DN80", "Seal kit", "Motor M4"), start=1
        )
    ]


def _participants() -> Rows:
    random = Random(f"{_SEED} participants")
    return [{"name": name, "country": random.choice(_COUNTRIES), "age": random.randint(19, 64)} for name in _NAMES]


def _rooms() -> Rows:
    random = Random(f"{_SEED} rooms")
    return [
        {
            "room": f"R{floor}{number:02}",
            "floor": floor,
            "seats": random.choice((4, 6, 8, 12, 20)),
            "projector": random.choice(("yes", "no")),
        }
        for floor in (1, 2, 3)
        for number in range(1, 5)
    ]
