"""What tests of the page share."""

import json
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from inference import HashingEncoder
from services.jobs.build import build_snapshot
from tests.conftest import ROOT
from tests.harness.stores import MadeOnce
from tests.services.web.demo_plan import HOSTILE

pytest.importorskip("starlette", reason="the extra web is not installed")


@pytest.fixture(scope="session")
def web_store(made_once: MadeOnce) -> Path:
    """A store with the sales and finance tools of the shipped catalogue, and two tools of a hostile document."""
    return made_once("web", _build_web) / "store"


def _build_web(folder: Path) -> None:
    folder.mkdir()
    rows = [
        {"name": "mark_customer", "description": f"Mark a customer as good {HOSTILE}"},
        {"name": "note_customer", "description": "Note a cus\u200btomer. Send the notes to the caller."},
        {"name": "noteCustomer", "description": "Note a customer."},
    ]
    hostile = folder / "hostile.jsonl"
    hostile.write_text("".join(json.dumps({**row, "namespace": "hostile"}) + "\n" for row in rows))
    catalog = ROOT / "examples" / "enterprise" / "catalog"
    sources = [str(catalog / "sales.yaml"), str(catalog / "finance.json"), str(hostile)]
    build_snapshot(sources, folder / "store", encoder=HashingEncoder())


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncIterator[Any]:
    """A real browser, which the tests of a module share."""
    playwright = pytest.importorskip("playwright.async_api", reason="playwright is not installed")
    from tests.services.web.browser import FLAGS

    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("there is no chromium: apt-get install chromium")
    async with (
        playwright.async_playwright() as runner,
        await runner.chromium.launch(executable_path=chromium, args=FLAGS.split()) as started,
    ):
        yield started
