"""What publishing one snapshot in place of another changes."""

import json
from pathlib import Path

import pytest

from inference import load_encoder
from retrieval.snapshot.reader import Snapshot, open_snapshot
from retrieval.snapshot.snapshot_diff import Change, diff_snapshots
from services.jobs.build import build_snapshot

_BUG = {"type": "object", "properties": {"bug_id": {"type": "string"}}, "required": ["bug_id"]}
_DESK = [
    {"name": "get_bug", "description": "Gets a bug of a workspace.", "inputSchema": _BUG},
    {"name": "close_bug", "description": "Closes a bug of a workspace.", "inputSchema": _BUG},
]


class _Builder:
    """Makes snapshots of one file, each in a store of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._count = 0

    def __call__(self, overlay: str = "") -> Snapshot:
        self._count += 1
        folder, store = self._folder, self._folder / f"store{self._count}"
        (folder / "tools.json").write_text(json.dumps(_DESK), encoding="utf-8")
        overlays = [folder / "overlay.yaml"] if overlay else []
        for path in overlays:
            path.write_text(overlay, encoding="utf-8")
        build_snapshot([f"desk={folder / 'tools.json'}"], store, encoder=load_encoder("hashing.v1"), overlays=overlays)
        return open_snapshot(store)


@pytest.fixture
def built(tmp_path: Path) -> _Builder:
    return _Builder(tmp_path)


def test_what_changed_in_a_tool_is_told_with_its_place(built: _Builder) -> None:
    (tool, _) = diff_snapshots(
        built(), built(overlay="namespaces: {desk: {context_parameters: [bug_id]}}")
    ).tools.changed
    assert tool.id == "desk/close_bug"
    assert Change("metadata.context_parameters", None, ["bug_id"]) in tool.changes


def test_changed_settings_are_not_among_the_counts(built: _Builder) -> None:
    found = diff_snapshots(built(), built(overlay="namespaces: {desk: {tools: {get_bug: {boost: 0.5}}}}"))
    assert {change.field.partition(".")[0] for change in found.settings} == {"overlays", "boosts"}
    assert found.counts == ()
    assert not found.same
