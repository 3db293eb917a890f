"""Labels, types and names of properties as Cypher text, in each dialect."""

from __future__ import annotations

from planners.stores.readable_graph import CypherDialect

__all__ = ["quoted_name"]


def quoted_name(name: str, dialect: CypherDialect = "ladybug") -> str:
    """Return a name in backticks.

    Neo4j decodes ``\\uXXXX`` before it reads the text: so for Bolt a backslash is written as its own code.
    """
    escaped = name.replace("\\", "\\u005C") if dialect == "bolt" else name
    return f"`{escaped.replace('`', '``')}`"
