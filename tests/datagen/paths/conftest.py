"""The shipped catalogue, which is read once in a run."""

import pytest

from datagen.catalogue import ProfiledCatalogue
from tests.datagen.catalogues import catalogue_of
from tests.harness.company import CATALOG
from tests.harness.stores import ToolsOf


@pytest.fixture(scope="session")
def shipped(tools_of: ToolsOf) -> ProfiledCatalogue:
    return catalogue_of(tools_of(str(CATALOG)))
