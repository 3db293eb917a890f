"""Which files of a folder are documents."""

from __future__ import annotations

from pathlib import Path

import pytest

from ingest.sources.addresses import find_documents


@pytest.mark.parametrize("store", [".", "store"])
def test_a_store_among_documents_is_not_read(tmp_path: Path, store: str) -> None:
    (tmp_path / store / "snapshots" / "5c4f").mkdir(parents=True)
    for name in ("CURRENT", "history.jsonl", "snapshots/5c4f/manifest.json"):
        (tmp_path / store / name).write_text("{}")
    (tmp_path / "crm.yaml").write_text("openapi: 3.1.0")
    found = find_documents([str(tmp_path)])
    assert [each.path for each in found.documents] == [tmp_path / "crm.yaml"]
