"""The ontology: entity types, predicates and abbreviations of a tool graph."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeAlias

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ontology.errors import OntologyError
from ontology.files import SAFE_LOADER
from ontology.names import words


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
    :param synonyms: phrases with the same meaning.
    :param metadata: metadata keys of a tool whose values are tails of this predicate.
    :param derived: egotools derives it between tools; an extractor must not use it.
    """

    name: str
    description: str = ""
    domain: tuple[str, ...] = ()
    range: tuple[str, ...] = ()
    synonyms: tuple[str, ...] = ()
    metadata: tuple[str, ...] = ()
    derived: bool = False


@dataclass(frozen=True, kw_only=True)
class Ontology:
    """The types of a tool graph.

    :param fallback: the predicate for a phrase that maps to no other predicate.
    :param abbreviations: map from abbreviation to its full words, both in lower case.
    """

    name: str
    version: int = 1
    entity_types: Mapping[str, EntityType] = field(default_factory=dict)
    predicates: Mapping[str, Predicate] = field(default_factory=dict)
    fallback: str = "related_to"
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

    def predicate_for(self, phrase: str) -> str:
        """Return the predicate that has the phrase as its name or synonym, or an empty text."""
        return self._phrases.get(" ".join(words(phrase)), "")

    @cached_property
    def metadata_predicates(self) -> Mapping[str, str]:
        """Map from metadata key to predicate."""
        return {key: predicate.name for predicate in self.predicates.values() for key in predicate.metadata}

    @cached_property
    def _allowed(self) -> dict[tuple[str, str, str], bool]:
        """What :meth:`allows` has found out: there are few combinations, and a build asks millions of times."""
        return {}

    @cached_property
    def _phrases(self) -> Mapping[str, str]:
        phrases = {" ".join(words(synonym)): p.name for p in self.predicates.values() for synonym in p.synonyms}
        return phrases | {" ".join(words(name)): name for name in self.predicates}

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the whole ontology, 64 hex digits."""
        content = (
            self.name,
            self.version,
            sorted((t.name, t.description, t.is_a) for t in self.entity_types.values()),
            sorted(
                (p.name, p.description, p.domain, p.range, p.synonyms, p.metadata, p.derived)
                for p in self.predicates.values()
            ),
            self.fallback,
            sorted(self.abbreviations.items()),
        )
        return hashlib.sha256(repr(content).encode()).hexdigest()


DEFAULT_ONTOLOGY = Path(__file__).with_name("default.yaml")
_REQUIRED_TYPES = ("tool", "parameter", "business_object", "capability", "value")
_REQUIRED_PREDICATES = ("has_entity", "has_parameter", "returns", "depends_on", "supplies", "resolved_by")
_MOST_NODES = 200_000  # of a file, with those that aliases repeat
_Place: TypeAlias = tuple[str | int, ...]


@dataclass(frozen=True, slots=True, order=True)
class Fault:
    """One fault of an ontology file; ``line`` counts from 1."""

    line: int
    problem: str
    remedy: str = ""

    def __str__(self) -> str:
        return f"line {self.line}: {self.problem}" + (f" ({self.remedy})" if self.remedy else "")


class CheckedOntology(NamedTuple):
    """An ontology without faults, or None and the faults of the file."""

    ontology: Ontology | None
    faults: list[Fault]


class _Row(BaseModel):
    model_config = ConfigDict(extra="forbid")
    description: str = ""


class _TypeRow(_Row):
    is_a: str = ""


class _PredicateRow(_Row):
    domain: Annotated[tuple[str, ...], Field(min_length=1)]
    range: Annotated[tuple[str, ...], Field(min_length=1)]
    synonyms: tuple[str, ...] = ()
    metadata: tuple[str, ...] = ()
    derived: bool = False


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: str = ""
    version: int = 1
    extends: str = ""
    entity_types: dict[str, _TypeRow] = {}
    predicates: dict[str, _PredicateRow] = {}
    fallback: str = ""
    abbreviations: dict[str, str] = {}


def load_ontology(path: Path | None = None) -> Ontology:
    """Parse an ontology file; without a path, the one that is part of egotools.

    :raises OntologyError: when the file has faults; the problem lists each with its line.
    """
    path = path or DEFAULT_ONTOLOGY
    ontology, faults = check_ontology(path)
    if ontology is None:
        listed = "; ".join(map(str, faults))
        raise OntologyError(f"{len(faults)} fault(s): {listed}", subject=str(path), remedy="Correct these lines")
    return ontology


def check_ontology(path: Path) -> CheckedOntology:
    """Parse an ontology file. The ontology is None when the file has faults; faults are sorted by line."""
    try:
        if path.exists() and not path.is_file():  # a pipe could be read without end
            return CheckedOntology(None, [Fault(1, "this is no file")])
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        return CheckedOntology(None, [Fault(1, f"the file cannot be read: {error}")])
    # libyaml is ten times as fast, and a file of others may be so deep that its recursion ends the process.
    loader = SAFE_LOADER(text) if path == DEFAULT_ONTOLOGY else yaml.SafeLoader(text)
    try:
        root = loader.get_single_node()
        if not isinstance(root, yaml.MappingNode):
            return CheckedOntology(None, [Fault(1, "the file must be a mapping", "see ontology/default.yaml")])
        reader = _Reader()
        ontology = reader.ontology(root)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        return CheckedOntology(None, [Fault(line, f"invalid YAML: {error.problem}")])
    except RecursionError:
        return CheckedOntology(None, [Fault(1, "the file is nested too deeply")])
    except yaml.YAMLError as error:
        return CheckedOntology(None, [Fault(1, f"invalid YAML: {error}")])
    finally:
        loader.dispose()
    return CheckedOntology(None if reader.faults else ontology, sorted(reader.faults))


class _Reader:
    """Reads one file: its values, checked by the models above, and the line of each for what is wrong with it."""

    def __init__(self) -> None:
        self.faults: list[Fault] = []
        self._lines: dict[_Place, int] = {(): 1}

    def ontology(self, root: yaml.MappingNode) -> Ontology:
        """The ontology of a file; with faults, what is left of it without them."""
        file = self._checked(self._plain(root, ()))
        if file.extends not in ("", "default"):
            self._fault(("extends",), f"extends {file.extends!r} is not known", "the only base is `default`")
        base = load_ontology() if file.extends == "default" else Ontology(name="")
        types = {name: EntityType(name=name, **dict(row)) for name, row in file.entity_types.items()}
        predicates = {name: Predicate(name=name, **dict(row)) for name, row in file.predicates.items()}
        abbreviations = {short.lower(): meaning.lower() for short, meaning in file.abbreviations.items()}
        ontology = Ontology(
            name=file.name,
            version=file.version,
            entity_types={**base.entity_types, **types},
            predicates={**base.predicates, **predicates},
            fallback=file.fallback or base.fallback,
            abbreviations={**base.abbreviations, **abbreviations},
        )
        self._check_references(ontology, file)
        return ontology

    def _plain(self, node: yaml.Node, at: _Place) -> Any:
        """The values under a node, every scalar as its text; notes their lines, and keys that a mapping has twice."""
        if len(self._lines) > _MOST_NODES:
            raise RecursionError
        if isinstance(node, yaml.MappingNode):
            found: dict[str, Any] = {}
            for key, value in node.value:
                name = str(key.value)
                if name in found:
                    self.faults.append(Fault(key.start_mark.line + 1, f"{_said(at)} has {name!r} twice"))
                self._lines[(*at, name)] = key.start_mark.line + 1
                found[name] = self._plain(value, (*at, name))
            return found
        if isinstance(node, yaml.SequenceNode):
            for number, item in enumerate(node.value):
                self._lines[(*at, number)] = item.start_mark.line + 1
            return [self._plain(item, (*at, number)) for number, item in enumerate(node.value)]
        return str(node.value)

    def _checked(self, values: Any) -> _File:
        """The values of a file; what is wrong is noted and left out."""
        while True:
            try:
                return _File.model_validate(values)
            except ValidationError as error:
                for each in error.errors(include_url=False):
                    lacks = each["type"] in ("missing", "too_short")
                    self._fault(each["loc"], *_problem(each["type"], each["loc"], each["input"], each["msg"]))
                    _remove(values, each["loc"][:-1] if lacks else each["loc"])

    def _check_references(self, ontology: Ontology, file: _File) -> None:
        if not ontology.name:
            self._fault((), "the ontology has no name", "add the line `name: …`")
        missing = [f"entity type {name!r}" for name in _REQUIRED_TYPES if name not in ontology.entity_types]
        needed = dict.fromkeys((*_REQUIRED_PREDICATES, ontology.fallback))
        missing += [f"predicate {name!r}" for name in needed if name not in ontology.predicates]
        for each in missing:
            self._fault((), f"the {each} is missing", "add it, or write `extends: default`")
        for name, row in file.entity_types.items():
            if row.is_a and row.is_a not in ontology.entity_types:
                self._fault(("entity_types", name), f"{name!r} is_a {row.is_a!r}, which is not an entity type")
            if row.is_a and ontology.is_a(row.is_a, name):
                self._fault(("entity_types", name), f"{name!r} is_a itself by way of {row.is_a!r}")
        owners: dict[tuple[str, str], str] = {}
        for name, predicate in file.predicates.items():
            for unknown in dict.fromkeys(
                one for one in (*predicate.domain, *predicate.range) if one not in ontology.entity_types
            ):
                known = f"known: {', '.join(sorted(ontology.entity_types))}"
                self._fault(("predicates", name), f"{name!r} names {unknown!r}, which is not an entity type", known)
            said = [("synonym", synonym.lower()) for synonym in predicate.synonyms]
            for what, text in (*said, *(("metadata key", key) for key in predicate.metadata)):
                if owners.setdefault((what, text), name) != name:
                    both = f"{owners[what, text]!r} and {name!r}"
                    self._fault(("predicates", name), f"{text!r} is a {what} of both {both}")
        for short, meaning in file.abbreviations.items():
            if not meaning:
                problem = f"the abbreviation {short!r} has no expansion"
                self._fault(("abbreviations", short), problem, "write the words that it abbreviates")

    def _fault(self, at: _Place, problem: str, remedy: str = "") -> None:
        """Note a fault at a place of the file, or at the nearest one around it that the file has."""
        line = next(self._lines[at[:end]] for end in range(len(at), -1, -1) if at[:end] in self._lines)
        self.faults.append(Fault(line, problem, remedy))


def _said(at: _Place) -> str:
    return ".".join(map(str, at)) or "the ontology"


def _problem(kind: str, at: _Place, value: Any, message: str) -> tuple[str, str]:
    """What is wrong, and what to do, in the words of this file."""
    name, around = str(at[-1]), _said(at[:-1])
    if kind == "extra_forbidden":
        models: dict[int, type[BaseModel]] = {1: _File, 3: _TypeRow if at[0] == "entity_types" else _PredicateRow}
        return f"{around} has an unknown key {name!r}", f"known: {', '.join(sorted(models[len(at)].model_fields))}"
    if kind in ("missing", "too_short"):
        return f"{around} has no {name}", f"add `{name}: [type, …]`"
    if kind == "tuple_type":
        return f"{_said(at)} must be a list", "write [one, two]"
    if kind in ("dict_type", "model_type"):
        return f"{_said(at)} must be a mapping", "see ontology/default.yaml"
    if kind.startswith("int"):
        return f"{_said(at)} must be a whole number, not {value!r}", ""
    return f"{_said(at)}: {message}", ""


def _remove(values: Any, at: _Place) -> None:
    for step in at[:-1]:
        values = values[step]
    if isinstance(values, dict):
        values.pop(at[-1], None)
    else:
        values[int(at[-1])] = ""
