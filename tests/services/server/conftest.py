"""What tests of the server share: a store of two editions, built once."""

from pathlib import Path

import pytest

from tests.harness.editions import EditionStore, build_editions


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> EditionStore:
    return build_editions(tmp_path_factory.mktemp("editions") / "store", "alpha", "beta")


@pytest.fixture
def store(built: EditionStore, tmp_path: Path) -> EditionStore:
    return built.copy(tmp_path / "store")
