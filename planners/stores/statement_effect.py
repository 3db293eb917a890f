"""What a statement of a model may not do to a graph, whatever its text: checked on what it left, before it is committed."""

from __future__ import annotations

from collections.abc import Collection

from ontology.errors import StatementError

__all__ = ["check_effect"]


def check_effect(before: Collection[str], after: Collection[str]) -> None:
    """Refuse a statement that leaves none of several nodes: a run would lose all that it knows.

    The last node alone may be deleted.

    :param before: identities of the nodes before the statement.
    :param after: identities of the nodes after it.
    :raises StatementError: when none is left.
    """
    if len(before) > 1 and set(before).isdisjoint(after):
        raise StatementError(
            f"the statement deletes all {len(before)} nodes of the graph",
            subject="statement",
            remedy="Delete only the nodes that are wrong, named by their properties",
        )
