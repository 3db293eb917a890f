"""Which role a property plays: read from its name, the type of its values, and the values that a census saw."""

from __future__ import annotations

from collections.abc import Sequence

from ontology.names import noun_lemma, words
from planners.graphseek.catalog.semantic_catalog import Role
from planners.stores.graph_schema import NodeType, PropertyKey, RelationshipType

__all__ = ["is_category", "roles_of", "said_of_plan", "told_name", "unit_of"]

# The word lists of this file were written from the properties that the paper names (section 5.1, its listings) and from common
# English column names; no graph was at hand.
_PLANNED = ("plan", "planned", "scheduled")
_ACTUAL = ("actual", "actually", "current", "currently")
_PLAN_OR_ACTUAL = {
    **dict.fromkeys(("plan", "planned", "forecast", "target", "budget"), _PLANNED),
    "actual": _ACTUAL,
}
_KEY_WORDS = frozenset("id key code uid uuid guid identifier number iri uri".split())
_NAME_WORDS = ("name", "title", "label")
_MONTHS = frozenset("jan feb mar apr may jun jul aug sep oct nov dec".split())
_AMOUNTS = frozenset(
    "amount cost costs expense quantity qty output volume total sum revenue spend scrap hours weight mass".split()
)
_NOT_SUMS = frozenset("unit per average mean rate price percent share density index number year".split())
_RANKS = frozenset("tier level class grade rank stage phase priority status type category group".split())
_UNITS = {
    **{code: code.upper() for code in ("eur", "usd", "gbp", "chf", "jpy")},
    **{unit: unit for unit in ("kg", "km", "mm", "cm", "pct")},
    **{
        "kwh": "kWh",
        "wh": "Wh",
        "kw": "kW",
        "percent": "%",
        "hours": "h",
        "minutes": "min",
        "km2": "km²",
        "sqkm": "km²",
    },
}
_SAID_UNITS = frozenset(("hours", "minutes", "percent"))  # people say them: the hours of a shift
_BOOLEAN_PREFIXES = frozenset(("has", "is"))
_MOST_CATEGORIES = 25
_LEAST_REPEATS = 2  # a value of a category stands at more than one node
_YEARS = (1000, 2999)
# Participles that are the name of a year, where all values are integers that look like one: a moon was discovered in 1655. Alone neither
# the name (discovered: 3 crates) nor the values (a radius of 1737) say so.
_YEAR_WORDS = frozenset(
    "born built closed completed created died discovered established founded introduced launched opened published released retired".split()
)
_LIKELY_YEARS = (1000, 2100)


def roles_of(owner: NodeType | RelationshipType) -> dict[str, Role]:
    """Return the roles of properties by name; one key and one name at most, each of the others any number of times."""
    roles: dict[str, Role] = {}
    key = _key_of(owner)
    if key:
        roles[key] = "key"
    if isinstance(owner, NodeType) and (name := _name_of(owner, key)):
        roles[name] = "name"
    for each in owner.properties:
        if each.name not in roles and (role := _role_of(each)):
            roles[each.name] = role
    return roles


def is_category(each: PropertyKey) -> bool:
    """Whether a property has a few values, all of which the census saw, and each of them about twice or more; a number, only by its name."""
    return (
        (each.type in ("string", "boolean") or (each.type == "integer" and bool(_RANKS & set(words(each.name)))))
        and 1 < len(each.samples) <= _MOST_CATEGORIES
        and each.distinct == len(each.samples)
        and each.count >= _LEAST_REPEATS * len(each.samples)
    )


def said_of_plan(value: str) -> tuple[str, ...]:
    """Return what people say of a value such as ``Plan`` or ``Actuals``; empty for any other value."""
    return _PLAN_OR_ACTUAL.get(noun_lemma(value.lower()), ())


def told_name(each: PropertyKey) -> list[str]:
    """Return the words of a name as people say it: ``radius_km`` without its unit, ``has_rings`` without the verb that makes it a truth."""
    parts = words(each.name)
    if len(parts) > 1 and parts[-1] in _UNITS and parts[-1] not in _SAID_UNITS:
        parts = parts[:-1]
    if len(parts) > 1 and each.type == "boolean" and parts[0] in _BOOLEAN_PREFIXES:
        parts = parts[1:]
    return parts


def unit_of(name: str) -> str:
    """Return the unit that a name ends with: ``price_eur`` → ``EUR``; empty where there is none."""
    return _UNITS.get(words(name)[-1], "") if words(name) else ""


def _key_of(owner: NodeType | RelationshipType) -> str:
    if isinstance(owner, RelationshipType):
        return ""
    named = [each.name for each in owner.properties if _KEY_WORDS & set(words(each.name)[-1:]) and _is_unique(each)]
    return owner.key or (named[0] if named else "")


def _is_unique(each: PropertyKey) -> bool:
    return each.type in ("string", "integer") and each.distinct == each.count and each.count > 0


def _name_of(owner: NodeType, key: str) -> str:
    """The property whose last word is name, title or label, in this order; the shortest of several."""
    texts = [each.name for each in owner.properties if each.type == "string" and words(each.name)]
    for wanted in _NAME_WORDS:
        if found := [name for name in texts if words(name)[-1] == wanted and name != key]:
            return min(found, key=lambda name: (len(words(name)), len(name), name))
    return ""


def _role_of(each: PropertyKey) -> Role:
    parts = words(each.name)
    values = [str(sample).lower() for sample in each.samples]
    if role := _time_role(each, parts[-1] if parts else "", values):
        return role
    if each.type == "string" and values and all(map(said_of_plan, values)):
        return "plan or actual"
    if each.type in ("number", "integer") and _AMOUNTS & set(parts) and not _NOT_SUMS & set(parts):
        return "amount"
    return "category" if is_category(each) else ""


def _time_role(each: PropertyKey, word: str, values: Sequence[str]) -> Role:
    """The role of a property that says when; a quarter or a month may be a number, or a text such as Q1 or Jan."""
    if each.type == "date":
        return "date"
    lowest, highest = _whole(each.least), _whole(each.greatest)
    if word == "year" and _YEARS[0] <= lowest and highest <= _YEARS[1]:
        return "year"
    if word in _YEAR_WORDS and each.type == "integer" and _LIKELY_YEARS[0] <= lowest <= highest <= _LIKELY_YEARS[1]:
        return "year"
    if word == "quarter" and (1 <= lowest <= highest <= 4 or (values and all(v[:1] == "q" for v in values))):
        return "quarter"
    if word == "month" and (1 <= lowest <= highest <= 12 or (values and all(v[:3] in _MONTHS for v in values))):
        return "month"
    return ""


def _whole(value: object) -> int:
    """A bound as a whole number; 0, which is no year, quarter or month, for anything else."""
    text = str(value)
    return int(text) if text.isascii() and text.isdigit() else 0
