"""A query that is being written, and where the Cypher of Ladybug 0.22 and that of Neo4j 5 differ.

A text has clauses, parameters in the order in which values come, and names that the schema has. Paths of Ladybug are walks, which may
pass a relationship twice; those of Neo4j are trails. Both engines find the same nodes at the same least number of hops, so operators
that count hops ask for the shortest way to each node. What is chosen for speed was measured on 230,000 nodes and 314,000 relationships.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from ontology.errors import InvalidArgumentError
from planners.graphseek.results.result import ResultColumn
from planners.stores.cypher_names import quoted_name
from planners.stores.graph_schema import GraphSchema, NodeType
from planners.stores.property_graph import Value
from planners.stores.readable_graph import CypherDialect

_VARIABLES = ("n0", "n1", "e0", "q0", "r0", "x0", "k0", "g0", "a0", "h0")
"""That the texts use; ``g`` and ``a`` are numbered on."""
_MOST_SCANNED = 500
"""Ids that are compared with every node, where they have several labels: 100 of them take 0.2 s on 190,000 nodes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled:
    """A query; the same arguments and the same schema give the same text. Values are parameters."""

    text: str
    parameters: Mapping[str, Value | None] = field(default_factory=dict)


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
        """Return the whole pattern, with ``inside`` in the brackets."""
        left, right = ("<-", "-") if self.arrow == "<-" else ("-", self.arrow)
        return f"{self.start}{left}[{inside}]{right}{self.end}"


@dataclass(frozen=True, slots=True, kw_only=True)
class IdsOfTypes:
    """Ids of nodes, and the types of which the nodes may be, as the ids say."""

    types: tuple[NodeType, ...]
    ids: tuple[str, ...]


class CypherText:
    """One query. All names of it are of the schema."""

    def __init__(self, schema: GraphSchema, dialect: Dialect) -> None:
        self.schema = schema
        self.dialect = dialect
        self._clauses: list[str] = []
        self._parameters: dict[str, Value | None] = {}
        names = {name for each in schema.nodes for name in (each.mark.label, each.mark.property, each.key)}
        for properties in [each.properties for each in schema.nodes] + [
            each.properties for each in schema.relationships
        ]:
            names |= {key.name for key in properties}
        self._known = (names | {each.name for each in schema.relationships}) - {""}

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

    def returns(self, columns: Sequence[ResultColumn], values: Sequence[str]) -> list[str]:
        """Write RETURN, and return the names of its columns, quoted: different ones without case, and none of a variable."""
        seen, names = set(_VARIABLES), list[str]()
        for column in columns:
            name, number = column.name, 2
            while name.casefold() in seen:
                name, number = f"{column.name}_{number}", number + 1
            seen.add(name.casefold())
            names.append(quoted_name(name, self.dialect.name))
        self.add(f"RETURN {', '.join(f'{value} AS {name}' for value, name in zip(values, names, strict=True))}")
        return names

    def limit(self, most: int) -> None:
        """Write LIMIT: one row more than is kept tells whether there are more."""
        self.add(f"LIMIT {self.parameter(most + 1)}")

    def node(self, variable: str, types: Sequence[NodeType] = ()) -> str:
        """Return the pattern of a node of one of the types; :meth:`of_type` and :meth:`one_of_types` say the rest."""
        labels = list(dict.fromkeys(each.mark.label for each in types))
        if not labels or len(labels) == len({each.mark.label for each in self.schema.nodes}) > 1:
            return f"({variable})"
        return f"({variable}:{'|'.join(map(self.name, labels))})"

    def of_type(self, variable: str, type_: NodeType | None) -> list[str]:
        """Return what must hold beside the label: nothing, or that the property that tells types apart has its value."""
        if type_ is None or not type_.mark.property:
            return []
        return [f"{self.property(variable, type_.mark.property)} = {self.parameter(type_.mark.value)}"]

    def one_of_types(self, variable: str, types: Sequence[NodeType]) -> list[str]:
        """Return that a node of any label is of one of the types; nothing where there are none."""
        tests = []
        for each in types:
            label = self.dialect.has_label.format(variable, self.parameter(each.mark.label))
            tests.append(" AND ".join([label, *self.of_type(variable, each)]))
        return [f"({' OR '.join(tests)})"] if tests else []

    def property(self, variable: str, name: str) -> str:
        """Return a property of a node or a relationship."""
        return f"{variable}.{self.name(name)}"

    def identity(self, variable: str) -> str:
        """Return what is equal for the same node or relationship alone."""
        return self.dialect.identity.format(variable)

    def as_text(self, expression: str) -> str:
        """Return a value as text."""
        return self.dialect.as_text.format(expression)

    def node_id(self, variable: str, types: Sequence[NodeType]) -> str:
        """Return the id of a node of one of the types, as all results have it."""
        return self.dialect.node_id(self, variable, types)

    def one_of_ids(self, variable: str, types: Sequence[NodeType], ids: Sequence[str]) -> str:
        """Return that a node has one of the ids; slow where they are many."""
        return f"{self.node_id(variable, types)} IN {self.parameter(tuple(ids))}"

    def compiled(self) -> Compiled:
        """Return the query."""
        return Compiled(text="\n".join(self._clauses), parameters=dict(self._parameters))


class LadybugDialect:
    """Ids are ``LABEL:KEY``: the primary key is the only index, and 100 times as fast as the engine's own ids.

    Its forms take a variable or an expression for ``{0}``, and a second for ``{1}``; ``total`` is a sum, null of no values.
    """

    name: CypherDialect = "ladybug"
    identity = "id({0})"
    has_label = "label({0}) = {1}"
    relationship_type = "label({0})"
    as_text = "CAST({0} AS STRING)"
    total = "sum({0})"

    def node_id(self, text: CypherText, variable: str, types: Sequence[NodeType]) -> str:
        """Return the id of a node as a string. Labels of different keys are told apart."""
        keys = dict.fromkeys((each.mark.label, each.key) for each in types or text.schema.nodes)
        shown = {key: text.as_text(text.property(variable, key)) for _, key in keys}
        if len({label for label, _ in keys}) == 1:
            label, key = next(iter(keys))
            return f"concat({text.parameter(f'{label}:')}, {shown[key]})"
        if len(shown) == 1:
            return f"concat(label({variable}), ':', {next(iter(shown.values()))})"
        cases = " ".join(f"WHEN {text.parameter(label)} THEN {shown[key]}" for label, key in keys)
        return f"concat(label({variable}), ':', CASE label({variable}) {cases} END)"

    def choose(self, text: CypherText, variable: str, type_: NodeType | None, ids: Sequence[str]) -> str:
        """Begin a query with the nodes of these ids, those of one label by their key: only OPTIONAL MATCH then starts from what was found.

        :returns: the word that the next pattern from them begins with, MATCH or OPTIONAL MATCH: after the latter, rows without an end
            are to be dropped.
        """
        types = [each for each in text.schema.nodes if type_ is None or each.mark.label == type_.mark.label]
        labels = {each.mark.label: each for each in types}
        found = {label: keys for label in labels if (keys := _with_prefix(ids, f"{label}:"))}
        if len(found) == 1:
            ((label, keys),) = found.items()
            key = labels[label].key
            is_integer = any(each.name == key and each.type == "integer" for each in labels[label].properties)
            shown = [each.removeprefix(f"{label}:") for each in keys]
            text.add(f"UNWIND {text.parameter(tuple(map(int, shown) if is_integer else shown))} AS k0")
            text.add(f"MATCH ({variable}:{text.name(label)} {{{text.name(key)}: k0}})")
            text.where(text.of_type(variable, type_))
            return "OPTIONAL MATCH"
        if len(ids) > _MOST_SCANNED:
            problem = f"it has {len(ids):,} nodes of several types"
            raise InvalidArgumentError(problem, subject="the result", remedy="Name one of its types with the handle")
        text.add(f"MATCH {text.node(variable, (type_,) if type_ else ())}")
        text.where([*text.of_type(variable, type_), text.one_of_ids(variable, types, ids)])
        return "OPTIONAL MATCH"

    def parts_of_ids(self, schema: GraphSchema, ids: Sequence[str]) -> list[IdsOfTypes]:
        """Return ids in parts that :meth:`choose` is fast with: one for each label."""
        parts = []
        for label in dict.fromkeys(each.mark.label for each in schema.nodes):
            if of_label := _with_prefix(ids, f"{label}:"):
                types = tuple(each for each in schema.nodes if each.mark.label == label)
                parts.append(IdsOfTypes(types=types, ids=of_label))
        return parts

    def reach(self, steps: Steps) -> tuple[str, list[str], str]:
        """Return the pattern of nodes within so many hops, conditions, and the expression of the number of hops.

        SHORTEST is a search by breadth: it gives each pair once, and never the start itself.
        """
        held = f" (r0, x0 | WHERE {' AND '.join(steps.conditions)})" if steps.conditions else ""
        return steps.between(f"e0{steps.types}* SHORTEST 1..{steps.hops}{held}"), [], "length(e0)"

    def ways(self, text: CypherText, steps: Steps, begin: str, held: Sequence[str], shortest: bool) -> tuple[str, str]:
        """Write the clauses that match all trails, or all shortest paths of each pair; return the path, and its length.

        :param begin: the word of the first clause; ``held`` are conditions on the ends, which differ.
        """
        kind = "ALL SHORTEST" if shortest else "TRAIL"
        text.add(f"{begin} q0 = {steps.between(f'e0{steps.types}* {kind} 1..{steps.hops}')}")
        text.where(held)
        return "q0", "length(e0)"


class BoltDialect:
    """Ids are those of elements, which the engine seeks."""

    name: CypherDialect = "bolt"
    identity = "{0}"
    has_label = "{1} IN labels({0})"
    relationship_type = "type({0})"
    as_text = "toString({0})"
    total = "CASE WHEN count({0}) > 0 THEN sum({0}) END"

    def node_id(self, text: CypherText, variable: str, types: Sequence[NodeType]) -> str:
        """The same for all types."""
        return f"elementId({variable})"

    def choose(self, text: CypherText, variable: str, type_: NodeType | None, ids: Sequence[str]) -> str:
        """The engine plans what follows from there."""
        text.add(f"MATCH {text.node(variable, (type_,) if type_ else ())}")
        text.where([text.one_of_ids(variable, (), ids), *text.of_type(variable, type_)])
        return "MATCH"

    def parts_of_ids(self, schema: GraphSchema, ids: Sequence[str]) -> list[IdsOfTypes]:
        """One part: ids say nothing of types."""
        return [IdsOfTypes(types=schema.nodes, ids=tuple(ids))] if ids else []

    def reach(self, steps: Steps) -> tuple[str, list[str], str]:
        """The least length of trails is that of a search by breadth, and the engine plans it as one."""
        held = [f"all(r0 IN relationships(q0) WHERE {' AND '.join(steps.conditions)})"] if steps.conditions else []
        return f"q0 = {steps.between(f'{steps.types}*1..{steps.hops}')}", held, "length(q0)"

    def ways(self, text: CypherText, steps: Steps, begin: str, held: Sequence[str], shortest: bool) -> tuple[str, str]:
        """The engine wants both ends of a shortest path known, and different, before it looks for it."""
        text.add(f"{begin} {steps.start}, {steps.end}")
        text.where(held)
        pattern = replace(steps, start="(n0)", end="(n1)").between(f"{steps.types}*1..{steps.hops}")
        text.add(f"MATCH q0 = {f'allShortestPaths({pattern})' if shortest else pattern}")
        return "q0", "length(q0)"


def _with_prefix(ids: Sequence[str], prefix: str) -> tuple[str, ...]:
    return tuple(each for each in ids if each.startswith(prefix))


Dialect: TypeAlias = LadybugDialect | BoltDialect
DIALECTS: Mapping[CypherDialect, Dialect] = {"ladybug": LadybugDialect(), "bolt": BoltDialect()}
