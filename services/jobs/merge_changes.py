"""Merges: the catalogue of a snapshot with its changes is built again as a whole, beside the snapshot that is served."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from ontology.errors import CatalogError, SnapshotError
from retrieval.delta.changed_catalogue import changed_catalogue
from retrieval.snapshot.change_records import Change, read_changes
from retrieval.snapshot.collect import discard
from retrieval.snapshot.publish import SNAPSHOTS
from retrieval.snapshot.reader import Snapshot, open_snapshot
from retrieval.snapshot.relearn import publish_learned
from retrieval.snapshot.reweight import publish_reweighted
from retrieval.snapshot.signed_changes import check_may_change

if TYPE_CHECKING:
    from inference.encoder import Encoder

__all__ = ["MergeProcess", "Merger", "merge_changes"]

_NICENESS = 10


class Merger(Protocol):
    """Builds the snapshot of a catalogue after changes."""

    def __call__(self, store: Path, base_id: str, count: int) -> str:
        """Return the id of the snapshot after the first ``count`` changes; it is in the store, and not published.

        :raises EgotoolsError: when it cannot be built.
        """


def merge_changes(store: Path, base_id: str, count: int, *, encoder: Encoder | None = None, workers: int = 1) -> str:
    """Build the snapshot of a catalogue after the first changes of its log, from the tools that the snapshot has stored.

    :param encoder: the one that made the snapshot; None loads it by its name.
    :returns: the id of the new snapshot; it is in the store, and not published.
    :raises CatalogError: when the snapshot was built with what it does not store: overlay files, another ontology, usage lines of a
        model, observed values.
    :raises PermissionDeniedError: when keys are trusted and none of them signs here.
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
        ("observed values", "observed" in base.value_shapes.sources()),
    ):
        if found:
            raise CatalogError(
                f"it was built with {problem}, which it does not store",
                subject=base_id,
                remedy="Build it again from its documents; until then its changes stay in the log",
            )
    changes = [Change.from_content(content) for content in read_changes(store, base_id, count)] if count else []
    before = {path.name for path in (store / SNAPSHOTS).iterdir()}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tools.jsonl"
        lines = (f"{tool.canonical_json()}\n" for tool in changed_catalogue(base.tools, changes))
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
            findings=None,  # each was examined when it came
        )
        return _with_tuning(base, store, report.snapshot_id, is_new=report.snapshot_id not in before)


def _with_tuning(base: Snapshot, store: Path, merged: str, *, is_new: bool) -> str:
    """The merged snapshot with the ranking weights of the one before, and with what was learned from use; return its id.

    :param is_new: whether only this merge has made it: it is removed when another version takes its place.
    """
    snapshot = open_snapshot(store / SNAPSHOTS / merged)
    made = [merged] if is_new else []
    if base.learned is not None:
        numbers = [snapshot.find_node(f"tool:{base.tool_id(number)}") for number in range(base.tool_count)]
        learned = base.learned.renumbered(
            np.asarray([-1 if number is None else number for number in numbers], dtype=np.int64),
            lambda id_: snapshot.find_node(f"tool:{id_}") is not None,
        )
        made.append(publish_learned(snapshot, store, learned, published=False))
        snapshot = open_snapshot(store / SNAPSHOTS / made[-1])
    if base.manifest.ranking is not None:
        made.append(publish_reweighted(snapshot, store, base.manifest.ranking, published=False))
        snapshot = open_snapshot(store / SNAPSHOTS / made[-1])
    for one in made:
        if one != snapshot.id:
            discard(store, one)
    return snapshot.id


class MergeProcess:
    """:func:`merge_changes` in a process of its own, with a low priority. It ends when this one does. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[str]] = set()
        self._closed = False

    def __call__(self, store: Path, base_id: str, count: int) -> str:
        """As :meth:`Merger.__call__`.

        :raises SnapshotError: with the last line of its error channel, when it fails, and after :meth:`close`.
        """
        command = [sys.executable, "-m", "services.jobs.merge_changes", str(store), base_id, str(count)]
        with self._lock:
            if self._closed:
                raise _failed("the server stops", base_id)
            alive, held = os.pipe()
            pipe = subprocess.PIPE
            process = subprocess.Popen(command, stdin=alive, stdout=pipe, stderr=pipe, text=True)
            self._running.add(process)
        try:
            os.close(alive)
            out, errors = process.communicate()
        finally:
            os.close(held)
            with self._lock:
                self._running.discard(process)
        if process.returncode:
            raise _failed((errors.strip().splitlines() or [f"exit code {process.returncode}"])[-1], base_id)
        return out.strip().splitlines()[-1]

    def close(self) -> None:
        """End the processes; the changes stay in their logs."""
        with self._lock:
            self._closed = True
            for process in self._running:
                process.kill()


def _failed(problem: str, base_id: str) -> SnapshotError:
    return SnapshotError(f"the merge failed: {problem[:500]}", subject=base_id, remedy="The changes stay in the log")


def _end_with_parent() -> None:
    """End this process when its input ends: the process that has started it has ended, however it did."""
    while os.read(0, 1):  # not through sys.stdin: the interpreter aborts when it ends while a thread holds that
        pass
    os._exit(1)


if __name__ == "__main__":
    threading.Thread(target=_end_with_parent, daemon=True).start()
    os.nice(_NICENESS)
    from services.threads import pin_threads

    pin_threads()
    sys.stdout.write(f"{merge_changes(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))}\n")
