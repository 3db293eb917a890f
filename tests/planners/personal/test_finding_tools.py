"""Finding and counting by fields, against the truth of generated data."""

from collections.abc import Iterator
from typing import Any

import pytest

from benchmarks.personal import TruthTables, write_personal_data
from benchmarks.personal.write_personal_data import TODAY, ZONE
from ontology.errors import InvalidArgumentError
from planners.personal import PersonalData, index_in_use, personal_tools, refresh_index


@pytest.fixture(scope="module")
def truth(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TruthTables]:
    """About 200 mails and the rest of a generated person's data; the tools answer from their index."""
    folder = tmp_path_factory.mktemp("home")
    written = write_personal_data(folder, messages=200, seed=7)
    assert refresh_index(PersonalData.below(folder, zone=ZONE), folder / "index.sqlite", today=TODAY) == ()
    with index_in_use(folder / "index.sqlite"):
        yield written


def _ids(answer: Any, key: str) -> set[str]:
    return {each["id"] for each in answer[key]}


@pytest.mark.parametrize(
    ("key", "kind"),
    [
        ("emails", "Email"),
        ("people", "Person"),
        ("files", "File"),
        ("folders", "Folder"),
        ("events", "Event"),
        ("webpages", "Webpage"),
        ("places", "Place"),
    ],
)
def test_without_condition_all_are_found_counted_and_paged(truth: TruthTables, key: str, kind: str) -> None:
    find, count = getattr(personal_tools, f"find_{key}"), getattr(personal_tools, f"count_{key}")
    wanted = set(truth.entities[kind])
    assert _ids(find(), key) == wanted
    assert count() == find()["total"] == find(limit=0)["total"] == len(wanted)
    size, offset, pages = max(1, len(wanted) // 3), 0, []
    while offset is not None:
        page = find(limit=size, offset=offset)
        pages += [each["id"] for each in page[key]]
        offset = page["next_offset"]
    assert sorted(pages) == sorted(wanted)
    with pytest.raises(InvalidArgumentError, match="limit"):
        find(limit=10**9)
    with pytest.raises(InvalidArgumentError, match="offset"):
        find(offset=-1)
