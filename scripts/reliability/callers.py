"""Callers with the shipped client, and what they met."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from egotools import AsyncClient, ClientError

__all__ = ["QUERY", "TIMEOUT_S", "Callers", "calling"]

QUERY = "overdue invoices of a supplier"
TIMEOUT_S = 20.0
_PAUSE_S = 0.1
_OWN = (("grpc.use_local_subchannel_pool", 1),)  # each client has connections of its own


@dataclass
class Callers:
    """What callers met: the seconds of each answer, and the kinds of errors."""

    seconds: list[float] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)
    ended: bool = False

    async def ask(self, client: AsyncClient) -> None:
        """Ask again and again, until ``ended``."""
        while not self.ended:
            started = time.monotonic()
            try:
                await client.retrieve(QUERY, k=5, timeout_s=TIMEOUT_S)
            except ClientError as error:
                self.errors[f"{error.code}: {error.message}"] += 1
            self.seconds.append(time.monotonic() - started)
            await asyncio.sleep(_PAUSE_S)

    @property
    def text(self) -> str:
        """The figure of a row."""
        worst = f", the slowest {max(self.seconds):.1f} s" if self.seconds else ""
        failed = "; ".join(f"{count} × {kind}" for kind, count in self.errors.items())
        return f"{sum(self.errors.values())} errors of {len(self.seconds):,} calls{worst}{f' ({failed})' if failed else ''}"


@asynccontextmanager
async def calling(addresses: Sequence[str], callers: int) -> AsyncIterator[Callers]:
    """So many callers of these addresses, while the block runs and a second before and after."""
    met = Callers()
    clients = [AsyncClient(f"ipv4:{','.join(addresses)}", options=_OWN) for _ in range(callers)]
    tasks = [asyncio.ensure_future(met.ask(client)) for client in clients]
    await asyncio.sleep(1.0)
    try:
        yield met
        await asyncio.sleep(1.0)
    finally:
        met.ended = True
        await asyncio.gather(*tasks)
        for client in clients:
            await client.close()
