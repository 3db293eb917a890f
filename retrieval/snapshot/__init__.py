"""The snapshot on disk: layout, manifest, writer, reader, publishing, and a new version with other ranking weights."""

from retrieval.snapshot.manifest import Manifest
from retrieval.snapshot.reader import Snapshot, open_snapshot
from retrieval.snapshot.writer import SnapshotContent, write_snapshot

__all__ = ["Manifest", "Snapshot", "SnapshotContent", "open_snapshot", "write_snapshot"]
