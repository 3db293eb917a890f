"""What the rules over the schemas cannot know of the company: the shipped ``company.yaml``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field

__all__ = ["CompanyFacts", "FieldRule", "KindFacts", "OperationFacts", "read_facts"]


class _Form(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class FieldRule(_Form):
    """How the value of a field is made; one of these.

    :param of: ``reference.field``: the field of the record that another field refers to.
    :param same: kind whose record of the same number is referred to.
    :param ref: kind of which any record is referred to.
    :param range: the least and the most of a number, whole where both are, or of an amount of money.
    :param days: days from today, or from the date in the field ``after``.
    :param weights: value → how often.
    :param any: values of which any one is taken.
    :param absent: the record does not have the field.
    """

    of: str = ""
    same: str = ""
    ref: str = ""
    range: tuple[float, float] | None = None
    days: tuple[int, int] | None = None
    after: str = ""
    weights: Mapping[Any, int] = Field(default_factory=dict)
    any: Sequence[Any] = ()
    absent: bool = False


class KindFacts(_Form):
    """A kind of record.

    :param key: field that identifies a record; by default the name of the kind. Where no schema has it, it is not shown.
    :param count: records of the seed, where ``each`` names no kind that each have ``per`` of them.
    :param rows: the first records, with the fields that are not made by rule.
    :param fields: field → :class:`FieldRule`, or a value; a text may name other fields and words: ``{firstName}``, ``{words.city}``.
    :param new: fields of a record that a call creates.
    :param properties: schemas of fields that no document has.
    """

    key: str = ""
    count: int = 24
    each: str = ""
    per: tuple[int, int] = (1, 3)
    rows: Sequence[Mapping[str, Any]] = ()
    fields: Mapping[str, Any] = Field(default_factory=dict)
    new: Mapping[str, Any] = Field(default_factory=dict)
    properties: Mapping[str, Any] = Field(default_factory=dict)


class OperationFacts(_Form):
    """What an operation does beyond what its path, method and schemas say.

    :param kind: the kind of record that it answers with.
    :param follow: field of the record of the path that refers to the record of the answer.
    :param match: parameters that must be those of the record of the path, else there is none.
    :param rename: parameter or member of the body → field.
    :param where: fields of every record that it lists.
    :param unless: parameter → fields of records that are listed only where it is true.
    :param when: parameter → fields of the records that are listed where it is true.
    :param allowed: fields that the record must have, each one of some values; else the answer is 409.
    :param set: fields that the record gets.
    :param choose: member of the body → its value → fields that the record gets.
    :param append: list of the record → member of the body whose items are added.
    :param then: field that refers to another record → fields that this one gets.
    """

    kind: str = ""
    follow: str = ""
    match: Sequence[str] = ()
    rename: Mapping[str, str] = Field(default_factory=dict)
    where: Mapping[str, Any] = Field(default_factory=dict)
    unless: Mapping[str, Mapping[str, Any]] = Field(default_factory=dict)
    when: Mapping[str, Mapping[str, Any]] = Field(default_factory=dict)
    allowed: Mapping[str, Sequence[Any]] = Field(default_factory=dict)
    set: Mapping[str, Any] = Field(default_factory=dict)
    choose: Mapping[str, Mapping[Any, Mapping[str, Any]]] = Field(default_factory=dict)
    append: Mapping[str, str] = Field(default_factory=dict)
    then: Mapping[str, Mapping[str, Any]] = Field(default_factory=dict)


class CompanyFacts(_Form):
    """All facts.

    :param today: the day on which the company lives; dates of the seed are around it.
    :param user: the employee who is signed in.
    :param homonyms: key → the systems in each of which it means another thing.
    :param roles: kind → other names of fields that refer to its records.
    :param places: addresses.
    :param synonyms: word → the value that it stands for.
    :param texts: parameters that search in all texts of a record.
    :param parameters: parameter, or ``operation.parameter`` → ``field comparison``.
    :param nested: ``kind.field`` → kind of the records that the field lists, with what they must have.
    """

    today: date
    user: str
    homonyms: Mapping[str, tuple[str, ...]]
    roles: Mapping[str, tuple[str, ...]]
    places: Sequence[Mapping[str, str]]
    words: Mapping[str, Sequence[Any]]
    synonyms: Mapping[str, str]
    texts: frozenset[str]
    parameters: Mapping[str, str]
    nested: Mapping[str, str]
    fields: Mapping[str, Any]
    kinds: Mapping[str, KindFacts]
    operations: Mapping[str, OperationFacts]

    def of_operation(self, operation_id: str) -> OperationFacts:
        """The facts of an operation; empty ones where its schemas say all."""
        return self.operations.get(operation_id, _NONE)


_NONE = OperationFacts()


class _Loader(yaml.CSafeLoader):
    """Reads dates as text, as JSON has them."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in found if not tag.endswith(":timestamp")]
    for first, found in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


@cache
def read_facts() -> CompanyFacts:
    """Read the shipped file."""
    text = Path(__file__).with_name("company.yaml").read_text(encoding="utf-8")
    return CompanyFacts.model_validate(yaml.load(text, Loader=_Loader))
