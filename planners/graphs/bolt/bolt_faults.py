"""Errors of Bolt that a statement causes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from ingest.stores.bolt_connection import BoltAddress, shown_error
from ontology.errors import StatementError

__all__ = ["bolt_statement_errors"]

_OF_STATEMENTS = frozenset({"Statement", "Schema", "Transaction", "Procedure"})
"""Classes of Neo4j's error codes that a statement causes, and that its writer can correct; found in its list of codes."""


@contextlib.contextmanager
def bolt_statement_errors(place: BoltAddress, seconds: float) -> Iterator[None]:
    """Turn errors that a statement causes into ones for its writer; others pass.

    :param seconds: its limit of time.
    :raises StatementError: for each of them.
    """
    from neo4j.exceptions import Neo4jError

    try:
        yield
    except TimeoutError:
        raise _too_slow(seconds) from None
    except Neo4jError as error:
        code = str(error.code)
        if "TimedOut" in code or "Terminated" in code:
            raise _too_slow(seconds) from None
        if not _OF_STATEMENTS.isdisjoint(code.split(".")) or "OutOfMemory" in code:
            problem = shown_error(ValueError(error.message or code), place)
            remedy = "Correct the statement; the graph is as before"
            raise StatementError(problem, subject="Cypher", remedy=remedy) from None
        raise


def _too_slow(seconds: float) -> StatementError:
    return StatementError(
        f"the statement takes longer than {seconds:g} s",
        subject="Cypher",
        remedy="Ask for less, or join fewer patterns",
    )
