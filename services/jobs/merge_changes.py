"""Merges: the catalogue of a snapshot with its changes is built again as a whole, beside the snapshot that is served."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ontology.errors import CatalogError, SnapshotError
from ontology.tool import Tool
from retrieval.delta.change_log import Change, read_changes
from retrieval.delta.near_tools import as_read
from retrieval.delta.signed_changes import check_may_change
from retrieval.snapshot.publish import SNAPSHOTS
from retrieval.snapshot.reader import Snapshot, open_snapshot

if TYPE_CHECKING:
    from inference.encoder import Encoder

__all__ = ["Merger", "changed_catalogue", "merge_changes", "merge_in_process"]

_NICENESS = 10


class Merger(Protocol):
    """Builds the snapshot of a catalogue after changes."""

    def __call__(self, store: Path, base_id: str, count: int) -> str:
        """Return the id of the snapshot after the first ``count`` changes; it is in the store, and not published.

        :raises EgotoolsError: when it cannot be built.
        """


def changed_catalogue(base: Snapshot, changes: Sequence[Change]) -> list[Tool]:
    """Return the tools of a snapshot after changes, as they were read, by id."""
    tools = {tool.id: as_read(tool) for tool in base.tools}
    for change in changes:
        tools.update((tool.id, tool) for tool in change.upserted)
        for id_ in change.deleted:
            tools.pop(id_, None)
    return [tools[id_] for id_ in sorted(tools)]


def merge_changes(store: Path, base_id: str, count: int, *, encoder: Encoder | None = None, workers: int = 1) -> str:
    """Build the snapshot of a catalogue after the first changes of its log, from the tools that the snapshot has stored.

    :param encoder: the one that made the snapshot; None loads it by its name.
    :returns: the id of the new snapshot; it is in the store, and not published.
    :raises PermissionDeniedError: when keys are trusted and none of them signs here.
    :raises CatalogError: when the snapshot was built with what it does not store: overlay files, another ontology, usage lines of a model.
    """
    from inference import load_encoder
    from ingest.usage.usage_build import RulesUsage
    from ingest.usage.usage_rules import RULES
    from ontology.ontology_file import load_ontology
    from services.jobs.build import build_snapshot

    check_may_change()  # before minutes of work: the merged snapshot is signed as its changes are
    base = open_snapshot(store / SNAPSHOTS / base_id)
    manifest, ontology = base.manifest, load_ontology()
    for problem, found in (
        ("overlay files", manifest.overlays is not None),
        ("another ontology", manifest.ontology.sha256 != ontology.digest),
        (f"the extractor {manifest.extractor}", manifest.extractor != "rules.v1"),
        ("usage lines of a model", manifest.usage not in (None, RULES)),
    ):
        if found:
            raise CatalogError(
                f"it was built with {problem}, which it does not store",
                subject=base_id,
                remedy="Build it again from its documents; until then its changes stay in the log",
            )
    changes = [Change.from_content(content) for content in read_changes(store, base_id, count)] if count else []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tools.jsonl"
        lines = (f"{tool.canonical_json()}\n" for tool in changed_catalogue(base, changes))
        path.write_text("".join(lines), encoding="utf-8")
        report = build_snapshot(
            [str(path)],
            store,
            encoder=encoder or load_encoder(manifest.encoder.name, workers=workers),
            usage=RulesUsage(ontology) if manifest.usage else None,
            ontology=ontology,
            sources=manifest.sources or (),
            published=False,
            workers=workers,
        )
    return report.snapshot_id


def merge_in_process(store: Path, base_id: str, count: int) -> str:
    """:func:`merge_changes` in a process of its own, with a low priority.

    :raises SnapshotError: with the last line of its error channel, when it fails.
    """
    command = [sys.executable, "-m", "services.jobs.merge_changes", str(store), base_id, str(count)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        said = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
        raise SnapshotError(f"the merge failed: {said[0][:500]}", subject=base_id, remedy="The changes stay in the log")
    return done.stdout.strip().splitlines()[-1]


if __name__ == "__main__":
    os.nice(_NICENESS)
    from services.threads import pin_threads

    pin_threads()
    sys.stdout.write(f"{merge_changes(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))}\n")
