"""The seam of dialects: where the Cypher of Ladybug and that of Neo4j differ.

Paths of Ladybug are walks, which may pass a relationship twice; those of Neo4j are trails. Both engines find the same nodes at the
same least number of hops, so operators that count hops ask for the shortest way to each node.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from planners.graphs.graph_schema import GraphSchema, NodeType
from planners.graphs.readable_graph import CypherDialect

if TYPE_CHECKING:
    from planners.graphseek.dialects.cypher_text import CypherText

__all__ = ["Dialect", "Steps"]


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


class Dialect(Protocol):
    """One Cypher."""

    @property
    def name(self) -> CypherDialect:
        """Its name."""
        ...

    def quoted(self, name: str) -> str:
        """Return a name in backticks."""
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

    def types_of_ids(self, schema: GraphSchema, ids: Sequence[str]) -> tuple[NodeType, ...]:
        """Return the types that the nodes of ids may be of, as the ids say; all types where they do not."""
        ...

    def parts_of_ids(self, schema: GraphSchema, ids: Sequence[str]) -> list[list[str]]:
        """Return ids in parts that :meth:`choose` is fast with."""
        ...

    def one_of_ids(self, text: CypherText, variable: str, types: Sequence[NodeType], ids: Sequence[str]) -> str:
        """Return that a node has one of the ids; slow where they are many."""
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
