"""The watcher of the stores: what a store names as current is served soon after it was published there."""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress

from ontology.errors import EgotoolsError
from services.server.publisher import Publisher

__all__ = ["watch_stores"]

_LOG = logging.getLogger("egotools.server")
_MOST_WAIT_S = 60.0


async def watch_stores(publisher: Publisher, every_s: float) -> None:
    """Look at every store again and again, until cancelled.

    A look reads ``CURRENT`` and asks for the times of three files. A publication renames folders and files into place, so a
    look never meets a part of one. What was refused is tried again when its files change, and after 1, 2, 4, … 60 s: its
    files may still be on their way, or a model may be down.

    :param every_s: seconds between two looks.
    """
    async with asyncio.TaskGroup() as tasks:
        for tenant in publisher.stores:
            tasks.create_task(_watch(publisher, tenant, every_s))


async def _watch(publisher: Publisher, tenant: str, every_s: float) -> None:
    store, seen, wait_s, again = publisher.stores[tenant], None, 0.0, 0.0
    while True:
        await asyncio.sleep(every_s)
        try:
            mark = await asyncio.to_thread(store.mark)
            if mark == seen and (not wait_s or time.monotonic() < again):
                continue
            wait_s = min(2 * wait_s, _MOST_WAIT_S) if mark == seen else 1.0
            seen, again = mark, time.monotonic() + wait_s
            with suppress(EgotoolsError):  # it is logged, and its reason kept
                await publisher.refresh(tenant)
                wait_s = 0.0
        except Exception:  # of the disk, perhaps: the next look may do
            _LOG.exception("incident")
