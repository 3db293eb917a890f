"""Snapshots that were altered together with their manifest, so that every hash fits: only their content can refuse them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from retrieval.snapshot.manifest import content_id, file_digest
from retrieval.snapshot.publish import current_snapshot


def copied(store: Path, folder: Path) -> Path:
    """A copy of the published snapshot of a store."""
    shutil.copytree(current_snapshot(store), folder)
    return folder


def rewrite_manifest(
    folder: Path, change: Callable[[dict[str, Any]], None] = lambda _: None, *, list_all: bool = True
) -> None:
    """Write the manifest again with the hashes of the files that are there, then changed, and with the id that belongs to it."""
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    del manifest["snapshot_id"]
    if list_all:
        manifest["files"] = {
            each.name: {"bytes": each.stat().st_size, "sha256": file_digest(each)}
            for each in sorted(folder.iterdir())
            if each != path
        }
    change(manifest)
    path.write_text(json.dumps({**manifest, "snapshot_id": content_id(manifest)}), encoding="utf-8")
