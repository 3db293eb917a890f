"""Ranking weights: what a snapshot says of them, what it ranks by, and that a new version never harms the old one."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from egotools.values import Response
from inference import Floats1d, HashingEncoder
from ontology.errors import (
    InvalidArgumentError,
    ModelError,
    SnapshotCorruptError,
    SnapshotError,
    SnapshotVersionError,
    StorageError,
)
from retrieval.graph_retriever import GraphRetriever
from retrieval.presets import BASELINES, make_presets
from retrieval.query.request import Request
from retrieval.ranking.features import TEXT_FEATURES
from retrieval.ranking.rerank import CrossEncoderRanker
from retrieval.ranking.weights import BASELINE, FUSION, SHIPPED, RankingWeights, ranking_section, weights_of
from retrieval.snapshot.layout import Layout
from retrieval.snapshot.manifest import content_id
from retrieval.snapshot.publish import published_id
from retrieval.snapshot.reader import Snapshot, open_snapshot
from retrieval.snapshot.reweight import publish_reweighted
from retrieval.snapshot.writer import SnapshotContent
from retrieval.snapshot_engine import open_engine
from tests.conftest import ROOT
from tests.retrieval.conftest import REQUESTS, published

PARAMETERS = RankingWeights(
    bm25_text=0.0,
    bm25_params=8.0,
    bm25_returns=0.0,
    bm25_values=0.0,
    cosine_text=0.0,
    cosine_name=0.0,
    name_coverage=0.0,
    graph_support=0.0,
    clause_fusion=0.0,
)
WEIGHTS = (
    SHIPPED,
    PARAMETERS,
    BASELINE,
    RankingWeights(bm25_text=0.3, cosine_name=2.0, graph_support=1.5, clause_fusion=0.4, resolver_margin=0.1),
    RankingWeights(bm25_params=0.0, cosine_text=0.1, name_coverage=2.0, graph_support=0.0, resolver_margin=3.0),
)


def answers(retriever: Any) -> list[Any]:
    responses: list[Response] = [retriever.retrieve(Request(query=text, k=6)) for text in REQUESTS]
    return [[(tool.id, tool.score, tool.reasons) for tool in response.tools] for response in responses]


def test_what_a_build_writes_says_no_weights_and_has_the_shipped_ones(snapshot: Snapshot) -> None:
    assert snapshot.manifest.ranking is None and "ranking" not in snapshot.manifest.content()
    assert weights_of(snapshot) == SHIPPED
    default = make_presets(snapshot, HashingEncoder())["default"]
    assert answers(default) == answers(GraphRetriever(snapshot, HashingEncoder()))


@pytest.mark.parametrize("weights", WEIGHTS, ids=lambda weights: str(WEIGHTS.index(weights)))
def test_weights_are_read_back_as_they_were_written(
    tmp_path: Path, content: SnapshotContent, weights: RankingWeights
) -> None:
    published(tmp_path, content)
    old = open_snapshot(tmp_path)
    publish_reweighted(old, tmp_path, ranking_section(weights), replaces=old.id)
    assert weights_of(open_snapshot(tmp_path)) == weights


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -0.1, 1_001.0])
def test_a_weight_is_finite_and_bounded(value: float) -> None:
    with pytest.raises(InvalidArgumentError, match="a number from 0 to 1,000") as refused:
        RankingWeights(cosine_name=value)
    assert refused.value.subject == "weight cosine_name"


def test_some_text_signal_says_something() -> None:
    with pytest.raises(InvalidArgumentError, match="all text features have the weight 0"):
        RankingWeights(**{**dict.fromkeys(TEXT_FEATURES, 0.0), "graph_support": 1.0, "clause_fusion": 1.0})


def test_an_unknown_weight_is_refused_by_name() -> None:
    with pytest.raises(InvalidArgumentError, match="popularity: there is no weight of that name; known: bm25_text"):
        RankingWeights(popularity=1.0)


def section(**weights: object) -> dict[str, object]:
    return {"ranker": FUSION, "weights": {**SHIPPED, **weights}}


def with_ranking(store: Path, content: SnapshotContent, ranking: object) -> Path:
    """A published snapshot whose manifest has this under ``ranking``, and the id that belongs to it; its manifest."""
    path = Layout(published(store, content)).manifest
    manifest = json.loads(path.read_text(encoding="utf-8"))
    del manifest["snapshot_id"]
    manifest["ranking"] = ranking
    snapshot_id = content_id(manifest)
    path.write_text(json.dumps({**manifest, "snapshot_id": snapshot_id}), encoding="utf-8")
    path.parent.rename(path.parent.with_name(snapshot_id))
    (store / "CURRENT").write_text(f"{snapshot_id}\n", encoding="utf-8")
    return path.parent.with_name(snapshot_id) / path.name


@pytest.mark.parametrize(
    ("ranking", "error", "told"),
    [
        ([1.0], SnapshotCorruptError, r"'ranking' is \[1.0\]"),
        ({"ranker": FUSION, "weights": {}}, SnapshotCorruptError, "'clause_fusion' is missing"),
        (
            {"ranker": FUSION, "weights": {"clause_fusion": 3.0, "system_coherence": 0.7, "resolver_margin": 0.5}},
            SnapshotCorruptError,
            "all text features have the weight 0",
        ),
        (section(bm25_text="1"), SnapshotCorruptError, "'ranking.weights.bm25_text' is '1'"),
        (section(bm25_text=True), SnapshotCorruptError, "'ranking.weights.bm25_text' is True"),
        (section(graph_support="much"), SnapshotCorruptError, "'ranking.weights.graph_support' is 'much'"),
        (section(cosine_text=-1), SnapshotCorruptError, "a number from 0 to 1,000"),
        (section(cosine_text=10**400), SnapshotCorruptError, "cannot be read"),
        (section(cosine_text=float("nan")), SnapshotCorruptError, "a number from 0 to 1,000"),
        (section(popularity=0.1), SnapshotVersionError, "a weight 'popularity'"),
        ({**section(), "ranker": "fusion.v1"}, SnapshotVersionError, "ranked by 'fusion.v1'"),
        ({**section(), "ranker": "fusion.v3"}, SnapshotVersionError, "ranked by 'fusion.v3'"),
    ],
)
def test_nonsense_in_a_manifest_is_refused_in_words(
    tmp_path: Path, content: SnapshotContent, ranking: object, error: type[SnapshotError], told: str
) -> None:
    manifest = with_ranking(tmp_path, content, ranking)
    with pytest.raises(error, match=told) as refused:
        open_engine(tmp_path, encoder=HashingEncoder())
    assert refused.value.subject == str(manifest)
    assert refused.value.remedy


def test_a_feature_that_came_after_the_tuning_has_weight_0(tmp_path: Path, content: SnapshotContent) -> None:
    ranking = section(cosine_name=2.0)
    weights = ranking["weights"]
    assert isinstance(weights, dict)
    del weights["name_coverage"]
    with_ranking(tmp_path, content, ranking)
    expected = RankingWeights(cosine_name=2.0, name_coverage=0.0)
    assert weights_of(open_snapshot(tmp_path)) == expected
    engine = open_engine(tmp_path, encoder=HashingEncoder())
    assert answers(engine.retriever()) == answers(GraphRetriever(engine.snapshot, HashingEncoder(), weights=expected))


def test_candidates_are_not_made_without_the_encoder(snapshot: Snapshot) -> None:
    class Down(HashingEncoder):
        def encode(self, texts: Any) -> Any:
            raise ModelError("it does not answer")

    with pytest.raises(ModelError, match="no semantic matching"):
        GraphRetriever(snapshot, Down()).find_candidates(Request(query="give Jan an award"))


def test_only_the_default_preset_takes_the_weights(tmp_path: Path, content: SnapshotContent) -> None:
    published(tmp_path, content)
    old = open_engine(tmp_path, encoder=HashingEncoder())
    publish_reweighted(old.snapshot, tmp_path, ranking_section(PARAMETERS), replaces=old.snapshot_id)
    new = open_engine(tmp_path, encoder=HashingEncoder())
    assert weights_of(new.snapshot) == PARAMETERS
    assert answers(new.retriever()) == answers(GraphRetriever(old.snapshot, HashingEncoder(), weights=PARAMETERS))
    assert answers(new.retriever()) != answers(old.retriever())
    for preset in BASELINES:
        assert answers(new.retriever(preset)) == answers(old.retriever(preset)), preset


def test_beside_another_ranker_the_graph_keeps_its_shipped_weight(snapshot: Snapshot) -> None:
    class ByLength:
        name = "by-length.v1"

        def score(self, query: str, documents: Sequence[str]) -> Floats1d:
            return np.array([len(document) for document in documents], dtype=np.float32)

    ranker = CrossEncoderRanker(ByLength())
    plain = GraphRetriever(snapshot, HashingEncoder(), ranker)
    assert answers(GraphRetriever(snapshot, HashingEncoder(), ranker, weights=PARAMETERS)) == answers(plain)


def test_where_another_ranker_is_down_the_snapshots_own_weights_rank(snapshot: Snapshot) -> None:
    class Dead:
        name = "dead.v1"

        def score(self, query: str, documents: Sequence[str]) -> Floats1d:
            raise ModelError("it does not answer")

    ranker = CrossEncoderRanker(Dead())
    for weights in (PARAMETERS, SHIPPED):
        fused = GraphRetriever(snapshot, HashingEncoder(), weights=weights)
        assert answers(GraphRetriever(snapshot, HashingEncoder(), ranker, weights=weights)) == answers(fused)


@pytest.mark.parametrize("links", [True, False], ids=["linked", "copied"])
def test_a_version_has_the_same_content_and_its_own_id(
    tmp_path: Path, content: SnapshotContent, monkeypatch: pytest.MonkeyPatch, links: bool
) -> None:
    if not links:
        monkeypatch.setattr(os, "link", _refusing(errno.EXDEV))
    before = published(tmp_path, content)
    old = open_snapshot(tmp_path)
    bytes_before = {path.name: path.read_bytes() for path in before.iterdir()}
    version = publish_reweighted(old, tmp_path, ranking_section(PARAMETERS), replaces=old.id)
    assert published_id(tmp_path) == version != old.id
    new = open_snapshot(tmp_path)
    assert new.manifest.files == old.manifest.files
    assert (new.folder / "tools.jsonl").samefile(before / "tools.jsonl") is links
    assert {path.name: path.read_bytes() for path in before.iterdir()} == bytes_before
    assert weights_of(open_snapshot(before)) == SHIPPED
    assert publish_reweighted(old, tmp_path / "elsewhere", ranking_section(PARAMETERS), replaces="") == version


def test_with_the_shipped_weights_the_version_is_the_one_that_was_built(
    tmp_path: Path, content: SnapshotContent
) -> None:
    before = published(tmp_path, content)
    version = publish_reweighted(open_snapshot(tmp_path), tmp_path, ranking_section(PARAMETERS), replaces=before.name)
    assert (
        publish_reweighted(open_snapshot(tmp_path), tmp_path, ranking_section(SHIPPED), replaces=version) == before.name
    )
    assert published_id(tmp_path) == before.name


def test_a_snapshot_published_meanwhile_is_not_hidden(tmp_path: Path, content: SnapshotContent) -> None:
    published(tmp_path, content)
    old = open_snapshot(tmp_path)
    newer = published(tmp_path, replace(content, created_by="egotools later"))
    with pytest.raises(SnapshotError, match=f"another snapshot was published meanwhile \\({newer.name}\\)"):
        publish_reweighted(old, tmp_path, ranking_section(PARAMETERS), replaces=old.id)
    assert published_id(tmp_path) == newer.name
    assert not list(tmp_path.glob(".building*"))


def test_a_snapshot_published_at_the_same_moment_is_not_hidden(
    tmp_path: Path, content: SnapshotContent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A build that publishes after the check and before the pointer is written waits, and then has the last word."""
    published(tmp_path, content)
    old, newer = open_snapshot(tmp_path), replace(content, created_by="egotools later")
    names: list[str] = []
    build = threading.Thread(target=lambda: names.append(published(tmp_path, newer).name))
    fsync = os.fsync

    def meanwhile(descriptor: int) -> None:
        if not build.ident and threading.current_thread() is threading.main_thread():
            build.start()
            build.join(timeout=1.0)  # it ends within this time where nothing holds it up
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", meanwhile)
    version = publish_reweighted(old, tmp_path, ranking_section(PARAMETERS), replaces=old.id)
    build.join()
    assert published_id(tmp_path) == names[0] != version


def test_a_file_altered_since_it_was_opened_is_not_published(tmp_path: Path, content: SnapshotContent) -> None:
    before = published(tmp_path, content)
    old = open_snapshot(tmp_path)
    with open(before / "nodes.jsonl", "a", encoding="utf-8") as file:
        file.write("{}\n")
    with pytest.raises(SnapshotCorruptError, match="altered"):
        publish_reweighted(old, tmp_path, ranking_section(PARAMETERS), replaces=old.id)
    (before / "tools.jsonl").unlink()
    with pytest.raises(SnapshotCorruptError, match="the file is missing"):
        publish_reweighted(old, tmp_path, ranking_section(PARAMETERS), replaces=old.id)
    assert [path.name for path in (tmp_path / "snapshots").iterdir()] == [old.id]


def _refusing(code: int) -> Callable[..., None]:
    def refuse(*arguments: object, **options: object) -> None:
        raise OSError(code, os.strerror(code))

    return refuse


@pytest.mark.parametrize("call", ["copyfile", "fsync", "write_text", "rename"])
def test_a_full_disk_leaves_the_last_snapshot_serving(
    tmp_path: Path, content: SnapshotContent, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    published(tmp_path, content)
    old = open_snapshot(tmp_path)
    monkeypatch.setattr(os, "link", _refusing(errno.EPERM))
    owner = {"copyfile": shutil, "fsync": os, "write_text": Path, "rename": Path}[call]
    monkeypatch.setattr(owner, call, _refusing(errno.ENOSPC))
    with pytest.raises(StorageError, match="No space left"):
        publish_reweighted(old, tmp_path, ranking_section(PARAMETERS), replaces=old.id)
    monkeypatch.undo()
    assert open_snapshot(tmp_path).id == old.id
    assert not list(tmp_path.glob(".building*"))


_KILLED = """
import sys
from pathlib import Path
from tests.retrieval.snapshot.test_weights import _kill_at
_kill_at(Path(sys.argv[1]), int(sys.argv[2]))
"""


def _kill_at(store: Path, moment: int) -> None:
    """Runs in a child: publish a version, and die by SIGKILL at the ``moment``-th fsync."""
    fsync, counter = os.fsync, iter(range(1, 1_000))

    def dying(descriptor: Any) -> None:
        if next(counter) == moment:
            os.kill(os.getpid(), signal.SIGKILL)
        fsync(descriptor)

    os.fsync = dying  # type: ignore[assignment]
    snapshot = open_snapshot(store)
    publish_reweighted(snapshot, store, ranking_section(PARAMETERS), replaces=snapshot.id)


@pytest.mark.slow
def test_kill_9_leaves_the_last_snapshot_serving(tmp_path: Path, content: SnapshotContent) -> None:
    before = published(tmp_path, content)
    files = len(list(before.iterdir()))
    # The first file, the last, the folder of versions after the rename; then, the version being there, the pointer.
    for moment in (1, files, files + 2, 2):
        done = subprocess.run(
            [sys.executable, "-c", _KILLED, str(tmp_path), str(moment)], cwd=ROOT, capture_output=True, check=False
        )
        assert done.returncode == -signal.SIGKILL, done.stderr.decode()
        assert open_snapshot(tmp_path).id == before.name
    old = open_snapshot(tmp_path)
    publish_reweighted(old, tmp_path, ranking_section(PARAMETERS), replaces=old.id)
    assert weights_of(open_snapshot(tmp_path)) == PARAMETERS
    assert not list(tmp_path.glob(".building*"))
    assert np.array_equal(open_snapshot(tmp_path).adjacency.tails, old.adjacency.tails)
