"""A query that is being written, and where the Cypher of Ladybug 0.22 and that of Neo4j 5 (Bolt) differ.

A text has clauses, parameters in the order in which values come, and names that the schema has. Paths of Ladybug are walks, which may
pass a relationship twice; those of Neo4j are trails. Both engines find the same nodes at the same least number of hops, so operators
that count hops ask for the shortest way to each node. What is chosen for speed was measured on 230,000 nodes and 314,000 relationships.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ontology.errors import InvalidArgumentError
from planners.graphseek.results import ResultColumn
from planners.stores.graph_schema import CypherDialect, GraphSchema, NodeType
from planners.stores.property_graph import Value
from planners.stores.statements import quoted_name

# That the texts use; ``g`` and ``a`` are numbered on
_VARIABLES = ("n0", "n1", "e0", "q0", "r0", "x0", "k0", "g0", "a0", "h0")
# Ids that are compared with every node, where they have several labels: 100 of them take 0.2 s on 190,000 nodes
_MOST_SCANNED = 500
# Of a variable or an expression ``{0}``; ``total`` is a sum, null of no values
_FORMS: Mapping[CypherDialect, Mapping[str, str]] = {
    "ladybug": {
        "identity": "id({0})",
        "has_label": "label({0}) = {1}",
        "relationship_type": "label({0})",
        "as_text": "CAST({0} AS STRING)",
        "total": "sum({0})",
    },
    "bolt": {
        "identity": "{0}",
        "has_label": "{1} IN labels({0})",
        "relationship_type": "type({0})",
        "as_text": "toString({0})",
        "total": "CASE WHEN count({0}) > 0 THEN sum({0}) END",
    },
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled:
    """A query; the same arguments and the same schema give the same text. Values are parameters."""

    text: str
    parameters: Mapping[str, Value | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """A pattern between two nodes, ``n0`` and ``n1``."""

    start: str
    end: str
    types: str  # ``:`A`|`B```, empty for all
    arrow: str  # how the relationships point: ``->``, ``<-`` or ``-``
    hops: int
    conditions: Sequence[str] = ()  # on each relationship, which they call ``r0``

    def between(self, inside: str) -> str:
        """Return the whole pattern, with ``inside`` in the brackets."""
        left, right = ("<-", "-") if self.arrow == "<-" else ("-", self.arrow)
        return f"{self.start}{left}[{inside}]{right}{self.end}"


class CypherText:
    """One query. All names of it are of the schema. Ids of nodes are ``LABEL:KEY`` in Ladybug, whose primary key is the
    only index; over Bolt they are those of elements."""

    def __init__(self, schema: GraphSchema, dialect: CypherDialect) -> None:
        self.schema = schema
        self._dialect = dialect
        self._is_bolt = dialect == "bolt"
        self._clauses: list[str] = []
        self._parameters: dict[str, Value | None] = {}
        names = {name for each in schema.nodes for name in (each.name, each.key)}
        names |= {key.name for of in (schema.nodes, schema.relationships) for owner in of for key in owner.properties}
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
        """Return a label, a type or the name of a property, quoted; raises InvalidArgumentError when the schema has no such name."""
        if name not in self._known:
            raise InvalidArgumentError("the schema has no such name", subject=name[:100])
        return quoted_name(name, self._dialect)

    def form(self, kind: str, *expressions: str) -> str:
        """Return an expression that the engines write differently: ``identity`` of a node, ``as_text`` of a value, and so on."""
        return _FORMS[self._dialect][kind].format(*expressions)

    def returns(self, columns: Sequence[ResultColumn], values: Sequence[str]) -> list[str]:
        """Write RETURN, and return the names of its columns, quoted: different ones without case, and none of a variable."""
        seen, names = set(_VARIABLES), list[str]()
        for column in columns:
            name, number = column.name, 2
            while name.casefold() in seen:
                name, number = f"{column.name}_{number}", number + 1
            seen.add(name.casefold())
            names.append(quoted_name(name, self._dialect))
        self.add(f"RETURN {', '.join(f'{value} AS {name}' for value, name in zip(values, names, strict=True))}")
        return names

    def limit(self, most: int) -> None:
        """Write LIMIT: one row more than is kept tells whether there are more."""
        self.add(f"LIMIT {self.parameter(most + 1)}")

    def node(self, variable: str, types: Sequence[NodeType] = ()) -> str:
        """Return the pattern of a node of one of the types."""
        names = list(dict.fromkeys(each.name for each in types))
        if not names or len(names) == len(self.schema.nodes) > 1:
            return f"({variable})"
        return f"({variable}:{'|'.join(map(self.name, names))})"

    def one_of_types(self, variable: str, types: Sequence[NodeType]) -> str:
        """Return that a node of any label is of one of the types."""
        tests = [self.form("has_label", variable, self.parameter(each.name)) for each in types]
        return f"({' OR '.join(tests)})"

    def property(self, variable: str, name: str) -> str:
        """Return a property of a node or a relationship."""
        return f"{variable}.{self.name(name)}"

    def node_id(self, variable: str, types: Sequence[NodeType]) -> str:
        """Return the id of a node of one of the types, as all results have it."""
        if self._is_bolt:
            return f"elementId({variable})"
        keys = {each.name: each.key for each in types or self.schema.nodes}
        shown = {key: self.form("as_text", self.property(variable, key)) for key in keys.values()}
        if len(keys) == 1:
            label, key = next(iter(keys.items()))
            return f"concat({self.parameter(f'{label}:')}, {shown[key]})"
        if len(shown) == 1:
            return f"concat(label({variable}), ':', {next(iter(shown.values()))})"
        cases = " ".join(f"WHEN {self.parameter(label)} THEN {shown[key]}" for label, key in keys.items())
        return f"concat(label({variable}), ':', CASE label({variable}) {cases} END)"

    def one_of_ids(self, variable: str, types: Sequence[NodeType], ids: Sequence[str]) -> str:
        """Return that a node has one of the ids; slow where they are many."""
        return f"{self.node_id(variable, types)} IN {self.parameter(tuple(ids))}"

    def choose(self, variable: str, type_: NodeType | None, ids: Sequence[str]) -> str:
        """Begin with the nodes of these ids; Ladybug finds those of one label by their key, and only OPTIONAL MATCH
        then starts from them. Returns the word that the next pattern begins with: after OPTIONAL MATCH, rows without an
        end are to be dropped."""
        types = [type_] if type_ else self.schema.nodes
        of_type = {} if self._is_bolt else {each: _with_prefix(ids, f"{each.name}:") for each in types}
        found = {each: keys for each, keys in of_type.items() if keys}
        if len(found) == 1:
            ((only, keys),) = found.items()
            is_integer = any(each.name == only.key and each.type == "integer" for each in only.properties)
            shown = [each.removeprefix(f"{only.name}:") for each in keys]
            self.add(f"UNWIND {self.parameter(tuple(map(int, shown) if is_integer else shown))} AS k0")
            self.add(f"MATCH ({variable}:{self.name(only.name)} {{{self.name(only.key)}: k0}})")
            return "OPTIONAL MATCH"
        if len(ids) > _MOST_SCANNED and not self._is_bolt:
            problem = f"it has {len(ids):,} nodes of several types"
            raise InvalidArgumentError(problem, subject="the result", remedy="Name one of its types with the handle")
        self.add(f"MATCH {self.node(variable, (type_,) if type_ else ())}")
        self.where([self.one_of_ids(variable, types, ids)])
        return "MATCH" if self._is_bolt else "OPTIONAL MATCH"

    def parts_of_ids(self, ids: Sequence[str]) -> list[tuple[tuple[NodeType, ...], tuple[str, ...]]]:
        """Return ids in parts that :meth:`choose` is fast with, each with the types that its nodes may be of."""
        if self._is_bolt:
            return [(self.schema.nodes, tuple(ids))] if ids else []
        parts = [((each,), _with_prefix(ids, f"{each.name}:")) for each in self.schema.nodes]
        return [(types, of_type) for types, of_type in parts if of_type]

    def reach(self, steps: Steps) -> tuple[str, list[str], str]:
        """Return the pattern of nodes within so many hops, conditions, and the expression of the number of hops.
        SHORTEST of Ladybug is a search by breadth: it gives each pair once, and never the start itself. The least
        length of trails is the same, and Neo4j plans it as one."""
        held = " AND ".join(steps.conditions)
        if self._is_bolt:
            conditions = [f"all(r0 IN relationships(q0) WHERE {held})"] if held else []
            return f"q0 = {steps.between(f'{steps.types}*1..{steps.hops}')}", conditions, "length(q0)"
        inside = f"e0{steps.types}* SHORTEST 1..{steps.hops}{f' (r0, x0 | WHERE {held})' if held else ''}"
        return steps.between(inside), [], "length(e0)"

    def paths(self, steps: Steps, begin: str, held: Sequence[str], shortest: bool) -> tuple[str, str]:
        """Write the clauses that match all trails, or all shortest paths of each pair; return the path, and its length.
        ``begin`` is the word of the first clause; ``held`` are conditions on the ends, which differ."""
        if not self._is_bolt:
            kind = "ALL SHORTEST" if shortest else "TRAIL"
            self.add(f"{begin} q0 = {steps.between(f'e0{steps.types}* {kind} 1..{steps.hops}')}")
            self.where(held)
            return "q0", "length(e0)"
        self.add(f"{begin} {steps.start}, {steps.end}")  # Neo4j wants both ends of a shortest path known, and different
        self.where(held)
        pattern = replace(steps, start="(n0)", end="(n1)").between(f"{steps.types}*1..{steps.hops}")
        self.add(f"MATCH q0 = {f'allShortestPaths({pattern})' if shortest else pattern}")
        return "q0", "length(q0)"

    def compiled(self) -> Compiled:
        """Return the query."""
        return Compiled(text="\n".join(self._clauses), parameters=dict(self._parameters))


def _with_prefix(ids: Sequence[str], prefix: str) -> tuple[str, ...]:
    return tuple(each for each in ids if each.startswith(prefix))
