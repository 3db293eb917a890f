"""``egotools learn``: from reports over gRPC to a snapshot that answers better, and back with ``--forget``."""

from __future__ import annotations

import asyncio
import json
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from egotools import AsyncClient, InvalidRequestError, Response
from inference import HashingEncoder
from ontology.reporting import no_progress
from retrieval.engine import open_engine
from retrieval.query.request import Request
from retrieval.snapshot.publish import published_id
from services.jobs.improve import Learned, learn_from_use
from services.jobs.plans import LearningPlan
from services.outcomes import open_secret, read_outcomes
from services.server.catalogs import OUTCOMES, CatalogStore
from services.server.server import Server
from services.server.settings import ServerSettings
from tests.eval.planted_sessions import START, TASKS, build_store, gold, rows, text, tool_id, written
from tests.harness.commands import Run

pytestmark = pytest.mark.slow
DAY = 86_400


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_store(tmp_path_factory.mktemp("learn"))


@pytest.fixture
def store(built: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(built, tmp_path / "store"))


def learned_of(store: Path, **others: Any) -> Learned:
    return learn_from_use(LearningPlan(store=store, **others), no_progress, encoder=HashingEncoder())


def responses(store: Path, **others: Any) -> list[Response]:
    """The answers to a request of each task that no session has."""
    random = np.random.default_rng(99)
    retriever = open_engine(store, encoder=HashingEncoder()).retriever()
    return [retriever.retrieve(Request(query=text(task, random), k=5, **others)) for task in range(TASKS)]


def complete(answers: Sequence[Response]) -> float:
    found = [{tool.id for tool in answer.tools} for answer in answers]
    return float(np.mean([set(gold(task)) <= tools for task, tools in enumerate(found)]))


def ids(answers: Sequence[Response]) -> list[list[str]]:
    return [[tool.id for tool in answer.tools] for answer in answers]


def test_a_log_makes_a_better_snapshot_and_forget_the_old_one(store: Path, tmp_path: Path, run: Run) -> None:
    log = written(tmp_path / "log.jsonl", rows(400))
    before, first = responses(store), published_id(store)
    code, out, _ = run("learn", "--store", store, "--log", log, "--json")
    report = json.loads(out)
    assert code == 0
    assert report["published_id"] == published_id(store) != first
    assert report["held_out"]["after"] > report["held_out"]["before"] + 0.3
    assert (store / "reports" / f"{first}.learning.json").exists()
    assert complete(responses(store)) > complete(before) + 0.5
    code, out, _ = run("learn", "--store", store, "--forget")
    assert (code, published_id(store)) == (0, first)
    assert ids(responses(store)) == ids(before)
    assert "no learned part" in run("learn", "--store", store, "--forget")[1]


async def test_one_tenant_cannot_report_for_another(store: Path, tmp_path: Path) -> None:
    """The ids are of one tenant, and so is the log: whatever b reports and learns, nothing of a changes.

    Both have the same snapshot and even the same secret, so only the tenant in the id tells them apart.
    """
    open_secret(store / "outcomes")
    stores = {tenant: CatalogStore(path=Path(shutil.copytree(store, tmp_path / tenant))) for tenant in "ab"}
    server = Server(ServerSettings(port=0, workers=2, drain_s=0.0), stores)
    address = await server.start()
    try:
        await server.load_stores()
        query = rows(1)[0]["query"]
        async with AsyncClient(address, tenant="a") as of_a, AsyncClient(address, tenant="b") as of_b:
            before = await of_a.retrieve(query, k=5)
            with pytest.raises(InvalidRequestError, match="gave no such id"):
                await of_b.report_outcome(before.request_id, [tool_id(59)], query=query)
            assert (_reported(stores["a"]), _reported(stores["b"])) == (0, 0)
            await of_a.report_outcome(before.request_id, [tool_id(0)], query=query)
            for _ in range(5):
                await of_b.report_outcome((await of_b.retrieve(query)).request_id, [tool_id(59)], query=query)
            assert (_reported(stores["a"]), _reported(stores["b"])) == (1, 5)

            recent = ({**row, "time": row["time"] - START + time.time() - DAY} for row in rows(400))
            log = written(tmp_path / "log.jsonl", list(recent))
            learned = await asyncio.to_thread(learned_of, stores["b"].path, logs=(log,))
            await server.publisher.reload()
            after, other = await of_a.retrieve(query, k=5), await of_b.retrieve(query, k=5)
    finally:
        await server.stop(1.0)
    assert learned.published
    assert (after.snapshot_id, ids([after])) == (before.snapshot_id, ids([before]))
    assert other.snapshot_id != before.snapshot_id
    assert ids([other]) != ids([before])


def _reported(store: CatalogStore) -> int:
    return len(read_outcomes(store.path / OUTCOMES)[0])
