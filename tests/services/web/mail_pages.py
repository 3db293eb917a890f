"""The page over a person's data: words, tools found over gRPC and called for real, on the day of the data."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from datagen.personal import TruthTables
from datagen.personal.write_personal_data import TODAY, ZONE
from egotools import Tool
from egotools.calling.invoker import ToolInvoker
from egotools.calling.tool_answer import ToolAnswer
from inference.retry import RetryPolicy
from planners.calling.call_limits import CallLimits
from planners.calling.consent import Ask
from planners.calling.tool_access import ToolAccess
from planners.dfs.domain import read_domain
from planners.personal import PersonalData, index_in_use, refresh_index
from retrieval.snapshot_engine import open_engine
from services.cli.walk_plan import walk_plan
from services.server.server import Server
from services.server.settings import ServerSettings
from services.web.own_server import client_maker
from services.web.web_page import WebSettings, serve_web

TOOLS = "planners.personal.personal_tools"
FIGURE_1 = "Find the webpage mentioned in the email from the person you met at an event in February."


@dataclass(frozen=True)
class Mailbox:
    """A person's data, the truth about it, and a store of the tools that answer from its index."""

    home: Path
    index: Path
    store: Path
    truth: TruthTables


def index_mailbox(home: Path, index: Path, store: Path, truth: TruthTables) -> Mailbox:
    """Index data that lies below a folder."""
    assert refresh_index(PersonalData.below(home, zone=ZONE), index, today=TODAY).faults == ()
    return Mailbox(home, index, store, truth)


@dataclass
class Watch:
    """What tools are called, and when they may be.

    :param permits: one for each call; None: calls wait for nothing.
    """

    permits: asyncio.Semaphore | None = None
    called: list[str] = field(default_factory=list)
    cancelled: list[str] = field(default_factory=list)

    def let(self, number: int) -> None:
        """Let some calls happen."""
        assert self.permits is not None
        for _ in range(number):
            self.permits.release()


@dataclass(frozen=True)
class _Watched:
    inner: ToolInvoker
    watch: Watch

    async def invoke(self, tool: Tool, arguments: Mapping[str, Any]) -> ToolAnswer:
        self.watch.called.append(tool.id)
        try:
            if self.watch.permits is not None:
                await self.watch.permits.acquire()
            return await self.inner.invoke(tool, arguments)
        except asyncio.CancelledError:
            self.watch.cancelled.append(tool.id)
            raise


@dataclass(frozen=True, kw_only=True)
class _WatchedAccess(ToolAccess):
    watch: Watch

    @asynccontextmanager
    async def calling(
        self,
        ask: Ask,
        limits: CallLimits,
        own: Callable[[ToolInvoker], ToolInvoker] | None = None,
        retries: RetryPolicy | None = None,
    ) -> AsyncIterator[ToolInvoker]:
        async with super().calling(ask, limits, own, retries) as invoker:
            yield _Watched(invoker, self.watch)


@dataclass(frozen=True)
class MailPage:
    """A page that is served."""

    address: str
    server: Server


@asynccontextmanager
async def mail_page(
    mailbox: Mailbox, watch: Watch | None = None, settings: ServerSettings | None = None
) -> AsyncIterator[MailPage]:
    """Serve the personal tools with their page."""
    server = Server(settings or ServerSettings(port=0, workers=2, drain_s=0.0))
    access = _WatchedAccess(modules=(TOOLS,), watch=watch or Watch())
    await server.start()
    try:
        await server.load(lambda: open_engine(mailbox.store))
        plan = walk_plan(
            {"personal": read_domain("personal")},
            access,
            client_maker(server),
            limits=CallLimits(calls=1_000, seconds=120.0),
            today=lambda: TODAY,
        )
        with index_in_use(mailbox.index):
            async with serve_web(
                server, {"": mailbox.store}, WebSettings(port=0, plan=plan, domains=["personal"])
            ) as address:
                yield MailPage(address, server)
    finally:
        await server.stop(grace_s=1.0)
