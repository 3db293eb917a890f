"""A query that is being written, and the seam of dialects: where the Cypher of Ladybug and that of Neo4j differ.

A text has clauses, parameters in the order in which values come, and names that the schema has. Paths of Ladybug are walks, which may
pass a relationship twice; those of Neo4j are trails. Both engines find the same nodes at the same least number of hops, so operators
that count hops ask for the shortest way to each node.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from ontology.errors import InvalidArgumentError
from planners.graphseek.results.result import ResultColumn
from planners.stores.graph_schema import CypherDialect, GraphSchema, NodeType
from planners.stores.property_graph import Value
from planners.stores.statements import quoted_name

__all__ = ["Compiled", "CypherText", "Dialect", "IdsOfTypes", "Steps"]

_VARIABLES = ("n0", "n1", "e0", "q0", "r0", "x0", "k0", "g0", "a0", "h0")
"""That the texts use; ``g`` and ``a`` are numbered on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled:
    """A query in the dialect of the graph; the same arguments and the same schema give the same text.

    :param text: identifiers are of the schema alone, values are parameters.
    """

    text: str
    parameters: Mapping[str, Value | None] = field(default_factory=dict)


class CypherText:
    """One query. The same calls give the same text.

    :param schema: where all names of the text are from.
    """

    def __init__(self, schema: GraphSchema, dialect: Dialect) -> None:
        self.schema = schema
        self.dialect = dialect
        self._clauses: list[str] = []
        self._parameters: dict[str, Value | None] = {}
        self._known = _names(schema)

    def add(self, clause: str) -> None:
        """Append a clause."""
        self._clauses.append(clause)

    def where(self, conditions: Sequence[str]) -> None:
        """Append conditions that all hold."""
        if conditions:
            self.add(f"WHERE {' AND '.join(conditions)}")

    def parameter(self, value: Value | None) -> str:
        """Return how the text refers to a value: ``$p0``, ``$p1``, …; equal values of one type share it."""
        for name, known in self._parameters.items():
            if type(known) is type(value) and repr(known) == repr(value):
                return f"${name}"
        name = f"p{len(self._parameters)}"
        self._parameters[name] = value
        return f"${name}"

    def name(self, name: str) -> str:
        """Return a label, a type or the name of a property, quoted.

        :raises InvalidArgumentError: when the schema has no such name: nothing else becomes part of a text.
        """
        if name not in self._known:
            raise InvalidArgumentError("the schema has no such name", subject=name[:100])
        return quoted_name(name, self.dialect.name)

    def aliases(self, columns: Sequence[ResultColumn]) -> list[str]:
        """Return the names of columns, quoted: different ones, also where case does not count, and none of a variable."""
        seen, found = set(_VARIABLES), list[str]()
        for column in columns:
            name, number = column.name, 2
            while name.casefold() in seen:
                name, number = f"{column.name}_{number}", number + 1
            seen.add(name.casefold())
            found.append(quoted_name(name, self.dialect.name))
        return found

    def returns(self, columns: Sequence[ResultColumn], values: Sequence[str]) -> list[str]:
        """Write RETURN, and return the names of its columns."""
        names = self.aliases(columns)
        listed = ", ".join(f"{value} AS {name}" for value, name in zip(values, names, strict=True))
        self.add(f"RETURN {listed}")
        return names

    def node(self, variable: str, types: Sequence[NodeType] = ()) -> str:
        """Return the pattern of a node of one of the types; :meth:`of_type` and :meth:`one_of_types` say the rest."""
        labels = list(dict.fromkeys(each.mark.label for each in types))
        if not labels or len(labels) == len({each.mark.label for each in self.schema.nodes}) > 1:
            return f"({variable})"
        return f"({variable}:{'|'.join(self.name(label) for label in labels)})"

    def of_type(self, variable: str, type_: NodeType | None) -> list[str]:
        """Return what must hold beside the label: nothing, or that the property that tells types apart has its value."""
        if type_ is None or not type_.mark.property:
            return []
        return [f"{self.property(variable, type_.mark.property)} = {self.parameter(type_.mark.value)}"]

    def one_of_types(self, variable: str, types: Sequence[NodeType]) -> list[str]:
        """Return that a node of any label is of one of the types; nothing where there are none."""
        if not types:
            return []
        each = [
            " AND ".join(
                [
                    self.dialect.has_label(variable, self.parameter(type_.mark.label)),
                    *self.of_type(variable, type_),
                ]
            )
            for type_ in types
        ]
        return [f"({' OR '.join(each)})"]

    def property(self, variable: str, name: str) -> str:
        """Return a property of a node or a relationship."""
        return f"{variable}.{self.name(name)}"

    def node_id(self, variable: str, types: Sequence[NodeType]) -> str:
        """Return the id of a node as all results have it.

        :param types: of which the node may be.
        """
        return self.dialect.node_id(self, variable, types)

    def one_of_ids(self, variable: str, types: Sequence[NodeType], ids: Sequence[str]) -> str:
        """Return that a node has one of the ids; slow where they are many."""
        return f"{self.node_id(variable, types)} IN {self.parameter(tuple(ids))}"

    def compiled(self) -> Compiled:
        """Return the query."""
        return Compiled(text="\n".join(self._clauses), parameters=dict(self._parameters))


def _names(schema: GraphSchema) -> frozenset[str]:
    nodes = {name for each in schema.nodes for name in (each.mark.label, each.mark.property, each.key)}
    relationships = {each.name for each in schema.relationships}
    properties = {key.name for keys in (each.properties for each in schema.nodes) for key in keys}
    properties |= {key.name for keys in (each.properties for each in schema.relationships) for key in keys}
    return frozenset(nodes | relationships | properties) - {""}


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """A pattern between two nodes, ``n0`` and ``n1``.

    :param start: pattern of ``n0``; ``end`` of ``n1``.
    :param types: ``:`A`|`B```, empty for all.
    :param arrow: how the relationships point: ``->``, ``<-`` or ``-``.
    :param hops: most of them, from 1.
    :param conditions: on each relationship, which they call ``r0``.
    """

    start: str
    end: str
    types: str
    arrow: str
    hops: int
    conditions: Sequence[str] = ()

    def between(self, inside: str) -> str:
        """Return the whole pattern.

        :param inside: of the brackets.
        """
        left, right = ("<-", "-") if self.arrow == "<-" else ("-", self.arrow)
        return f"{self.start}{left}[{inside}]{right}{self.end}"


@dataclass(frozen=True, slots=True, kw_only=True)
class IdsOfTypes:
    """Ids of nodes.

    :param types: of which the nodes may be, as the ids say; all types where they do not.
    """

    types: tuple[NodeType, ...]
    ids: tuple[str, ...]


class Dialect(Protocol):
    """One Cypher."""

    @property
    def name(self) -> CypherDialect:
        """The name of the dialect."""
        ...

    def node_id(self, text: CypherText, variable: str, types: Sequence[NodeType]) -> str:
        """Return the id of a node, as a string."""
        ...

    def identity(self, variable: str) -> str:
        """Return what is equal for the same node or relationship alone."""
        ...

    def has_label(self, variable: str, label: str) -> str:
        """Return that a node has a label."""
        ...

    def relationship_type(self, variable: str) -> str:
        """Return the type of a relationship."""
        ...

    def as_text(self, expression: str) -> str:
        """Return a value as text."""
        ...

    def total(self, expression: str) -> str:
        """Return a sum; null of no values."""
        ...

    def choose(self, text: CypherText, variable: str, type_: NodeType | None, ids: Sequence[str]) -> str:
        """Begin a query with the nodes of these ids.

        :returns: the word that the next pattern from them begins with, MATCH or OPTIONAL MATCH: after the latter, rows without an end
            are to be dropped.
        """
        ...

    def parts_of_ids(self, schema: GraphSchema, ids: Sequence[str]) -> list[IdsOfTypes]:
        """Return ids in parts that :meth:`choose` is fast with."""
        ...

    def reach(self, steps: Steps) -> tuple[str, list[str], str]:
        """Return the pattern of nodes within so many hops, conditions, and the expression of the number of hops."""
        ...

    def ways(
        self, text: CypherText, steps: Steps, begin: str, conditions: Sequence[str], *, shortest: bool
    ) -> tuple[str, str]:
        """Write the clauses that match all trails, or all shortest paths of each pair.

        :param begin: the word of the first clause.
        :param conditions: on the ends, which differ.
        :returns: the path, and its length.
        """
        ...
