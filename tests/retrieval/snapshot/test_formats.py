"""Snapshots of the format versions that were released: each loads and answers as it did, or is refused with a remedy.

``format_N.tar.gz`` has a snapshot of format N, written by the release that introduced it; it is never written again.
"""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest

from inference import HashingEncoder
from ontology.errors import SnapshotVersionError
from retrieval.engine import Engine
from retrieval.query.request import Request
from retrieval.snapshot.manifest import FORMAT_VERSION, content_id
from retrieval.snapshot.reader import open_snapshot
from tests.retrieval.conftest import REQUESTS

BEST = {
    6: (
        "hr/give_spot_award",
        "procurement/create_purchase_order",
        "hr/get_employee",
        "procurement/query_purchase_order_items",
        "hr/give_spot_award",
        "procurement/create_purchase_order",
    ),
}
"""Format version → the best tool of each of the requests."""
TASK = {
    6: {
        "hr/give_spot_award",
        "procurement/search_suppliers",
        "procurement/create_purchase_order",
        "hr/search_employees",
    }
}
"""Format version → the tools that the last request needs, all among the first five."""


@pytest.fixture(params=sorted(BEST))
def released(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[int, Path]:
    """A format version, and a snapshot of it."""
    with tarfile.open(Path(__file__).with_name(f"format_{request.param}.tar.gz")) as archive:
        archive.extractall(tmp_path / "snapshot", filter="data")
    return request.param, tmp_path / "snapshot"


def test_every_released_format_answers_as_it_did(released: tuple[int, Path]) -> None:
    version, folder = released
    retriever = Engine(open_snapshot(folder), HashingEncoder()).retriever("default")
    found = [[tool.id for tool in retriever.retrieve(Request(query=query, k=10)).tools] for query in REQUESTS]
    assert tuple(ids[0] for ids in found) == BEST[version]
    assert TASK[version] <= set(found[-1][:5])


@pytest.mark.parametrize("version", [0, 1, 5, FORMAT_VERSION + 1, 99, None, "6", 6.5, True, [6]])
def test_any_other_format_is_refused_with_a_remedy(released: tuple[int, Path], version: object) -> None:
    _, folder = released
    path = folder / "manifest.json"
    manifest = {**json.loads(path.read_text(encoding="utf-8")), "format_version": version}
    del manifest["snapshot_id"]
    path.write_text(json.dumps({**manifest, "snapshot_id": content_id(manifest)}), encoding="utf-8")
    with pytest.raises(SnapshotVersionError, match=f"this egotools reads {FORMAT_VERSION}") as refused:
        open_snapshot(folder)
    assert "Build it again" in refused.value.remedy
