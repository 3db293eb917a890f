"""Values for the fields of a record: by the facts, by what its references say, else by its schema."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time, timedelta
from random import Random
from typing import Any, Protocol

from services.company.api_documents import Schema
from services.company.company_facts import CompanyFacts, FieldRule
from services.company.record_identifiers import record_id
from services.company.record_kinds import Kind, Kinds, first_property

__all__ = ["ABSENT", "RecordMaker", "World"]

ABSENT = object()
"""The value of a field that a record does not have."""

_WORD = re.compile(r"\{([\w.]+)\}")
_MONEY = {"amount", "currency"}
_ADDRESS = {"street", "city"}
_NUMBERS = {"itemNo", "lineNo"}


class World(Protocol):
    """The records that others may refer to."""

    seed: int
    facts: CompanyFacts
    kinds: Kinds

    def identifiers(self, kind: Kind, parent: Any = None) -> Sequence[Any]:
        """The identifiers of the records of a kind; of those that are parts of one record, where a parent is given."""
        ...

    def field(self, kind: Kind, id: Any, name: str) -> Any:
        """A field of a record; :data:`ABSENT` where it has none."""
        ...


class RecordMaker:
    """Makes the fields of one record, each when it is asked for. The same seed, kind and number give the same values.

    :param given: fields that are known.
    """

    def __init__(self, world: World, kind: Kind, number: int, given: Mapping[str, Any]) -> None:
        self._world = world
        self._facts = world.facts
        self._kind = kind
        self._number = number
        self._making: set[str] = set()
        self.values: dict[str, Any] = {
            name: ABSENT if value is None and not _may_be_null(kind.properties.get(name, {})) else value
            for name, value in given.items()
        }

    def field(self, name: str) -> Any:
        """The value of a field of the record."""
        if name not in self.values:
            if name not in self._kind.properties:
                return ABSENT
            self._making.add(name)
            self.values[name] = self._made(name, self._kind.properties[name])
            self._making.discard(name)
        return self.values[name]

    def record(self) -> dict[str, Any]:
        """All fields of the record; lists that show other records are no fields."""
        kinds = self._world.kinds
        for name, schema in self._kind.properties.items():
            if kinds.nested(self._kind, name, schema, self._kind.system) is None:
                self.field(name)
        return {name: value for name, value in self.values.items() if value is not ABSENT}

    def _made(self, name: str, schema: Schema) -> Any:
        rules = self._kind.facts.fields
        rule = rules[name] if name in rules else self._facts.fields.get(name, ABSENT)
        if rule is not ABSENT and (name in rules or self._reference(name) is None):
            return self.by_rule(rule, name, schema)
        return self._by_schema(name, schema, self._random(name))

    def _random(self, name: str) -> Random:
        return Random(f"{self._world.seed} {self._kind.name} {self._number} {name}")

    def by_rule(self, rule: Any, name: str, schema: Schema) -> Any:
        """A value by a rule of the facts: a text with fields in braces, any other value as it is, or a :class:`FieldRule`."""
        if isinstance(rule, str):
            text = self._filled(rule, name)
            return text.lower() if schema.get("format") == "email" else text
        if not isinstance(rule, Mapping) or not set(rule) <= FieldRule.model_fields.keys():
            return rule
        stated = FieldRule.model_validate(rule)
        random = self._random(name)
        if stated.absent:
            return ABSENT
        if stated.of:
            return self._followed(stated.of)
        if stated.same or stated.ref:
            found = self._world.identifiers(self._world.kinds.by_name[stated.same or stated.ref])
            value = found[self._number % len(found)] if stated.same else random.choice(found)
            return _referring(value, schema)
        if stated.days:
            return self._day(stated, random, schema)
        if stated.any:
            return random.choice(stated.any)
        if stated.weights:
            value = random.choices(list(stated.weights), list(stated.weights.values()))[0]
            return _referring(value, schema)
        low, high = stated.range or (0, 1)
        return self._number_between(random, low, high, schema)

    def _followed(self, path: str) -> Any:
        reference, _, inner = path.partition(".")
        target = self._world.kinds.of_field(reference, self._kind.system)
        value = self.field(reference)
        return self._world.field(target, value, inner) if target and value is not ABSENT else ABSENT

    def _filled(self, text: str, name: str) -> str:
        def word(match: re.Match[str]) -> str:
            place, _, inner = match[1].partition(".")
            if place == "words":
                return str(self._random(f"{name} {match[0]}").choice(self._facts.words[inner]))
            if place == "each":
                words = self._facts.words[inner]
                return str(words[self._number % len(words)])
            if place == "today":
                return self._facts.today.isoformat()
            value = self._followed(match[1]) if inner else self.field(place)
            return "" if value is ABSENT else str(value)

        return _WORD.sub(word, text)

    def _day(self, rule: FieldRule, random: Random, schema: Schema) -> str:
        low, high = rule.days or (0, 0)
        start = self.field(rule.after) if rule.after else self._facts.today.isoformat()
        if start is ABSENT:
            start = self._facts.today.isoformat()
        day = date.fromisoformat(start[:10]) + timedelta(days=random.randint(low, high))
        if schema.get("format") != "date-time":
            return day.isoformat()
        hour = int(start[11:13]) + 1 if rule.after and len(start) > 10 and high == 0 else random.randint(7, 17)
        return _moment(day, hour % 24)

    def _number_between(self, random: Random, low: float, high: float, schema: Schema) -> Any:
        if _MONEY <= set(schema.get("properties", {})):
            return {"amount": round(random.uniform(low, high), 2), "currency": self._currency()}
        whole = float(low).is_integer() and float(high).is_integer()
        return random.randint(int(low), int(high)) if whole else round(random.uniform(low, high), 2)

    def _currency(self) -> str:
        return str(self._facts.fields.get("currency", "EUR"))

    def _reference(self, name: str) -> Kind | None:
        """The kind of which a field names a record; none for the record's own key, unless another name stands for it."""
        target = self._world.kinds.of_field(name, self._kind.system)
        return None if target is None or name == self._kind.key else target

    def _by_schema(self, name: str, schema: Schema, random: Random) -> Any:
        target = self._reference(name)
        kind = schema.get("type")
        kind = next(each for each in kind if each != "null") if isinstance(kind, list) else kind
        if target is not None and kind in ("string", "integer"):
            return self._referred(name, target, random)
        if "enum" in schema:
            return random.choice(schema["enum"])
        if kind == "array":
            role = self._world.kinds.roles.get(name, name)
            many = random.randint(1, 3)
            items = [self._by_schema(role, schema["items"], Random(f"{random.random()}")) for _ in range(many)]
            return _distinct(items)
        if kind == "object" or "properties" in schema:
            return self._object(name, schema, random)
        if kind in ("integer", "number"):
            return random.randint(1, 40) if kind == "integer" else round(random.uniform(1, 400), 1)
        return random.random() < 0.5 if kind == "boolean" else self._text(name, schema, random)

    def _referred(self, name: str, target: Kind, random: Random) -> Any:
        """Any record of the kind, but the one that the record's other references agree on."""
        for other in self._kind.properties:
            source = self._reference(other)
            if other in (name, *self._making) or source in (None, target) or other in self._world.kinds.roles:
                continue
            if source is not None and name in source.properties and self.field(other) not in (ABSENT, None):
                value = self._world.field(source, self.field(other), name)
                if value not in (ABSENT, None):
                    return value
        parent = self.field(target.parent) if target.parent in self._kind.properties else None
        found = self._world.identifiers(target, None if parent is ABSENT else parent)
        return random.choice(found) if found else ABSENT

    def _object(self, name: str, schema: Schema, random: Random) -> Any:
        properties = schema.get("properties", {})
        if _MONEY <= set(properties):
            return {"amount": round(random.uniform(20, 9000), 2), "currency": self._currency()}
        if _ADDRESS <= set(properties):
            place = random.choice(self._facts.places)
            street = random.choice(self._facts.words["street"])
            return {"street": f"{street} {random.randint(1, 90)}", **place}
        target = self._world.kinds.of_field(first_property(schema), self._kind.system)
        if target is not None and self._kind.key != target.key and set(properties) <= set(target.properties):
            return {first_property(schema): random.choice(self._world.identifiers(target))}
        made: dict[str, Any] = {}
        for inner, value in properties.items():
            rule = self._kind.facts.fields.get(f"{name}.{inner}", self._facts.fields.get(inner, ABSENT))
            agreed = self._agreed(made, inner)
            if agreed is not ABSENT:
                made[inner] = agreed
            elif rule is not ABSENT and self._reference(inner) is None:
                made[inner] = self.by_rule(rule, f"{name} {inner} {random.random()}", value)
            else:
                made[inner] = self._by_schema(inner, value, random)
        return {inner: value for inner, value in made.items() if value is not ABSENT}

    def _agreed(self, part: Mapping[str, Any], name: str) -> Any:
        """What the references in a part of the record say of a further one: the material of an item of an order."""
        if self._reference(name) is None:
            return ABSENT
        for key, value in part.items():
            source = self._reference(key)
            if source is not None and name in source.properties and value is not ABSENT:
                parent = self.field(source.parent) if source.parent in self._kind.properties else ""
                return self._world.field(source, record_id(source, value, str(parent)), name)
        return ABSENT

    def _text(self, name: str, schema: Schema, random: Random) -> str:
        form = schema.get("format")
        if form in ("date", "date-time"):
            day = self._facts.today + timedelta(days=random.randint(-330, 40))
            return day.isoformat() if form == "date" else _moment(day, random.randint(7, 17))
        if form == "email":
            return (
                f"{random.choice(self._facts.words['firstName']).lower()}@{random.choice(self._facts.words['domain'])}"
            )
        if form == "uri":
            return f"https://larkfield.example/{name}/{random.randrange(10**6):06d}"
        if name in self._facts.words:
            return str(random.choice(self._facts.words[name]))
        example = schema.get("example", next(iter(schema.get("examples", ())), ""))
        if example:
            return (
                re.sub(r"\d", lambda _: str(random.randint(1, 9)), str(example))
                if "pattern" not in schema
                else str(example)
            )
        return str(random.choice(self._facts.words["phrase"]))


def _referring(value: Any, schema: Schema) -> Any:
    """An identifier, or the short form of a record that begins with it."""
    return {first_property(schema): value} if "properties" in schema else value


def _moment(day: date, hour: int) -> str:
    return datetime.combine(day, time(hour)).isoformat() + "Z"


def _may_be_null(schema: Schema) -> bool:
    return "null" in schema.get("type", "")


def _distinct(items: Sequence[Any]) -> list[Any]:
    """Each item once: by its number, which counts them, or by what it begins with."""
    found: dict[str, Any] = {}
    for item in items:
        if isinstance(item, dict) and _NUMBERS & item.keys():
            item = {**item, **{name: len(found) + 1 for name in _NUMBERS & item.keys()}}
        if item is not ABSENT:
            found.setdefault(str(next(iter(item.values()), "") if isinstance(item, dict) else item), item)
    return list(found.values())
