"""The schema of a domain: its types of entities, edges and fields, and for each edge and direction how it is resolved.

It is a YAML file. The parser's prompt, the check of a graph and the choice of tools are made from it; the executor knows no domain.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from pydantic import Field, model_validator

from ontology.errors import InvalidArgumentError
from ontology.yaml_file import Rows, accepted, read_model, value_fault

DOMAINS = Path(__file__).parent / "domains"  # the folder of the shipped domains: one file each

Operator: TypeAlias = Literal["=", "contains", "<", ">", "<=", ">="]
FieldKind: TypeAlias = Literal["text", "number", "boolean", "date", "ordinal"]
_Name: TypeAlias = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=64)]


class Lookup(Rows):
    """Which tool resolves an edge in one direction, or finds the entities of a type by their fields.

    :param request: what the tool service is asked, in plain words.
    :param takes: input of the tool that gets the identifiers (or, of a type's lookup, field → input is in ``fields``).
    :param gives: path of the identifiers in the tool's output (``messages[].id``).
    :param fields: field of a type → input of the tool that filters by it.
    :param every: input that the tool demands → words in it that find every entity, where there is nothing to search for. Never assumed:
        without it such a tool resolves no edge, and lists no type.
    """

    request: str = Field(min_length=1)
    takes: str = ""
    gives: str = ""
    fields: Mapping[_Name, str] = Field(default_factory=dict)
    every: Mapping[_Name, str] = Field(default_factory=dict)


class FieldType(Rows):
    """A field that a filter may name.

    :param kind: ``ordinal``: first, last, third …; ``date``: an expression that is read as a half-open range.
    :param words: nouns and phrases by which a request names it; with ``*`` (any text) or ``#`` (a digit), the form of its values.
    :param values: words that are a value by themselves (``blocked``, ``pdf``).
    """

    operators: tuple[Operator, ...] = Field(min_length=1)
    kind: FieldKind = "text"
    words: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    description: str = ""


class EntityType(Rows):
    """A type of entity.

    :param variable: the stem of the names of its variables.
    :param words: nouns by which a request names it, singular, and verbs that imply one (``to meet``: an event).
    :param kind: ``self``: the one user who asks; ``date``: a range of days, never looked up; else ``entity``.
    :param identifier: field of an entity that names it for good.
    :param order: field by which ordinals sort, ascending.
    """

    variable: _Name
    description: str = ""
    words: tuple[str, ...] = ()
    kind: Literal["entity", "self", "date"] = "entity"
    identifier: str = "id"
    order: str = ""
    fields: Mapping[_Name, FieldType] = Field(default_factory=dict)
    lookup: Lookup | None = None


class EdgeType(Rows):
    """An edge between types; ``forward`` leads from ``source`` to one of ``targets``, ``backward`` from there to ``source``.

    :param words: verbs and phrases by which a request says it; ``{source}`` and ``{target}`` stand for the ends. Verbs are in the
        infinitive; ``{target} send {source}`` covers "sent by" too. Where an end is left out, the user is meant if an end can be
        the user, else any entity.
    """

    name: _Name
    source: _Name
    targets: tuple[_Name, ...] = Field(min_length=1)
    words: tuple[str, ...] = ()
    description: str = ""
    forward: Mapping[_Name, Lookup]
    backward: Mapping[_Name, Lookup]

    @model_validator(mode="after")
    def _both_directions(self) -> EdgeType:
        for direction in ("forward", "backward"):
            missing = set(self.targets) - set(getattr(self, direction))
            if missing:
                raise value_fault(f"the edge {self.name} has no {direction} lookup for {', '.join(sorted(missing))}")
        return self


class Domain(Rows):
    """The schema of a domain.

    :param extended: whether graphs may have what goes beyond the paper's form: groups, orders, counts, steps.
    """

    name: _Name
    extended: bool = Field(default=False, exclude=True)  # no journal of a run has it in its digest of the domain
    description: str
    types: Mapping[_Name, EntityType] = Field(min_length=1)
    edges: tuple[EdgeType, ...] = ()

    @model_validator(mode="after")
    def _known_types(self) -> Domain:
        for edge in self.edges:
            unknown = {edge.source, *edge.targets} - set(self.types)
            if unknown:
                raise value_fault(f"the edge {edge.name} names the unknown type {', '.join(sorted(unknown))}")
        return self

    def edge(self, name: str, source: str, target: str) -> EdgeType | None:
        """The edge of this name from one type to another, or None."""
        fits = (each for each in self.edges if each.name == name and each.source == source and target in each.targets)
        return next(fits, None)

    def signatures(self) -> tuple[tuple[str, str, str], ...]:
        """Every (source, edge, target), in the order of the file."""
        return tuple((edge.source, edge.name, target) for edge in self.edges for target in edge.targets)


def read_domain(name_or_path: str | Path) -> Domain:
    """Read a shipped domain by its name, or a file by its path.

    :raises InvalidArgumentError: when there is no such domain or file, or the file is no domain; each fault is named with its line.
    """
    try:
        shipped_path = DOMAINS / f"{name_or_path}.yaml"
        path = (shipped_path if shipped_path.is_file() else Path(name_or_path)).resolve()
        with path.open("rb") as file:  # a folder is none
            state = os.fstat(file.fileno())
    except (OSError, ValueError):  # also a name that no file can have
        shipped = ", ".join(sorted(each.stem for each in DOMAINS.glob("*.yaml")))
        remedy = f"Name a shipped one ({shipped}) or a YAML file"
        raise InvalidArgumentError("there is no such domain", subject=str(name_or_path), remedy=remedy) from None
    return _read(path, state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=8)  # a run asks for its domain again and again, and never for many
def _read(path: Path, changed: int, size: int) -> Domain:
    return accepted(*read_model(path, Domain), InvalidArgumentError, path)
