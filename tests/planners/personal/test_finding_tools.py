"""Finding and counting by fields, against the truth of generated data."""

from typing import Any

import pytest

from ontology.errors import InvalidArgumentError
from planners.personal import personal_tools
from tests.planners.personal.conftest import Home


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
def test_without_condition_all_are_found_counted_and_paged(tools: Home, key: str, kind: str) -> None:
    find, count = getattr(personal_tools, f"find_{key}"), getattr(personal_tools, f"count_{key}")
    wanted = set(tools.truth.entities[kind])
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
