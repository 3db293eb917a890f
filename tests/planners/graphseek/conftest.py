"""What tests of GraphSeek share."""

from __future__ import annotations

from pathlib import Path

import pytest

from inference import HashingEncoder
from services.jobs.build import build_snapshot
from tests.conftest import ROOT


@pytest.fixture(scope="session")
def company_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of the shipped company's catalogue. The encoder changes no node and no edge of its graph."""
    store = tmp_path_factory.mktemp("company")
    build_snapshot([str(ROOT / "examples" / "enterprise" / "catalog")], store, encoder=HashingEncoder())
    return store
