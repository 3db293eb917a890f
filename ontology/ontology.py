"""The ontology: entity types, predicates and abbreviations of a tool graph."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated, TypeAlias

from pydantic import AfterValidator, Field

from ontology.errors import OntologyError
from ontology.yaml_file import Checked, Fault, Rows, Text, accepted, gone, read_model, value_fault


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityType:
    """A type of node. ``is_a`` is its supertype, or empty."""

    name: str
    description: str = ""
    is_a: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Predicate:
    """A type of edge.

    :param domain: allowed entity types of the head; their subtypes are allowed too.
    :param range: allowed entity types of the tail; their subtypes are allowed too.
    :param metadata: metadata keys of a tool whose values are tails of this predicate.
    :param derived: egotools derives it between tools; an extractor must not use it.
    """

    name: str
    description: str = ""
    domain: tuple[str, ...] = ()
    range: tuple[str, ...] = ()
    metadata: tuple[str, ...] = ()
    derived: bool = False


@dataclass(frozen=True, kw_only=True)
class Ontology:
    """The types of a tool graph.

    :param abbreviations: map from abbreviation to its full words, both in lower case.
    """

    name: str
    version: int = 1
    entity_types: Mapping[str, EntityType] = field(default_factory=dict)
    predicates: Mapping[str, Predicate] = field(default_factory=dict)
    abbreviations: Mapping[str, str] = field(default_factory=dict)

    def is_a(self, entity_type: str, wider: str) -> bool:
        """Whether an entity type is ``wider`` or a subtype of it."""
        seen: set[str] = set()
        while entity_type and entity_type not in seen:
            if entity_type == wider:
                return True
            seen.add(entity_type)
            known = self.entity_types.get(entity_type)
            entity_type = known.is_a if known else ""
        return False

    def allows(self, head_type: str, predicate: str, tail_type: str) -> bool:
        """Whether an edge of the predicate may connect these entity types."""
        edge = (head_type, predicate, tail_type)
        if edge not in self._allowed:
            known = self.predicates.get(predicate)
            self._allowed[edge] = (
                known is not None
                and any(self.is_a(head_type, wider) for wider in known.domain)
                and any(self.is_a(tail_type, wider) for wider in known.range)
            )
        return self._allowed[edge]

    @cached_property
    def metadata_predicates(self) -> Mapping[str, str]:
        """Map from metadata key to predicate."""
        return {key: predicate.name for predicate in self.predicates.values() for key in predicate.metadata}

    @cached_property
    def _allowed(self) -> dict[tuple[str, str, str], bool]:
        """What :meth:`allows` has found out: there are few combinations, and a build asks millions of times."""
        return {}

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the whole ontology, 64 hex digits."""
        content = (
            self.name,
            self.version,
            sorted((t.name, t.description, t.is_a) for t in self.entity_types.values()),
            sorted((p.name, p.description, p.domain, p.range, p.metadata, p.derived) for p in self.predicates.values()),
            sorted(self.abbreviations.items()),
        )
        return hashlib.sha256(repr(content).encode()).hexdigest()


DEFAULT_ONTOLOGY = Path(__file__).with_name("default.yaml")
_REQUIRED_TYPES = ("tool", "parameter", "business_object", "capability", "value")
_REQUIRED_PREDICATES = ("has_entity", "has_parameter", "returns", "depends_on", "supplies", "resolved_by")


def _base(name: str) -> str:
    if name not in ("", "default"):
        raise value_fault(f"extends {name!r} is not known", "the only base is `default`")
    return name


_NO_PHRASES = "no phrase of a document is mapped onto a predicate any more"
_Gone: TypeAlias = Annotated[None, gone("leave it out: --extractor llm reads relations", _NO_PHRASES)]


class _Row(Rows):
    description: str = ""


class _TypeRow(_Row):
    is_a: str = ""


class _PredicateRow(_Row):
    domain: Annotated[tuple[str, ...], Field(min_length=1)]
    range: Annotated[tuple[str, ...], Field(min_length=1)]
    synonyms: _Gone = None
    metadata: tuple[str, ...] = ()
    derived: bool = False


class _File(Rows):
    name: str = ""
    version: int = 1
    extends: Annotated[str, AfterValidator(_base)] = ""
    entity_types: dict[Text, _TypeRow] = Field(default_factory=dict)
    predicates: dict[Text, _PredicateRow] = Field(default_factory=dict)
    fallback: _Gone = None
    abbreviations: dict[Text, Text] = Field(default_factory=dict)


def load_ontology(path: Path | None = None) -> Ontology:
    """Parse an ontology file; without a path, the one that is part of egotools.

    :raises OntologyError: when the file has faults; the problem lists each with its line.
    """
    path = path or DEFAULT_ONTOLOGY
    return accepted(*check_ontology(path), OntologyError, path)


def check_ontology(path: Path) -> Checked[Ontology]:
    """Parse an ontology file. The ontology is None when the file has faults, sorted by line; what it names is looked up once it has no others."""
    file, faults = read_model(path, _File)
    if file is None:
        return Checked(None, faults)
    base = load_ontology() if file.extends else Ontology(name="")
    types = {str(name): EntityType(name=str(name), **dict(row)) for name, row in file.entity_types.items()}
    rows = {str(name): row.model_dump(exclude={"synonyms"}) for name, row in file.predicates.items()}
    predicates = {name: Predicate(name=name, **row) for name, row in rows.items()}
    abbreviations = {short.lower(): meaning.lower() for short, meaning in file.abbreviations.items()}
    ontology = Ontology(
        name=file.name,
        version=file.version,
        entity_types={**base.entity_types, **types},
        predicates={**base.predicates, **predicates},
        abbreviations={**base.abbreviations, **abbreviations},
    )
    faults = sorted(_unknown_names(ontology, file))
    return Checked(None if faults else ontology, faults)


def _unknown_names(ontology: Ontology, file: _File) -> Iterator[Fault]:
    """Yield what is missing, what is named and not there, and what two predicates claim."""
    if not ontology.name:
        yield Fault(1, "the ontology has no name", "add the line `name: …`")
    missing = [f"entity type {name!r}" for name in _REQUIRED_TYPES if name not in ontology.entity_types]
    missing += [f"predicate {name!r}" for name in _REQUIRED_PREDICATES if name not in ontology.predicates]
    for each in missing:
        yield Fault(1, f"the {each} is missing", "add it, or write `extends: default`")
    for name, row in file.entity_types.items():
        if row.is_a and row.is_a not in ontology.entity_types:
            yield Fault(name.line, f"{name!r} is_a {row.is_a!r}, which is not an entity type")
        if row.is_a and ontology.is_a(row.is_a, name):
            yield Fault(name.line, f"{name!r} is_a itself by way of {row.is_a!r}")
    owners: dict[str, str] = {}
    for name, predicate in file.predicates.items():
        named = dict.fromkeys((*predicate.domain, *predicate.range))
        for unknown in (one for one in named if one not in ontology.entity_types):
            known = f"known: {', '.join(sorted(ontology.entity_types))}"
            yield Fault(name.line, f"{name!r} names {unknown!r}, which is not an entity type", known)
        for key in predicate.metadata:
            if owners.setdefault(key, name) != name:
                yield Fault(name.line, f"{key!r} is a metadata key of both {owners[key]!r} and {name!r}")
