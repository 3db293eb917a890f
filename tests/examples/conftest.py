"""The shipped catalogue, read once."""

import pytest

from ingest.sources import Catalog, read_catalog
from tests.conftest import ROOT


@pytest.fixture(scope="session")
def catalog() -> Catalog:
    return read_catalog([str(ROOT / "examples" / "enterprise" / "catalog")])
