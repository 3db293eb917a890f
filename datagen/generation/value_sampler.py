"""Values: what a request says for an input, by kind, drawn from the pools or made up; always as people say them."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping

from datagen.generation.dates import TIMES, Dates
from datagen.generation.grammar import article
from datagen.generation.lexicon import Lexicon

__all__ = ["KINDS", "draw", "number_like"]

_CAPITALS = "ABCDEFGHKLMPRSTVWX"
_SMALL = ("two", "three", "four", "five", "six")

Draw = Callable[[random.Random, Lexicon], str]


def draw(kind: str, rng: random.Random, lexicon: Lexicon) -> str:
    """A value of a kind: one of :data:`KINDS` or of the lexicon's pools, else a thing."""
    made = KINDS.get(kind)
    return made(rng, lexicon) if made is not None else rng.choice(lexicon.pools.get(kind) or lexicon.pools["thing"])


def number_like(pattern: str, rng: random.Random) -> str:
    """A number of this look: ``#`` is a digit, ``@`` a capital; the first digit is never 0.

    >>> len(number_like("INC00###", random.Random(1)))
    8
    """
    made: list[str] = []
    for at, sign in enumerate(pattern):
        if sign == "#":
            made.append(str(rng.randint(0 if at and pattern[at - 1] in "#0123456789" else 1, 9)))
        else:
            made.append(rng.choice(_CAPITALS) if sign == "@" else sign)
    return "".join(made)


def _person(rng: random.Random, lexicon: Lexicon) -> str:
    return f"{rng.choice(lexicon.pools['first'])} {rng.choice(lexicon.pools['last'])}"


def _company(rng: random.Random, lexicon: Lexicon) -> str:
    return f"{rng.choice(lexicon.pools['company_first'])} {rng.choice(lexicon.pools['company_last'])}"


def _email(rng: random.Random, lexicon: Lexicon) -> str:
    first, last = rng.choice(lexicon.pools["first"]).lower(), rng.choice(lexicon.pools["last"]).lower()
    name = rng.choice((f"{first[0]}.{last}", f"{first}.{last}", f"{first}_{last[0]}"))
    return f"{name}@{rng.choice(lexicon.pools['domain'])}"


def _quarter(rng: random.Random, _lexicon: Lexicon) -> str:
    return rng.choice(
        (
            "last quarter",
            "this quarter",
            "next quarter",
            f"Q{rng.randint(1, 4)}",
            f"Q{rng.randint(1, 4)} {rng.randint(2023, 2026)}",
        )
    )


def _money(rng: random.Random, _lexicon: Lexicon) -> str:
    number = rng.choice(
        (rng.randint(2, 99) * 10, rng.randint(11, 98) * 100, rng.randint(1, 9) * 1000, rng.randint(120, 980))
    )
    return rng.choice(
        (
            f"{number} EUR",
            f"£{number:,}",
            f"${number:,}",
            f"€{number:,}",
            f"{number} pounds",
            f"{number} euros",
            f"{rng.randint(2, 90)}k",
            f"{number:,} USD",
        )
    )


def _small(rng: random.Random, _lexicon: Lexicon) -> str:
    number = rng.choice((rng.randint(6, 95), rng.randint(60, 300)))
    return rng.choice(
        (
            f"{number} EUR",
            f"£{number}",
            f"${number}",
            f"{number} euros",
            f"{number}.{rng.randint(10, 99)} GBP",
            f"{number} pounds",
        )
    )


def _pay(rng: random.Random, _lexicon: Lexicon) -> str:
    number = rng.randint(29, 97)
    return rng.choice(
        (f"{number}k", f"{number},{rng.choice(('000', '500', '200'))} euros", f"£{number},000", f"{number * 1000} EUR")
    )


def _count(rng: random.Random, _lexicon: Lexicon) -> str:
    return str(rng.choice((rng.randint(7, 60), rng.randint(2, 20) * 10, rng.randint(1, 9) * 100, rng.randint(11, 250))))


def _few(rng: random.Random, _lexicon: Lexicon) -> str:
    return rng.choice((*_SMALL, *map(str, range(2, 13))))


def _coded(pattern: str) -> Draw:
    return lambda rng, _lexicon: number_like(pattern, rng)


def _with_unit(low: int, high: int, unit: str) -> Draw:
    return lambda rng, _lexicon: f"{rng.randint(low, high)} {unit}"


def _phone(rng: random.Random, _lexicon: Lexicon) -> str:
    return number_like(rng.choice(("+44 20 7946 0###", "555-01##", "+48 58 000 ####")), rng)


def _address(rng: random.Random, lexicon: Lexicon) -> str:
    street = rng.choice(
        (
            "Mill Lane",
            "Harbour Street",
            "Station Road",
            "Park Avenue",
            "Dock Row",
            "Quay Street",
            "Foundry Way",
            "Church Road",
        )
    )
    return f"{rng.randint(1, 140)} {street}"


def _route(rng: random.Random, lexicon: Lexicon) -> str:
    start, end = rng.sample(lexicon.pools["city"], 2)
    return f"{start} to {end}, return"


def _login(rng: random.Random, lexicon: Lexicon) -> str:
    return f"{rng.choice(lexicon.pools['first']).lower()}{rng.randint(1, 99)}"


def _url(rng: random.Random, lexicon: Lexicon) -> str:
    return f"https://{rng.choice(lexicon.pools['domain'])}/{rng.choice(lexicon.pools['tag'])}"


def _percent(rng: random.Random, _lexicon: Lexicon) -> str:
    number = rng.choice((rng.randint(2, 9) * 10, rng.randint(3, 95)))
    return rng.choice((f"{number} percent", f"{number}%"))


def _duration(rng: random.Random, _lexicon: Lexicon) -> str:
    return rng.choice(
        ("an hour", "half an hour", "90 minutes", "two hours", f"{rng.randint(3, 12) * 5} minutes", "half a day")
    )


def _timed(kind: str) -> Draw:
    return lambda rng, _lexicon: Dates(rng).say(kind)


KINDS: Mapping[str, Draw] = {
    **{kind: _timed(kind) for kind in TIMES},
    "person": _person,
    "name": _person,
    "user": _coded("U2####"),
    "company": _company,
    "email": _email,
    "quarter": _quarter,
    "money": _money,
    "small": _small,
    "pay": _pay,
    "count": _count,
    "few": _few,
    "phone": _phone,
    "address": _address,
    "postcode": _coded("#####"),
    "latitude": lambda rng, _: f"{rng.randint(35, 60)}.{rng.randint(10, 99)}",
    "longitude": lambda rng, _: f"{rng.randint(2, 25)}.{rng.randint(10, 99)}",
    "route": _route,
    "bin": _coded("A-0#-##"),
    "login": _login,
    "url": _url,
    "ip": lambda rng, _: f"10.{rng.randint(0, 255)}.{rng.randint(0, 255)}.{rng.randint(2, 250)}",
    "code": _coded("@##"),
    "docnum": _coded("@@-#####"),
    "pin": _coded("0#"),
    "plate": _coded("@@## @@@"),
    "serial": _coded("KX-####-##"),
    "wbs": _coded("P-###.#"),
    "batch": _coded("L#####"),
    "vat": _coded("GB#########"),
    "flight": _coded("@@###"),
    "percent": _percent,
    "duration": _duration,
    "minutes": lambda rng, _: f"{rng.randint(3, 18) * 5} minutes",
    "seconds": lambda rng, _: f"{rng.choice((10, 15, 20, 30, 45, 60, 90, 120, 300))} seconds",
    "hours": lambda rng, _: rng.choice((f"{rng.randint(2, 9)} hours", f"{rng.randint(1, 7)}.5 hours")),
    "days": lambda rng, _: f"{rng.choice((3, 5, 7, 10, 14, 20, 30))} days",
    "months": lambda rng, _: f"{rng.choice((6, 12, 18, 24, 36))} months",
    "decimal": lambda rng, _: f"{rng.randint(1, 60)}.{rng.randint(1, 9)}",
    "km": _with_unit(4, 480, "km"),
    "degrees": _with_unit(12, 28, "degrees"),
    "weight": _with_unit(2, 90, "kg"),
    "age": lambda rng, _: str(rng.randint(19, 66)),
    "rating": lambda rng, _: rng.choice((f"{rng.randint(6, 9)}", f"{rng.randint(6, 8)}.5")),
    "level_number": lambda rng, _: rng.choice(("1", "2", "3")),
    "system": lambda rng, lexicon: rng.choice(lexicon.pools["system"]),
    "equipment_one": lambda rng, lexicon: article(rng.choice(lexicon.pools["equipment"])),
}
"""Kind → how a value is made; kinds that are not here are pools of the lexicon."""
