"""The snapshot on the disk: layout and manifest, writing, reading, publishing, and other ranking weights for a published one."""

from retrieval.snapshot.manifest import Manifest
from retrieval.snapshot.reader import Snapshot, open_snapshot
from retrieval.snapshot.writer import SnapshotContent, write_snapshot

__all__ = ["Manifest", "Snapshot", "SnapshotContent", "open_snapshot", "write_snapshot"]
