"""A generated person's data with its index and its truth."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from benchmarks.personal import TruthTables, write_personal_data
from benchmarks.personal.write_personal_data import TODAY, ZONE
from planners.personal import PersonalData, index_in_use, refresh_index


@dataclass(frozen=True)
class Home:
    """The data of a person: its folder, its index and the truth about it."""

    folder: Path
    index: Path
    truth: TruthTables

    @property
    def data(self) -> PersonalData:
        return PersonalData.below(self.folder, zone=ZONE)


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """200 mails, not to be changed."""
    folder = tmp_path_factory.mktemp("home")
    truth = write_personal_data(folder, messages=200, seed=7)
    found = Home(folder, folder / "index.sqlite", truth)
    assert refresh_index(found.data, found.index, today=TODAY) == ()
    return found


@pytest.fixture
def tools(home: Home) -> Iterator[Home]:
    """The tools answer from the index of ``home``."""
    with index_in_use(home.index):
        yield home
