"""The semantic catalog of a graph: what its types, relationships and properties mean; its files, and what must be right in them."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import AfterValidator

from ingest.trust.hidden_characters import without_hidden
from ontology.errors import InvalidArgumentError
from ontology.names import words
from ontology.yaml_file import Rows, accepted, read_model, value_fault
from planners.stores.graph_schema import GraphSchema, NodeType, RelationshipType

# What operators need to know of a property: ``name`` is what people call a node by, the others say when something was
Role: TypeAlias = Literal["", "key", "name", "year", "quarter", "month", "date"]
TIME_ROLES: tuple[Role, ...] = ("year", "quarter", "month", "date")
_TOOL_GRAPH = Path(__file__).parent / "catalogs" / "tool_graph.yaml"


def _distinct(words: tuple[str, ...]) -> tuple[str, ...]:
    for at, word in enumerate(words):
        if not word or word in words[:at]:
            raise value_fault(f"{{}} has {word!r} twice" if word else "{} has an empty text")
    return words


Words: TypeAlias = Annotated[tuple[str, ...], AfterValidator(_distinct)]


class PropertyDescriptor(Rows):
    """Of a property."""

    description: str = ""
    words: Words = ()  # other words for it, in lower case
    values: Mapping[str, str] = {}  # words for values: what a person says → the value as text
    # words for several values at once: "writes" → the values of all that write
    groups: Mapping[str, Words] = {}
    role: Role = ""
    unit: str = ""  # of numbers: ``EUR``, ``kWh``; empty: none


class NodeDescriptor(Rows):
    """Of a node type; ``words`` are other words for it, in lower case, singular."""

    description: str = ""
    words: Words = ()
    properties: Mapping[str, PropertyDescriptor] = {}


class RelationshipDescriptor(Rows):
    """Of a relationship type: how a person says it from source to target, "is integrated in", and back, "contains"."""

    description: str = ""
    forward: Words = ()
    backward: Words = ()
    properties: Mapping[str, PropertyDescriptor] = {}


class SemanticCatalog(Rows):
    """Descriptors by names of the schema; ``about`` is the graph, in one or two sentences."""

    about: str = ""
    nodes: Mapping[str, NodeDescriptor] = {}
    relationships: Mapping[str, RelationshipDescriptor] = {}


def read_catalog(path: Path) -> SemanticCatalog:
    """Read a catalog file of at most 1 MiB. All its scalars are texts, which prompts may hold.

    :raises InvalidArgumentError: when it has faults; the problem lists each with its line.
    """
    return accepted(*read_model(path, SemanticCatalog), InvalidArgumentError, path)


def cleaned_text(text: str) -> str:
    """Return a text in one line, with blanks for control characters and without characters that nobody sees."""
    if text.isascii() and text.isprintable():
        return " ".join(text.split())
    spaced = "".join(" " if unicodedata.category(each) in ("Cc", "Cs", "Zl", "Zp") else each for each in text)
    return " ".join(without_hidden(spaced).split())


def catalog_for(schema: GraphSchema) -> SemanticCatalog:
    """Return the shipped catalog of tool graphs, narrowed to what a graph has; an empty one for a graph of something else."""
    if not {"parameter", "tool"} <= {each.name for each in schema.nodes}:
        return SemanticCatalog()
    found = read_catalog(_TOOL_GRAPH)
    nodes, relationships = _kept(found.nodes, schema.nodes), _kept(found.relationships, schema.relationships)
    return found.model_copy(update={"nodes": nodes, "relationships": relationships})


def unknown_names(catalog: SemanticCatalog, schema: GraphSchema) -> list[str]:
    """Return what a catalog describes and the graph does not have: ``Car``, ``Car.price``."""
    unknown = list[str]()
    for described, owners in ((catalog.nodes, schema.nodes), (catalog.relationships, schema.relationships)):
        keys = {owner.name: {each.name for each in owner.properties} for owner in owners}
        for name, each in described.items():
            unknown += [f"{name}.{key}" for key in each.properties if key not in keys[name]] if name in keys else [name]
    return unknown


def _kept(described: Mapping[str, Any], owners: Sequence[NodeType | RelationshipType]) -> dict[str, Any]:
    """The descriptors of what the schema has."""
    keys = {owner.name: {each.name for each in owner.properties} for owner in owners}
    return {
        name: each.model_copy(
            update={"properties": {key: of for key, of in each.properties.items() if key in keys[name]}}
        )
        for name, each in described.items()
        if name in keys
    }


# Roles

_NAMES = ("name", "title", "label")  # last words of a property that says what a node is called, the likeliest first


def roles_of_owner(owner: NodeType | RelationshipType, catalog: SemanticCatalog) -> dict[str, Role]:
    """Return the roles of properties by name, one key and one name at most: as the catalog says; for those it says none of, as the schema
    and their names do."""
    described = (catalog.nodes if isinstance(owner, NodeType) else catalog.relationships).get(owner.name)
    known = {each.name for each in owner.properties}
    said = {name: each.role for name, each in described.properties.items() if each.role} if described else {}
    said = {name: role for name, role in said.items() if name in known}
    roles: dict[str, Role] = {}
    if isinstance(owner, NodeType):
        texts = [each.name for each in owner.properties if each.type == "string" and each.name != owner.key]
        ranked = sorted(texts, key=lambda name: (len(words(name)), len(name), name))
        named = [name for last in _NAMES for name in ranked if words(name)[-1:] == [last]]
        roles |= {owner.key: "key"} if owner.key else {}
        roles |= {named[0]: "name"} if named else {}
    roles |= {each.name: "date" for each in owner.properties if each.type == "date" and each.name not in roles}
    alone = {"key", "name"} & set(said.values())
    return {name: role for name, role in roles.items() if name not in said and role not in alone} | said


def name_property(type_: NodeType, catalog: SemanticCatalog) -> str:
    """Return what people call a node by, else its key, else its first property; empty where it has none."""
    names = [each.name for each in type_.properties]
    return next(iter([*naming_properties(type_, catalog), *filter(None, [type_.key]), *names]), "")


def naming_properties(type_: NodeType, catalog: SemanticCatalog) -> list[str]:
    """Return the properties in which a node is looked for: its name, then its key."""
    roles = roles_of_owner(type_, catalog)
    names = [each.name for role in ("name", "key") for each in type_.properties if roles.get(each.name) == role]
    return names or [each for each in (type_.key,) if each]
