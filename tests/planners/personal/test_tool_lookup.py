"""The tools of the domain are found over gRPC: for each edge and direction the right one is first."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from egotools import Client
from inference import DEFAULT_ENCODER, load_encoder
from services.jobs.build import build_snapshot
from tests.harness.servers import running_server
from tests.planners.personal.test_edge_tools import DOMAIN, FINDERS, TOOLS, lookup_of

MODULE = "planners.personal.personal_tools"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    store = tmp_path_factory.mktemp("store")
    report = build_snapshot([f"python:{MODULE}"], Path(store), encoder=load_encoder(DEFAULT_ENCODER))
    assert report.tools == 42
    with running_server(store) as server, Client(server.address) as found:
        yield found


def _ranked(client: Client, request: str) -> list[str]:
    return [tool.id.removeprefix(f"{MODULE}/") for tool in client.retrieve(request, k=5).tools]


@pytest.mark.slow
def test_for_each_edge_and_direction_the_right_tool_is_first(client: Client) -> None:
    wrong = {}
    for signature, names in TOOLS.items():
        for name, forward in zip(names, (True, False), strict=True):
            lookup = lookup_of(signature, forward=forward)
            ranked = _ranked(client, lookup.request)
            if ranked[:1] != [name]:
                wrong[lookup.request] = (name, ranked)
    assert wrong == {}


@pytest.mark.slow
def test_for_each_type_the_tool_that_finds_it_is_first(client: Client) -> None:
    for kind, name in FINDERS.items():
        lookup = DOMAIN.types[kind].lookup
        assert lookup is not None
        assert _ranked(client, lookup.request)[:1] == [name]


@pytest.mark.slow
def test_a_tool_takes_and_gives_what_the_domain_says(client: Client) -> None:
    lookups = [(name, lookup_of(each, forward=at == 0)) for each, both in TOOLS.items() for at, name in enumerate(both)]
    for name, lookup in lookups:
        tool = client.get_tool(f"{MODULE}/{name}")
        assert [each.name for each in tool.parameters] == [lookup.takes]
        assert lookup.gives in {each.name for each in tool.returns}
        assert {each.name for each in tool.returns} >= {lookup.gives.replace("[].id", "[].source_id")}
