"""What tests of commands share."""

from pathlib import Path

import pytest

from inference import HashingEncoder
from services.jobs.build import build_snapshot
from tests.conftest import ROOT
from tests.harness.stores import MadeOnce

CATALOG = ROOT / "examples" / "enterprise" / "catalog"
TABLES = (str(CATALOG / "projects.csv"), str(CATALOG / "support.jsonl"))


@pytest.fixture(scope="session")
def store(made_once: MadeOnce) -> Path:
    """A store of two shipped tables, 38 tools, to be read only."""
    return made_once("projects and support", lambda folder: build_snapshot(TABLES, folder, encoder=HashingEncoder()))
