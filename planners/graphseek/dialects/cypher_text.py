"""A query that is being written: clauses, parameters in the order in which values come, and names that the schema has."""

from __future__ import annotations

from collections.abc import Sequence

from ontology.errors import InvalidArgumentError
from planners.graphs.graph_schema import GraphSchema, NodeType
from planners.graphs.property_graph import Value
from planners.graphseek.dialects.dialect import Dialect
from planners.graphseek.operators.operator import Compiled
from planners.graphseek.results.result import ResultColumn

__all__ = ["CypherText"]

_VARIABLES = ("n0", "n1", "e0", "q0", "r0", "x0", "k0", "g0", "a0", "h0")
"""That the texts use; ``g`` and ``a`` are numbered on."""


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
        return self.dialect.quoted(name)

    def aliases(self, columns: Sequence[ResultColumn]) -> list[str]:
        """Return the names of columns, quoted: different ones, also where case does not count, and none of a variable."""
        seen, found = set(_VARIABLES), list[str]()
        for column in columns:
            name, number = column.name, 2
            while name.casefold() in seen:
                name, number = f"{column.name}_{number}", number + 1
            seen.add(name.casefold())
            found.append(self.dialect.quoted(name))
        return found

    def returns(self, columns: Sequence[ResultColumn], values: Sequence[str], *, distinct: bool = False) -> list[str]:
        """Write RETURN, and return the names of its columns."""
        names = self.aliases(columns)
        listed = ", ".join(f"{value} AS {name}" for value, name in zip(values, names, strict=True))
        self.add(f"RETURN {'DISTINCT ' if distinct else ''}{listed}")
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

    def compiled(self) -> Compiled:
        """Return the query."""
        return Compiled(text="\n".join(self._clauses), parameters=dict(self._parameters))


def _names(schema: GraphSchema) -> frozenset[str]:
    nodes = {name for each in schema.nodes for name in (each.mark.label, each.mark.property, each.key)}
    relationships = {each.name for each in schema.relationships}
    properties = {key.name for keys in (each.properties for each in schema.nodes) for key in keys}
    properties |= {key.name for keys in (each.properties for each in schema.relationships) for key in keys}
    return frozenset(nodes | relationships | properties) - {""}
