"""A database that one task has for itself: empty when it is taken, marked as made here, and held until it is given back.

Model-written Cypher sees a whole database, so two tasks cannot share one. The mark is a uniqueness constraint, which no
``MATCH`` shows. The hold is an open transaction with one node of the constraint's label, which is never committed: nobody
sees it, a second holder waits for it in vain, and the server ends it when the connection of a dead process breaks.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

from ingest.stores.bolt_connection import BoltAddress, bolt_errors
from ontology.errors import StorageError

__all__ = ["BoltHold", "hold_database"]

_MARK = "egotools_task_graph"
_LABEL = "EgotoolsTaskGraph"
_WAIT_S = 15.0
"""Seconds for a hold of another process to end; chosen as several times what a loaded server takes for it."""


class BoltHold:
    """A hold on a database.

    :param transaction: the open one.
    :param place: of the database.
    """

    def __init__(self, transaction: Any, place: BoltAddress) -> None:
        self._transaction = transaction
        self._place = place
        self._lock = asyncio.Lock()

    async def check(self) -> None:
        """Make sure that the database is still held.

        :raises StorageError: when it is not: the connection broke, or the server ended the transaction.
        """
        with bolt_errors(self._place):
            async with self._lock:
                await (await self._transaction.run("RETURN 1")).consume()


@contextlib.asynccontextmanager
async def hold_database(driver: Any, place: BoltAddress) -> AsyncIterator[BoltHold]:
    """Take a database; at the end its graph is cleared and the mark removed.

    A marked database is cleared: a task that was killed left it.

    :raises StorageError: when it has nodes and no mark, is held by another task, or cannot be reached.
    """
    with bolt_errors(place):
        async with driver.session(database=place.database) as session:
            if not await _value(session, "SHOW CONSTRAINTS YIELD name WHERE name = $mark RETURN count(*)"):
                await _mark(session, place)
        async with driver.session(database=place.database) as holder:
            transaction = await holder.begin_transaction(timeout=0)  # no limit: it lasts as long as the task
            await _hold(transaction, place)
            try:
                await _clear(driver, place)
                yield BoltHold(transaction, place)
            finally:
                with contextlib.suppress(StorageError):  # a dead server: the mark stays, the next task clears
                    await _give_back(driver, transaction, place)


async def _mark(session: Any, place: BoltAddress) -> None:
    if nodes := await _value(session, "MATCH (n) RETURN count(n)"):
        raise StorageError(
            f"the database holds {nodes} nodes that are of no task",
            subject=place.shown,
            remedy="Name a database that is empty, for egotools alone; it is cleared before and after each task",
        )
    await (
        await session.run(f"CREATE CONSTRAINT {_MARK} IF NOT EXISTS FOR (n:{_LABEL}) REQUIRE n.holder IS UNIQUE")
    ).consume()


async def _hold(transaction: Any, place: BoltAddress) -> None:
    try:
        async with asyncio.timeout(_WAIT_S):
            await (await transaction.run(f"CREATE (:{_LABEL} {{holder: 'task'}})")).consume()
    except TimeoutError:
        raise StorageError(
            "another task holds the database",
            subject=place.shown,
            remedy="Wait for its end, or name another database: each task at one time needs its own",
        ) from None


async def _clear(driver: Any, place: BoltAddress) -> None:
    async with driver.session(database=place.database) as session:
        await (await session.run("MATCH (n) DETACH DELETE n")).consume()


async def _give_back(driver: Any, transaction: Any, place: BoltAddress) -> None:
    """Clear first: until the hold ends nobody else writes. Then remove the mark, unless the next task holds it already."""
    with bolt_errors(place):
        await transaction.run(
            "RETURN 1"
        )  # a hold that was lost may be another's by now: its graph is not ours to clear
        await _clear(driver, place)
        await transaction.rollback()
        async with driver.session(database=place.database) as session:
            removal = await session.begin_transaction(timeout=_WAIT_S)
            async with removal:
                await (await removal.run(f"DROP CONSTRAINT {_MARK} IF EXISTS")).consume()


async def _value(session: Any, text: str) -> Any:
    return (await (await session.run(text, {"mark": _MARK})).single())[0]
