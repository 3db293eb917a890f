"""Outputs: what a tool gives, as far as a condition can be put on it."""

from __future__ import annotations

from dataclasses import dataclass

from datagen.generation.arguments import canonical, in_words
from datagen.generation.lexicon import Lexicon
from ingest.linking import type_family
from ontology.names import is_noun
from ontology.tool import Parameter, Tool

__all__ = ["Output", "outputs_of"]

_STATES = frozenset("status state stage health".split())
_WITHOUT = frozenset(
    "id ids key number code url href uri name text offset limit page next previous total_pages width height line position type height "
    "latitude longitude version token hash size index lineno".split()
)
_AMOUNTS = frozenset("amount price cost salary pay budget spend credit".split())
_RATES = frozenset("percent score rating rate average popularity share load".split())
_SPOKEN = {
    "available": "money left",
    "total open": "open amount",
    "overdue": "overdue sum",
    "exposure": "exposure",
    "committed": "committed sum",
    "headcount": "headcount",
    "total unrestricted": "free stock",
    "vote average": "rating",
    "vote count": "number of votes",
    "lead time day": "lead time in days",
    "lead time days": "lead time in days",
    "total result": "number of hits",
    "total": "total",
    "remaining day": "number of days left",
    "days": "number of days",
    "open alert": "alert",
    "on time delivery percent": "delivery score",
}
_FLAGS = frozenset(
    "covered blocked paid released confirmed refundable hazardous mandatory locked explicit archived private public signed approved overdue "
    "available active enabled urgent accepted".split()
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """Something that a condition can test.

    :param kind: ``money``, ``rate``, ``count``, ``date``, ``state`` or ``flag``.
    :param spoken: what people call it.
    """

    name: str
    kind: str
    spoken: str
    choices: tuple[str, ...] = ()


def outputs_of(tool: Tool, lexicon: Lexicon) -> tuple[Output, ...]:
    """What can be tested of a tool's own answer; of the lists in it nothing."""
    del lexicon
    found: dict[str, Output] = {}
    for output in tool.returns:
        plain = output.name.removeprefix("value[].").removeprefix("[].")
        if "[]" in plain or plain.count(".") > 1:
            continue
        one = _output(output, plain)
        if one is not None:
            found.setdefault(one.spoken, one)
    return tuple(found.values())


def _output(output: Parameter, plain: str) -> Output | None:
    name = canonical(plain)
    last = name.split()[-1] if name else ""
    family = type_family(output.type)
    if not name or (last in _WITHOUT and not output.enum and name not in _SPOKEN):
        return None
    spoken = _SPOKEN.get(name, name)
    if last in _STATES and family in ("string", ""):
        return Output(
            name=output.name, kind="state", spoken=spoken, choices=tuple(in_words(value) for value in output.enum)
        )
    if family == "boolean":
        return Output(name=output.name, kind="flag", spoken=last, choices=()) if last in _FLAGS else None
    if output.format in ("date", "date-time") or family == "time" or last in ("date", "until", "on", "eta"):
        return (
            Output(name=output.name, kind="date", spoken=spoken)
            if _is_spoken(spoken) or last in ("until", "to")
            else None
        )
    if family in ("number", "integer"):
        money = plain.endswith(".amount") or last in _AMOUNTS
        kind = "money" if money else "rate" if set(name.split()) & _RATES else "count"
        return Output(name=output.name, kind=kind, spoken=spoken) if _is_spoken(spoken) else None
    return None


def _is_spoken(spoken: str) -> bool:
    words = spoken.split()
    return len(words) <= 4 and all(word.isalpha() and word.isascii() for word in words) and is_noun(words[-1])
