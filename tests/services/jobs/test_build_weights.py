"""Tuned weights outlive a build, and the build says so."""

from collections.abc import Sequence
from pathlib import Path

from inference import HashingEncoder
from ingest.build_report import BuildReport
from retrieval.ranking.weights import RankingWeights, ranking_section, weights_of
from retrieval.snapshot.publish import published_id
from retrieval.snapshot.publish_version import publish_version
from retrieval.snapshot.reader import open_snapshot
from services.jobs.build import build_snapshot
from tests.eval.planted import written

TUNED = RankingWeights(bm25_params=2.0)
THINGS = ("order", "parcel", "refund", "voucher", "basket", "review", "ticket", "contract", "card", "letter")


def built(store: Path, things: Sequence[str]) -> BuildReport:
    rows = [{"name": f"get_{thing}", "description": f"Gets the {thing}."} for thing in things]
    table = written(store.parent / "tools.jsonl", *rows)
    return build_snapshot([str(table)], store, encoder=HashingEncoder())


def retuned(store: Path) -> str:
    snapshot = open_snapshot(store)
    return publish_version(snapshot, store, ranking=ranking_section(TUNED), learned=None, replaces=snapshot.id)


def test_the_same_tools_built_again_are_the_tuned_snapshot_to_the_byte_and_others_keep_its_weights(
    tmp_path: Path,
) -> None:
    store = tmp_path / "store"
    built(store, THINGS)
    tuned = retuned(store)
    for _ in range(2):  # the second time nothing is read
        report = built(store, THINGS)
        assert report.snapshot_id == published_id(store) == tuned
        assert f"tuned, as those of snapshot {tuned}" in report.weights
    built(store, THINGS[:-1])
    assert weights_of(open_snapshot(store)) == TUNED
