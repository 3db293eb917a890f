"""Labels, types and names of properties as Cypher text, in each dialect."""

from __future__ import annotations

from planners.graphs.bolt.bolt_rows import quoted_name as bolt_name
from planners.graphs.cypher.cypher_tokens import quoted_name as ladybug_name
from planners.graphs.readable_graph import CypherDialect

__all__ = ["quoted_for"]


def quoted_for(dialect: CypherDialect, name: str) -> str:
    """Return a name in backticks."""
    return bolt_name(name) if dialect == "bolt" else ladybug_name(name)
