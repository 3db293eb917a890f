"""Ranking weights: what a snapshot says of them, what it ranks by, and that a new version never harms the old one."""

import errno
import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from egotools.values import Response
from inference import HashingEncoder
from ontology.errors import (
    SnapshotCorruptError,
    SnapshotError,
    SnapshotVersionError,
)
from retrieval.engine import open_engine
from retrieval.graph_retriever import GraphRetriever
from retrieval.presets import BASELINES, make_presets
from retrieval.query.request import Request
from retrieval.ranking.weights import FUSION, SHIPPED, RankingWeights, ranking_section, weights_of
from retrieval.snapshot.manifest import MANIFEST, content_id
from retrieval.snapshot.publish import published_id
from retrieval.snapshot.publish_version import publish_version
from retrieval.snapshot.reader import Snapshot, open_snapshot
from retrieval.snapshot.writer import SnapshotContent
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


def answers(retriever: Any) -> list[Any]:
    responses: list[Response] = [retriever.retrieve(Request(query=text, k=6)) for text in REQUESTS]
    return [[(tool.id, tool.score, tool.reasons) for tool in response.tools] for response in responses]


def test_what_a_build_writes_says_no_weights_and_has_the_shipped_ones(snapshot: Snapshot) -> None:
    assert snapshot.manifest.ranking is None and "ranking" not in snapshot.manifest.content()
    assert weights_of(snapshot) == SHIPPED
    default = make_presets(snapshot, HashingEncoder())["default"]
    assert answers(default) == answers(GraphRetriever(snapshot, HashingEncoder()))


def section(**weights: object) -> dict[str, object]:
    return {"ranker": FUSION, "weights": {**SHIPPED, **weights}}


def with_ranking(store: Path, content: SnapshotContent, ranking: object) -> Path:
    """A published snapshot whose manifest has this under ``ranking``, and the id that belongs to it; its manifest."""
    path = published(store, content) / MANIFEST
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
        (section(bm25_text="1"), SnapshotCorruptError, "'ranking.weights.bm25_text' is '1'"),
        (section(bm25_text=True), SnapshotCorruptError, "'ranking.weights.bm25_text' is True"),
        (section(graph_support="much"), SnapshotCorruptError, "'ranking.weights.graph_support' is 'much'"),
        (section(cosine_text=-1), SnapshotCorruptError, "greater than or equal to 0"),
        (section(cosine_text=10**400), SnapshotCorruptError, "cannot be read"),
        (section(cosine_text=float("nan")), SnapshotCorruptError, "cannot be read"),
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


def test_only_the_default_preset_takes_the_weights(tmp_path: Path, content: SnapshotContent) -> None:
    published(tmp_path, content)
    old = open_engine(tmp_path, encoder=HashingEncoder())
    publish_version(old.snapshot, tmp_path, ranking=ranking_section(PARAMETERS), learned=None, replaces=old.snapshot_id)
    new = open_engine(tmp_path, encoder=HashingEncoder())
    assert weights_of(new.snapshot) == PARAMETERS
    assert answers(new.retriever()) == answers(GraphRetriever(old.snapshot, HashingEncoder(), weights=PARAMETERS))
    assert answers(new.retriever()) != answers(old.retriever())
    for preset in BASELINES:
        assert answers(new.retriever(preset)) == answers(old.retriever(preset)), preset


@pytest.mark.parametrize("links", [True, False], ids=["linked", "copied"])
def test_a_version_has_the_same_content_and_its_own_id(
    tmp_path: Path, content: SnapshotContent, monkeypatch: pytest.MonkeyPatch, links: bool
) -> None:
    if not links:
        monkeypatch.setattr(os, "link", _refusing(errno.EXDEV))
    before = published(tmp_path, content)
    old = open_snapshot(tmp_path)
    bytes_before = {path.name: path.read_bytes() for path in before.iterdir()}
    version = publish_version(old, tmp_path, ranking=ranking_section(PARAMETERS), learned=None, replaces=old.id)
    assert published_id(tmp_path) == version != old.id
    new = open_snapshot(tmp_path)
    assert new.manifest.files == old.manifest.files
    assert (new.folder / "tools.jsonl").samefile(before / "tools.jsonl") is links
    assert {path.name: path.read_bytes() for path in before.iterdir()} == bytes_before
    assert weights_of(open_snapshot(before)) == SHIPPED
    assert (
        publish_version(old, tmp_path / "elsewhere", ranking=ranking_section(PARAMETERS), learned=None, replaces="")
        == version
    )


def test_a_snapshot_published_meanwhile_is_not_hidden(tmp_path: Path, content: SnapshotContent) -> None:
    published(tmp_path, content)
    old = open_snapshot(tmp_path)
    newer = published(tmp_path, replace(content, created_by="egotools later"))
    with pytest.raises(SnapshotError, match=f"another snapshot was published meanwhile \\({newer.name}\\)"):
        publish_version(old, tmp_path, ranking=ranking_section(PARAMETERS), learned=None, replaces=old.id)
    assert published_id(tmp_path) == newer.name
    assert not list(tmp_path.glob(".building*"))


def _refusing(code: int) -> Callable[..., None]:
    def refuse(*arguments: object, **options: object) -> None:
        raise OSError(code, os.strerror(code))

    return refuse
