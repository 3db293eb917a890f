"""The program on the page about updating runs."""

from __future__ import annotations

import asyncio
import contextlib
import io
import re
from pathlib import Path

from scripts.reliability.changing import built
from services.cli.live_changes import live_changes
from services.server.catalog_store import CatalogStore
from services.server.server import Server
from tests.conftest import ROOT
from tests.services.server.memory_engine import small_settings


async def test_the_program_runs(tmp_path: Path) -> None:
    built(tmp_path / "store")
    page = (ROOT / "docs" / "updating.md").read_text(encoding="utf-8")
    (script,) = re.findall(r"^```python\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    settings, stores = small_settings(admin_port=0, watch_s=0.0), {"": CatalogStore(path=tmp_path / "store")}
    server = Server(settings, stores, changes=live_changes(settings, stores))
    await server.start()
    await server.load_stores()
    printed = io.StringIO()

    def call() -> None:
        with contextlib.redirect_stdout(printed):
            exec(compile(script.replace("127.0.0.1:50052", server.admin_address), "updating.md", "exec"), {})

    await asyncio.to_thread(call)
    await server.stop(0)
    assert printed.getvalue() == "1\n1\n"
