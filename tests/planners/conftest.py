"""What tests of planners share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.stores import BuiltStore
from tests.planners.stores.neo4j_server import running_neo4j


@pytest.fixture(scope="session")
def library_store(store_of: BuiltStore) -> Path:
    """A store with the tools of the library."""
    return store_of("python:tests.planners.dfs.library_tools", "hashing.v1")


@pytest.fixture(scope="session")
def neo4j_address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The one Neo4j of the tests; who uses it clears it."""
    with running_neo4j(tmp_path_factory.mktemp("neo4j")) as address:
        yield address
