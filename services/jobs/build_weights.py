"""The ranking weights of a build: those that were tuned on the catalogue before, where the new one is close to it; else the shipped ones.

Close is a catalogue of which at least four fifths of the tools are as they were.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ontology.errors import EgotoolsError, InvalidArgumentError
from ontology.tool import Tool
from retrieval.ranking.weights import weights_of
from retrieval.snapshot.layout import Layout
from retrieval.snapshot.manifest import RankingSection, read_manifest
from retrieval.snapshot.publish import current_snapshot
from retrieval.snapshot.reader import Snapshot, open_snapshot

__all__ = ["CLOSE", "WEIGHTS", "BuildWeights", "build_weights", "closeness", "tuned_snapshot"]

CLOSE = 0.8
"""The least share of unchanged tools with which tuned weights are kept. Chosen, not measured."""
WEIGHTS = ("keep", "shipped")
"""What a build may do with tuned weights."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildWeights:
    """The weights of a new snapshot.

    :param section: None for the shipped ones.
    :param told: where they come from, one sentence; empty where nothing was tuned.
    """

    section: RankingSection | None = None
    told: str = ""


def tuned_snapshot(store: Path, wanted: str) -> str:
    """Return the id of the published snapshot of a store, if it has tuned weights and these are wanted; else an empty text.

    :param wanted: one of :data:`WEIGHTS`.
    :raises InvalidArgumentError: for any other.
    """
    if wanted not in WEIGHTS:
        raise InvalidArgumentError(
            f"there are no weights {wanted!r}", subject="--weights", remedy=f"Use {' or '.join(WEIGHTS)}"
        )
    try:
        manifest = read_manifest(Layout(current_snapshot(store)))
    except EgotoolsError:  # none, or a damaged one, which a build replaces
        return ""
    return manifest.snapshot_id if manifest.ranking is not None and wanted == "keep" else ""


def build_weights(store: Path, tuned: str, tools: Iterable[Tool]) -> BuildWeights:
    """Return the weights of the snapshot of some tools.

    :param tuned: the id that :func:`tuned_snapshot` gave.
    """
    if not tuned:
        return BuildWeights()
    try:
        before = open_snapshot(store)
        section = before.manifest.ranking
        if before.id != tuned or section is None:
            return BuildWeights(told=f"the shipped ones: snapshot {tuned} is not published any more")
        weights_of(before)  # this egotools can rank with them
    except EgotoolsError as error:
        return BuildWeights(
            told=f"the shipped ones: the tuned ones of snapshot {tuned} cannot be read: {error.problem}"
        )
    return _kept(before, section, closeness(before.tools, tools))


def _kept(before: Snapshot, section: RankingSection, unchanged: float) -> BuildWeights:
    whole = round(unchanged * (section.closeness if section.closeness is not None else 1.0), 4)
    origin = section.kept_from or before.id
    share = f"{whole:.0%} of the tools are as they were when snapshot {origin} was tuned"
    if unchanged == 1.0:
        return BuildWeights(section=section, told=f"tuned, as before: {share}")
    if whole < CLOSE:
        return BuildWeights(told=f"the shipped ones: only {share}, and {CLOSE:.0%} are needed. Tune again")
    kept = section.model_copy(update={"kept_from": origin, "closeness": whole})
    return BuildWeights(section=kept, told=f"tuned, kept: {share}")


def closeness(before: Iterable[Tool], now: Iterable[Tool]) -> float:
    """Return the share of the tools of two catalogues that both have with the same id and the same document, in [0, 1].

    A tool that was added, removed or changed counts once against it. Of a catalogue without tools it is 1.
    """
    old, new = _digests(before), _digests(now)
    every = old.keys() | new.keys()
    return sum(old.get(tool) == new.get(tool) for tool in every) / len(every) if every else 1.0


def _digests(tools: Iterable[Tool]) -> dict[str, bytes]:
    return {tool.id: hashlib.sha256(tool.canonical_json().encode("utf-8", "surrogatepass")).digest() for tool in tools}
