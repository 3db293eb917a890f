"""Errors of Bolt that a statement causes, and its limit of time."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator

from ingest.stores.bolt_connection import BoltAddress, bolt_errors, shown_error
from ontology.errors import StatementError

__all__ = ["bolt_statement"]

_OF_STATEMENTS = frozenset({"Statement", "Schema", "Transaction", "Procedure"})
"""Classes of Neo4j's error codes that a statement causes, and that its writer can correct; found in its list of codes."""
_GRACE_S = 5.0
"""Seconds after the server's own limit: Neo4j looks for transactions that are late every two seconds."""


@contextlib.asynccontextmanager
async def bolt_statement(place: BoltAddress, seconds: float) -> AsyncIterator[None]:
    """Run a statement, or read rows of it; the server's answer is awaited a little longer than it may take.

    :param seconds: its limit of time, which the server has too.
    :raises StatementError: for each error that the statement causes, and when it takes too long.
    :raises StorageError: for each other error of the driver.
    """
    with bolt_errors(place), _statement_errors(place, seconds):
        async with asyncio.timeout(seconds + _GRACE_S):
            yield


@contextlib.contextmanager
def _statement_errors(place: BoltAddress, seconds: float) -> Iterator[None]:
    """Turn errors that a statement causes into ones for its writer; others pass."""
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
