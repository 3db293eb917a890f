"""Receiving the tools of a change: bounded in time and bytes, so that no caller keeps others from changing theirs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

from egotools.v1 import admin_pb2 as pb
from ontology.errors import DeadlineError, InvalidArgumentError
from services.server.admission.byte_budget import ByteBudget, HeldBytes
from services.server.settings import ServerSettings

__all__ = ["MAX_TOOLS", "ReceivingTools"]

MAX_TOOLS = 10_000
_MAX_TOOL_BYTES = 64 * 2**20
_MESSAGE_BYTES = 4 * 2**20
_HELD_BYTES = 9 * _MAX_TOOL_BYTES  # a tenant may hold a quarter: two of the largest changes
_OF_ONE_CALLER = 2


class ReceivingTools:
    """The room for changes that arrive. Use it in one event loop.

    One caller sends two changes of a tenant at once, further ones wait. The bytes are counted for each tenant, until its change is done.

    :param settings: ``default_deadline_s`` bounds the wait for one message, ``max_deadline_s`` that for all.
    """

    def __init__(self, settings: ServerSettings) -> None:
        self._message_s, self._all_s = settings.default_deadline_s, settings.max_deadline_s
        self._bytes = ByteBudget(_HELD_BYTES, message=_MESSAGE_BYTES)
        self._turns: WeakValueDictionary[tuple[str, str], asyncio.Semaphore] = WeakValueDictionary()

    async def receive(
        self, tenant: str, caller: str, messages: AsyncIterator[pb.UpsertToolsRequest]
    ) -> tuple[list[str], HeldBytes]:
        """Return the tools, and the bytes that they hold: release them when the change is done.

        :param caller: name or address of who sends.
        :raises DeadlineError: when a message, or all of them, do not come in time.
        :raises OverloadedError: when changes of this tenant, or of all, take all the memory they may.
        :raises InvalidArgumentError: when there are too many tools or bytes.
        """
        turn = self._turns.setdefault((tenant, caller), asyncio.Semaphore(_OF_ONE_CALLER))
        async with self._in_time(self._all_s), turn:
            held = await self._bytes.reserve(tenant)
            try:
                return await self._received(tenant, messages, held), held
            except BaseException:
                held.release()
                raise

    async def _received(
        self, tenant: str, messages: AsyncIterator[pb.UpsertToolsRequest], held: HeldBytes
    ) -> list[str]:
        tools: list[str] = []
        size = 0
        while True:
            async with self._in_time(self._message_s):
                message = await anext(messages, None)
            if message is None:
                held.resize(size)
                return tools
            tools += message.tools_json
            size += message.ByteSize()
            if len(tools) > MAX_TOOLS or size > _MAX_TOOL_BYTES:
                raise InvalidArgumentError(
                    f"one call changes at most {MAX_TOOLS:,} tools of {_MAX_TOOL_BYTES >> 20} MiB together",
                    subject="tools_json",
                    remedy="Split them into several calls, or build a snapshot",
                )
            held.resize(size)
            (await self._bytes.reserve(tenant)).release()
            held.resize(size + _MESSAGE_BYTES)

    @asynccontextmanager
    async def _in_time(self, seconds: float) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(seconds):
                yield
        except TimeoutError:
            raise DeadlineError(
                "the tools of the change did not come in time",
                subject="tools_json",
                remedy="Send them without a pause, or in several calls",
            ) from None
