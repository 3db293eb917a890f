"""Every edge of the personal domain, in both directions, over generated data: the tool that the service returns gives the truth."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.personal.write_personal_data import TODAY, ZONE, write_personal_data
from inference import load_encoder
from planners import personal
from planners.calls.tool_access import PythonInvoker
from planners.calls.tool_finder import ToolFinder
from planners.dfs.resolver import Step
from planners.dfs.tool_resolver import ToolResolver
from planners.query.domain import read_domain
from services.jobs.build import build_snapshot
from tests.harness.servers import client_of

TOOLS = "planners.personal.personal_tools"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tools")
    build_snapshot([f"python:{TOOLS}"], folder, encoder=load_encoder("egotools-minilm-int8.v1"))
    return folder


@pytest.fixture(scope="module", params=[11, 2_971_215_073])
def home(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> tuple[Path, Any]:
    """A folder with an index, and the truth."""
    folder = tmp_path_factory.mktemp("personal")
    truth = write_personal_data(folder / "home", messages=120, seed=request.param)
    data = personal.PersonalData.below(folder / "home", zone=ZONE)
    personal.refresh_index(data, folder / "index.sqlite", today=TODAY)
    return folder, truth


@pytest.fixture
async def resolver(store: Path, home: tuple[Path, Any]) -> AsyncIterator[ToolResolver]:
    async with client_of(store) as client:
        with personal.index_in_use(home[0] / "index.sqlite"):
            yield ToolResolver(read_domain("personal"), ToolFinder(client), PythonInvoker([TOOLS]))


async def test_each_edge_and_direction_gives_the_truth(resolver: ToolResolver, home: tuple[Path, Any]) -> None:
    domain, truth = read_domain("personal"), home[1]
    wrong = []
    for source, edge, target in domain.signatures():
        pairs = set(truth.pairs(source, edge, target))
        for step, expected in (
            (Step(source, edge, target, forward=True), pairs),
            (Step(target, edge, source, forward=False), {(two, one) for one, two in pairs}),
        ):
            entities = truth.entities.get(step.source, {})
            sources = {one for one, _ in expected} | (
                set(entities) if domain.types[step.source].kind == "entity" else set()
            )
            found = {(origin, each.id) for origin, each in await resolver.follow(step, sorted(sources))}
            if found != expected:
                wrong.append((step, sorted(expected ^ found)[:3]))
    assert wrong == []
