"""The path in the address of a graph that is a file or a folder."""

from __future__ import annotations

from pathlib import Path

from ontology.errors import InvalidArgumentError

__all__ = ["graph_path"]


def graph_path(store: str, rest: str) -> Path:
    """Return the path.

    :param store: what stands before the colon of the address.
    :param rest: what stands behind it.
    :raises InvalidArgumentError: when it is the address of a server; it may hold a password, so it is not shown.
    """
    if "://" in rest:
        raise InvalidArgumentError(
            f"{store}: takes a path, and this is the address of a server",
            subject="graph",
            remedy="Use neo4j:bolt://USER:PASSWORD@HOST:PORT for a server",
        )
    return Path(rest)
