"""What nodes are called: the properties that name them, and nodes of queries as nodes of results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ontology.names import words
from planners.graphseek.catalog.property_roles import roles_of
from planners.graphseek.catalog.semantic_catalog import NodeDescriptor, RelationshipDescriptor, Role, SemanticCatalog
from planners.graphseek.dialects.cypher_text import CypherText
from planners.graphseek.operators.property_filter import Owner
from planners.graphseek.results.result import ResultColumn, ResultNode
from planners.graphseek.results.result_record import with_tuples
from planners.stores.graph_schema import GraphSchema, NodeType
from planners.stores.property_graph import Properties, Value

__all__ = [
    "NodeReader",
    "described_by",
    "name_property",
    "name_value",
    "naming_properties",
    "node_column",
    "properties_with_role",
    "roles_of_owner",
    "without_nulls",
]

_BESIDE = ("name", "count", "hops")
"""Other columns that operators put beside nodes."""
_NEARLY_UNIQUE = 0.9
"""Different values over nodes that have one, above which a string names nodes where the catalog says nothing."""


def described_by(owner: Owner, catalog: SemanticCatalog) -> NodeDescriptor | RelationshipDescriptor | None:
    """Return what the catalog says of a type; None where it says nothing."""
    return (catalog.nodes if isinstance(owner, NodeType) else catalog.relationships).get(owner.name)


def roles_of_owner(owner: Owner, catalog: SemanticCatalog) -> dict[str, Role]:
    """Return the roles of properties by name: as the catalog says; where it says none, as their names do."""
    described = described_by(owner, catalog)
    known = {each.name for each in owner.properties}
    said = {name: each.role for name, each in described.properties.items() if each.role} if described else {}
    return {name: role for name, role in said.items() if name in known} or roles_of(owner)


def properties_with_role(owner: Owner, catalog: SemanticCatalog, role: Role) -> list[str]:
    """Return the properties that play a role, in the order of the schema."""
    roles = roles_of_owner(owner, catalog)
    return [each.name for each in owner.properties if roles.get(each.name) == role]


def name_property(type_: NodeType, catalog: SemanticCatalog) -> str:
    """Return what people call a node by, else its key, else its first property; empty where it has none."""
    named = properties_with_role(type_, catalog, "name") or properties_with_role(type_, catalog, "key")
    rest = [each.name for each in type_.properties]
    return (named or [each for each in (type_.key,) if each] or rest or [""])[0]


def naming_properties(type_: NodeType, catalog: SemanticCatalog) -> list[str]:
    """Return the properties in which a node is looked for: name and key, else strings that are nearly unique."""
    roles = roles_of_owner(type_, catalog)
    named = [each.name for each in type_.properties if roles.get(each.name) in ("name", "key")]
    nearly = [
        each.name
        for each in type_.properties
        if each.type == "string" and each.distinct and each.distinct >= _NEARLY_UNIQUE * each.count
    ]
    return named or nearly or [each for each in (type_.key,) if each]


def node_column(type_: str = "", properties: Iterable[str] = ()) -> ResultColumn:
    """Return the column of nodes of a type, by its name: ``vehicle_model``; ``node`` of several types.

    :param properties: that stand beside it: one that is called like the type keeps its name, and the nodes are ``price_node``.
    """
    name = "_".join(words(type_)) or "node"
    if name in {*properties, *_BESIDE}:
        name += "_node"
    return ResultColumn(name=name, type="node", node_type=type_)


def name_value(text: CypherText, variable: str, types: Sequence[NodeType], catalog: SemanticCatalog) -> str:
    """Return the expression of what a node is called, as text."""
    named: dict[str, list[NodeType]] = {}
    for each in types:
        named.setdefault(name_property(each, catalog), []).append(each)
    named.pop("", None)
    if not named:
        return "null"
    if len(named) == 1:
        return text.dialect.as_text(text.property(variable, next(iter(named))))
    cases = " ".join(
        f"WHEN {text.one_of_types(variable, of)[0]} THEN {text.dialect.as_text(text.property(variable, name))}"
        for name, of in named.items()
    )
    return f"CASE {cases} END"


class NodeReader:
    """Reads nodes that queries give as values: their type and their name, whichever mark the type has."""

    def __init__(self, schema: GraphSchema, catalog: SemanticCatalog) -> None:
        self._types = schema.nodes
        self._read = {each.name: _readers(each) for each in schema.nodes}
        self._names = {each.name: name_property(each, catalog) for each in schema.nodes}

    def node(self, value: Any) -> ResultNode:
        """Return a node of a result."""
        properties = without_nulls(value["properties"])
        type_ = self._type(str(value["label"]), properties)
        read = self._read.get(type_, {})
        typed = {
            name: read[name](each) if name in read and isinstance(each, str) else each
            for name, each in properties.items()
        }
        return ResultNode(id=str(value["id"]), type=type_, properties=typed)

    def name(self, node: ResultNode) -> str:
        """Return what a node is called: its id where it has no name."""
        return str(node.properties.get(self._names.get(node.type, ""), node.id))

    def _type(self, label: str, properties: Mapping[str, Any]) -> str:
        """Return the type of a node; of one with several labels the first that is a type."""
        for of in (_is_label, _has_label):
            for each in self._types:
                mark = each.mark
                if of(mark.label, label) and (not mark.property or properties.get(mark.property) == mark.value):
                    return each.name
        return label


def _readers(type_: NodeType) -> dict[str, Callable[[Any], Value]]:
    """Return what reads numbers: Ladybug gives them as texts where another label has texts under the name."""
    readers: dict[str, Callable[[Any], Value]] = {"integer": int, "number": float}
    return {each.name: readers[each.type] for each in type_.properties if each.type in readers}


def _is_label(wanted: str, label: str) -> bool:
    return wanted == label


def _has_label(wanted: str, labels: str) -> bool:
    return f":{wanted}:" in f":{labels}:"


def without_nulls(properties: Mapping[str, Any]) -> Properties:
    """Return the properties that have a value; lists as tuples."""
    return with_tuples({name: value for name, value in properties.items() if value is not None})
