"""What tests of planners share."""

from __future__ import annotations

from pathlib import Path

import pytest

from inference import HashingEncoder
from services.jobs.build import build_snapshot


@pytest.fixture(scope="session")
def library_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with the tools of the library."""
    store = tmp_path_factory.mktemp("library")
    build_snapshot(["python:tests.planners.dfs.library_tools"], store, encoder=HashingEncoder())
    return store
