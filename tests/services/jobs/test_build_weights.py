"""Tuned weights outlive a build, and the build says so."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from inference import HashingEncoder
from ingest.build_report import BuildReport
from retrieval.ranking.weights import RankingWeights, ranking_section, weights_of
from retrieval.snapshot.publish import published_id
from retrieval.snapshot.publish_version import publish_reweighted
from retrieval.snapshot.reader import open_snapshot
from services.jobs.build import build_snapshot

TUNED = RankingWeights(bm25_params=2.0)
THINGS = ("order", "parcel", "refund", "voucher", "basket", "review", "ticket", "contract", "card", "letter")


def built(store: Path, things: Sequence[str]) -> BuildReport:
    rows = [{"name": f"get_{thing}", "description": f"Gets the {thing}."} for thing in things]
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
        assert f"tuned, as those of snapshot {tuned}" in report.weights


def test_a_changed_catalogue_keeps_them(store: Path) -> None:
    retuned(store)
    built(store, THINGS[:-1])
    assert weights_of(open_snapshot(store)) == TUNED
