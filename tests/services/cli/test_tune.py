"""``egotools tune``: a catalogue whose parameters tell what its descriptions hide is ranked by its parameters."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from inference import HashingEncoder
from ontology.errors import StorageError
from ontology.progress import no_progress
from retrieval.query.request import Request
from retrieval.ranking.weights import SHIPPED, weights_of
from retrieval.snapshot.reader import open_snapshot
from retrieval.snapshot_engine import SnapshotEngine, open_engine
from services.cli.console import stderr
from services.jobs.build import build_snapshot
from services.jobs.plans import TuningPlan
from services.jobs.tune import NOT_BETTER, Tuned, tune_snapshot
from tests.eval.tuning.remembered_fits import RememberedFits
from tests.harness.commands import Run

pytestmark = pytest.mark.slow

TOOLS = 48
SYLLABLES = ("ba", "ko", "ri", "mu", "ta", "ze", "no", "li")


def word(number: int, kind: str) -> str:
    """A word that means nothing: four syllables that spell the number."""
    digits = [number // 8 % 8, number % 8, number * 5 % 8, number * 3 % 8]
    return kind + "".join(SYLLABLES[digit] for digit in digits)


def requests(truth: bool, *, count: int = 72, seed: int = 5) -> list[dict[str, Any]]:
    """Requests that say the parameter of the tool that they need, and much of what others describe.

    :param truth: whether the gold tool is that one; else it is any.
    """
    random = np.random.Generator(np.random.PCG64(seed))
    made = []
    for row in range(count):
        need, *others = random.choice(TOOLS, size=5, replace=False).tolist()
        said = " ".join(word(int(other), "d") for other in others)
        gold = need if truth else int(random.integers(TOOLS))
        made.append(
            {
                "id": f"r{row}",
                "query": f"{said} {word(int(need), 'p')}",
                "tools": [f"tool_{gold:02}"],
                "class": "asked" if row % 2 else "told",
                "path_id": f"path-{gold:02}",
            }
        )
    return made


def written(folder: Path, rows: Sequence[dict[str, Any]]) -> Path:
    folder.mkdir()
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "queries.jsonl").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tune")
    tools = [
        {
            "id": f"tool_{number:02}",
            "name": f"tool {number:02}",
            "description": f"Does {word(number, 'd')}.",
            "parameters": [{"name": word(number, "p"), "type": "string", "description": "", "required": True}],
        }
        for number in range(TOOLS)
    ]
    (folder / "tools.jsonl").write_text("".join(json.dumps(tool) + "\n" for tool in tools), encoding="utf-8")
    build_snapshot([str(folder / "tools.jsonl")], folder / "store", encoder=HashingEncoder())
    return folder / "store"


@pytest.fixture(scope="module")
def fits() -> RememberedFits:
    return RememberedFits()


@pytest.fixture(autouse=True)
def _fitted_once(fits: RememberedFits, monkeypatch: pytest.MonkeyPatch) -> None:
    """These tests are about what is published: tests/eval/tuning is about the fitting, and that it repeats."""
    monkeypatch.setattr("eval.tuning.tuning.fit_weights", fits)


@pytest.fixture
def store(built: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(built, tmp_path / "store"))


@pytest.fixture(scope="module")
def true(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("labels") / "true", requests(truth=True))


@pytest.fixture(scope="module")
def false(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("labels") / "false", requests(truth=False))


def engine(store: Path) -> SnapshotEngine:
    return open_engine(store, encoder=HashingEncoder())


def tune(store: Path, labels: Path, **others: Any) -> Tuned:
    plan: dict[str, Any] = {"snapshot": store, "labels": labels, "k": 3}
    return tune_snapshot(TuningPlan(**plan | others), no_progress)


def completed(asked: SnapshotEngine, rows: Sequence[dict[str, Any]]) -> float:
    found = [asked.retriever().retrieve(Request(query=row["query"], k=3)).tools for row in rows]
    return float(
        np.mean([row["tools"][0] in {tool.id for tool in tools} for row, tools in zip(rows, found, strict=True)])
    )


def test_a_better_ranking_is_published_and_serves_requests_it_never_saw(
    run: Run, store: Path, true: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = engine(store)
    monkeypatch.setattr(stderr, "_force_terminal", True)
    monkeypatch.setattr(stderr, "is_interactive", True)
    code, out, err = run("tune", store, "--on", true, "-k", 3, "--report", tmp_path / "mine.md")
    assert code == 0
    assert "candidates" in err and "fit" in err, "the stages on a terminal"
    after = engine(store)
    assert after.snapshot_id != before.snapshot_id
    assert f"Snapshot {after.snapshot_id} was published in place of {before.snapshot_id}." in out
    weights = weights_of(after.snapshot)
    assert weights["bm25_params"] / weights["bm25_text"] > SHIPPED["bm25_params"] / SHIPPED["bm25_text"]
    new = requests(truth=True, seed=6)
    assert completed(after, new) > completed(before, new) + 0.1
    assert completed(engine(before.snapshot.folder), new) == completed(before, new)
    report = json.loads((store / "reports" / f"{before.snapshot_id}.tuning.json").read_text(encoding="utf-8"))
    assert (report["published"], report["published_id"], report["k"]) == (True, after.snapshot_id, 3)
    assert report["held_out"][0]["low"] > 0
    assert "| asked |" in (tmp_path / "mine.md").read_text(encoding="utf-8")
    account = json.loads((store / "reports" / f"{after.snapshot_id}.json").read_text(encoding="utf-8"))
    assert (account["snapshot_id"], account["tools"]) == (after.snapshot_id, TOOLS)
    code, out, _ = run("search", new[0]["query"], "--store", store, "--json", "-k", 3)
    assert json.loads(out)["snapshot_id"] == after.snapshot_id


def test_what_is_not_better_is_not_published(run: Run, store: Path, false: Path) -> None:
    before = (store / "CURRENT").read_text(encoding="utf-8")
    code, out, err = run("tune", store, "--on", false, "-k", 3, "--json")
    said = json.loads(out)
    assert (code, err) == (NOT_BETTER, "")
    assert (said["published"], said["published_id"], said["better"]) == (False, "", False)
    assert said["reason"]
    assert (store / "CURRENT").read_text(encoding="utf-8") == before
    assert len(list((store / "snapshots").iterdir())) == 1
    assert (store / "reports" / f"{before.strip()}.tuning.md").exists()


def test_a_tuned_snapshot_is_tuned_again_from_the_shipped_weights_and_must_beat_its_own(
    store: Path, true: Path
) -> None:
    first = tune(store, true)
    again = tune(store, true)
    assert again.tuning.weights == first.tuning.weights
    assert (again.tuning.before, again.published) == (first.tuning.weights, "")
    assert "It already had tuned weights" in again.outcome
    back = tune(store / "snapshots" / first.snapshot_id, true)
    assert (back.snapshot_id, back.published) == (first.snapshot_id, first.published)


def test_the_same_seed_publishes_the_same_version_elsewhere_too(store: Path, true: Path, tmp_path: Path) -> None:
    elsewhere = tune(store, true, out=tmp_path / "other")
    assert open_snapshot(store).id == elsewhere.snapshot_id
    assert open_snapshot(tmp_path / "other").id == elsewhere.published == tune(store, true).published


def test_what_is_complete_already_is_left_alone(store: Path, true: Path) -> None:
    tuned = tune(store, true, k=TOOLS)
    assert (tuned.published, tuned.tuning.reason) == ("", f"every request is complete at {TOOLS} already")


@pytest.mark.parametrize(
    ("change", "options", "exit_code", "told"),
    [
        ({"tools": ["tool_99"]}, (), 2, "need 1 tools that the snapshot does not have"),
        ({"path_id": "p"}, (), 2, "of 1 tool paths or gold sets"),
        ({"split": "later"}, (), 3, "has the split 'later'"),
        ({"query": "?"}, (), 3, "not labelled requests"),
        ({}, ("--report", "x.pdf"), 2, "no format for the ending '.pdf'"),
        ({}, ("--seed", "-1"), 2, "seed"),
        ({}, ("-k", "0"), 2, "-k"),
    ],
)
def test_bad_input_is_refused_in_words(
    run: Run, store: Path, tmp_path: Path, change: dict[str, Any], options: tuple[str, ...], exit_code: int, told: str
) -> None:
    rows = requests(truth=True, count=40)
    rows = [{**row, **change} for row in rows] if set(change) - {"tools"} else [*rows[:-1], {**rows[-1], **change}]
    code, _, err = run("tune", store, "--on", written(tmp_path / "labels", rows), *options)
    assert code == exit_code
    assert told in err
    assert len(list((store / "snapshots").iterdir())) == 1


def test_missing_gold_tools_are_allowed_on_request(store: Path, tmp_path: Path) -> None:
    rows = requests(truth=True)
    rows[0]["tools"] = ["tool_99"]
    tuned = tune(store, written(tmp_path / "labels", rows), allow_missing=True)
    assert tuned.published
    assert tuned.tuning.not_completable == pytest.approx(1 / len(rows))


@pytest.mark.parametrize(("missing", "exit_code"), [("store", 7), ("labels", 3)])
def test_what_is_not_there_is_said(
    run: Run, store: Path, true: Path, tmp_path: Path, missing: str, exit_code: int
) -> None:
    nowhere = tmp_path / "nowhere"
    code, _, err = run(
        "tune", nowhere if missing == "store" else store, "--on", nowhere if missing == "labels" else true
    )
    assert (code, "nowhere" in err) == (exit_code, True)


def test_a_snapshot_in_no_store_needs_to_be_told_where_to(run: Run, store: Path, true: Path, tmp_path: Path) -> None:
    alone = tmp_path / "alone"
    shutil.copytree(open_snapshot(store).folder, alone)
    code, _, err = run("tune", alone, "--on", true, "-k", 3)
    assert (code, "--out" in err) == (2, True)
    code, _, _ = run("tune", alone, "--on", true, "-k", 3, "--out", tmp_path / "other")
    assert (code, weights_of(open_snapshot(tmp_path / "other")) != SHIPPED) == (0, True)


def test_a_full_disk_at_the_end_leaves_what_was_published(
    store: Path, true: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = open_snapshot(store).id

    def full(descriptor: int) -> None:
        raise OSError(28, os.strerror(28))

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(StorageError, match="No space left"):
            tune(store, true)
    assert open_snapshot(store).id == before
    assert tune(store, true).published
