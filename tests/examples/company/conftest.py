from collections.abc import Iterator

import pytest

from tests.harness.company import RunningCompany, running


@pytest.fixture(scope="module")
def company(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningCompany]:
    """A company of seed 1, one for the tests of a module."""
    with running(tmp_path_factory.mktemp("company")) as found:
        yield found
