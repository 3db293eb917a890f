"""Requests over several systems of the company, with tools found by the service: all are answered."""

from pathlib import Path

import pytest

from egotools.calling.http_invoker import HttpInvoker
from examples.company.records import facts
from inference import HashingEncoder
from planners.calls.tool_finder import ToolFinder
from planners.dfs.executor import execute
from planners.dfs.tool_resolver import ToolResolver
from planners.query.domain import read_domain
from planners.query.query_graph import request_set
from tests.harness.company import CATALOG, RunningCompany
from tests.harness.servers import client_of
from tests.harness.stores import BuiltStore

_SYSTEMS = ("finance", "hr", "procurement", "sales", "travel")


@pytest.fixture(scope="module")
def store(store_of: BuiltStore) -> Path:
    return store_of(str(CATALOG), HashingEncoder().name)


@pytest.mark.slow
async def test_every_request_of_the_set_is_answered_and_nothing_is_missing(
    store: Path, company: RunningCompany
) -> None:
    domain = read_domain("enterprise")
    invoker = HttpInvoker(servers={system: f"{company.url}/{system}" for system in _SYSTEMS})
    async with client_of(store) as client:
        resolver = ToolResolver(domain, ToolFinder(client), invoker)
        found = {
            gold.id: await execute(gold.graph, domain, resolver, today=facts()["today"])
            for gold in request_set("enterprise")
        }
    assert len(found) == 102
    assert {number: [str(one) for one in each.missing] for number, each in found.items() if each.missing} == {}
    assert [number for number, each in found.items() if not each.count] == []  # an answer to each is in the seed
