"""What tests of GraphSeek share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from inference import HashingEncoder
from planners.graphseek.results import ResultStore
from tests.conftest import ROOT
from tests.harness.stores import BuiltStore


@pytest.fixture(scope="session")
def company_store(store_of: BuiltStore) -> Path:
    """A store of the shipped company's catalogue. The encoder changes no node and no edge of its graph."""
    return store_of(str(ROOT / "examples" / "enterprise" / "catalog"), HashingEncoder().name)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ResultStore]:
    """The results of a run."""
    made = ResultStore(tmp_path / "results")
    yield made
    made.close()
