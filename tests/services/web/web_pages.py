"""A page over a real gRPC server, for tests."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from retrieval.engine import open_engine
from services.jobs.ask_parts import AskPlan
from services.server.settings import ServerSettings
from services.web.live_runs import Plan
from services.web.web_page import WebSettings, serve_web
from tests.harness.engines import serving


@asynccontextmanager
async def web_page(
    store: Path, plan: Plan | None = None, settings: ServerSettings | None = None, *, ask: AskPlan | None = None
) -> AsyncIterator[str]:
    """Serve a store with its page; yields the page's address.

    :param ask: how questions of a graph are answered.
    """
    shown = WebSettings(port=0, plan=plan, domains=("personal", "enterprise") if plan else (), ask=ask)
    engine = open_engine(store)
    async with serving(engine, settings) as server, serve_web(server, {"": store}, shown) as address:
        yield address
