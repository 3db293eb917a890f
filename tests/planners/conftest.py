"""What tests of planners share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from inference import HashingEncoder
from services.jobs.build import build_snapshot
from tests.planners.graphs.neo4j_server import running_neo4j


@pytest.fixture(scope="session")
def library_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with the tools of the library."""
    store = tmp_path_factory.mktemp("library")
    build_snapshot(["python:tests.planners.dfs.library_tools"], store, encoder=HashingEncoder())
    return store


@pytest.fixture(scope="session")
def neo4j_address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The one Neo4j of the tests; who uses it clears it."""
    with running_neo4j(tmp_path_factory.mktemp("neo4j")) as address:
        yield address
