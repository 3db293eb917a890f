"""A page over a real gRPC server, for tests."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from retrieval.engine import open_engine
from services.jobs.ask_parts import AskPlan
from services.server.server import Server
from services.server.settings import ServerSettings
from services.web.live_runs import Plan
from services.web.web_page import WebSettings, serve_web


@asynccontextmanager
async def web_page(
    store: Path, plan: Plan | None = None, settings: ServerSettings | None = None, *, ask: AskPlan | None = None
) -> AsyncIterator[str]:
    """Serve a store with its page; yields the page's address.

    :param ask: how questions of a graph are answered.
    """
    server = Server(settings or ServerSettings(port=0, workers=2, drain_s=0.0))
    await server.start()
    try:
        await server.load(lambda: open_engine(store))
        domains = ("personal", "enterprise") if plan else ()
        shown = WebSettings(port=0, plan=plan, domains=domains, ask=ask)
        async with serve_web(server, {"": store}, shown) as address:
            yield address
    finally:
        await server.stop(grace_s=1.0)
