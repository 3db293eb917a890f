"""The Cypher of Neo4j 5, over Bolt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from planners.graphseek.dialects.cypher_text import CypherText, IdsOfTypes, Steps
from planners.stores.graph_schema import CypherDialect, GraphSchema, NodeType

__all__ = ["BoltDialect"]


class BoltDialect:
    """Ids are those of elements, which the engine seeks."""

    name: CypherDialect = "bolt"

    def node_id(self, text: CypherText, variable: str, types: Sequence[NodeType]) -> str:
        """See :class:`Dialect`."""
        return f"elementId({variable})"

    def identity(self, variable: str) -> str:
        """See :class:`Dialect`."""
        return variable

    def has_label(self, variable: str, label: str) -> str:
        """See :class:`Dialect`."""
        return f"{label} IN labels({variable})"

    def relationship_type(self, variable: str) -> str:
        """See :class:`Dialect`."""
        return f"type({variable})"

    def as_text(self, expression: str) -> str:
        """See :class:`Dialect`."""
        return f"toString({expression})"

    def total(self, expression: str) -> str:
        """See :class:`Dialect`. The engine's own sum of no values is 0."""
        return f"CASE WHEN count({expression}) > 0 THEN sum({expression}) END"

    def choose(self, text: CypherText, variable: str, type_: NodeType | None, ids: Sequence[str]) -> str:
        """See :class:`Dialect`."""
        text.add(f"MATCH {text.node(variable, (type_,) if type_ else ())}")
        text.where([text.one_of_ids(variable, (), ids), *text.of_type(variable, type_)])
        return "MATCH"

    def parts_of_ids(self, schema: GraphSchema, ids: Sequence[str]) -> list[IdsOfTypes]:
        """See :class:`Dialect`."""
        return [IdsOfTypes(types=schema.nodes, ids=tuple(ids))] if ids else []

    def reach(self, steps: Steps) -> tuple[str, list[str], str]:
        """See :class:`Dialect`. The least length of trails is that of a search by breadth, and the engine plans it as one."""
        held = [f"all(r0 IN relationships(q0) WHERE {' AND '.join(steps.conditions)})"] if steps.conditions else []
        return f"q0 = {steps.between(f'{steps.types}*1..{steps.hops}')}", held, "length(q0)"

    def ways(
        self, text: CypherText, steps: Steps, begin: str, conditions: Sequence[str], *, shortest: bool
    ) -> tuple[str, str]:
        """See :class:`Dialect`. The engine wants both ends of a shortest path known, and different, before it looks for it."""
        text.add(f"{begin} {steps.start}, {steps.end}")
        text.where(conditions)
        pattern = replace(steps, start="(n0)", end="(n1)").between(f"{steps.types}*1..{steps.hops}")
        text.add(f"MATCH q0 = {f'allShortestPaths({pattern})' if shortest else pattern}")
        return "q0", "length(q0)"
