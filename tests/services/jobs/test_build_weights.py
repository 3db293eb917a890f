"""Tuned weights outlive a build where the catalogue is close to the one that they were tuned on, and the build says so."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from inference import HashingEncoder
from ingest.build_report import BuildReport
from retrieval.ranking.weights import SHIPPED, RankingWeights, ranking_section, weights_of
from retrieval.snapshot.publish import published_id
from retrieval.snapshot.publish_version import publish_reweighted
from retrieval.snapshot.reader import open_snapshot
from services.jobs.build import build_snapshot

TUNED = RankingWeights(bm25_params=2.0)
THINGS = ("order", "parcel", "refund", "voucher", "basket", "review", "ticket", "contract", "card", "letter")


def built(store: Path, things: Sequence[str], *, said: str = "Gets the") -> BuildReport:
    rows = [{"name": f"get_{thing}", "description": f"{said} {thing}."} for thing in things]
    table = store.parent / "tools.jsonl"
    table.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return build_snapshot([str(table)], store, encoder=HashingEncoder())


def retuned(store: Path, weights: RankingWeights = TUNED) -> str:
    snapshot = open_snapshot(store)
    return publish_reweighted(snapshot, store, ranking_section(weights), replaces=snapshot.id)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    built(tmp_path / "store", THINGS)
    return tmp_path / "store"


def test_the_same_tools_built_again_are_the_tuned_snapshot_to_the_byte(store: Path) -> None:
    tuned = retuned(store)
    for _ in range(2):  # the second time nothing is read
        report = built(store, THINGS)
        assert report.snapshot_id == published_id(store) == tuned
        assert "tuned, as before: 100%" in report.weights


def test_a_close_catalogue_keeps_them_and_the_manifest_tells_from_where(store: Path) -> None:
    tuned = retuned(store)
    report = built(store, THINGS[:-1])
    section = open_snapshot(store).manifest.ranking
    assert section is not None and weights_of(open_snapshot(store)) == TUNED
    assert (section.kept_from, section.closeness) == (tuned, 0.9)
    assert f"90% of the tools are as they were when snapshot {tuned} was tuned" in report.weights
    assert built(store, THINGS[:-1]).snapshot_id == report.snapshot_id
    # Ten small steps are a large one: nine tenths of nine tenths are kept, and no more.
    assert "81% of the tools" in built(store, [*THINGS[:-1], "return"]).weights
    assert "only 74% of the tools" in built(store, [*THINGS[:-1], "return", "invoice"]).weights
    assert weights_of(open_snapshot(store)) == SHIPPED


def test_another_catalogue_gets_the_shipped_weights_and_the_reason(store: Path) -> None:
    tuned = retuned(store)
    report = built(store, THINGS, said="Fetches the")
    assert report.weights.startswith("the shipped ones: only 0%") and tuned in report.weights
    assert open_snapshot(store).manifest.ranking is None
