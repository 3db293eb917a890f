"""``egotools tune``: a catalogue whose parameters tell what its descriptions hide is ranked by its parameters."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from inference import HashingEncoder
from retrieval.engine import Engine, open_engine
from retrieval.query.request import Request
from retrieval.ranking.weights import SHIPPED, weights_of
from services.jobs.build import build_snapshot
from tests.eval.planted import written
from tests.harness.commands import Run

pytestmark = pytest.mark.slow

TOOLS = 48
SYLLABLES = ("ba", "ko", "ri", "mu", "ta", "ze", "no", "li")


def word(number: int, kind: str) -> str:
    """A word that means nothing: four syllables that spell the number."""
    digits = [number // 8 % 8, number % 8, number * 5 % 8, number * 3 % 8]
    return kind + "".join(SYLLABLES[digit] for digit in digits)


def requests(*, count: int = 72, seed: int = 5) -> list[dict[str, Any]]:
    """Requests that say the parameter of the tool that they need, and much of what others describe."""
    random = np.random.Generator(np.random.PCG64(seed))
    made = []
    for row in range(count):
        need, *others = random.choice(TOOLS, size=5, replace=False).tolist()
        said = " ".join(word(int(other), "d") for other in others)
        made.append({"id": f"r{row}", "query": f"{said} {word(int(need), 'p')}", "tools": [f"tool_{int(need):02}"]})
    return made


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
    build_snapshot([str(written(folder / "tools.jsonl", *tools))], folder / "store", encoder=HashingEncoder())
    return folder / "store"


@pytest.fixture
def store(built: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(built, tmp_path / "store"))


def engine(store: Path) -> Engine:
    return open_engine(store, encoder=HashingEncoder())


def completed(asked: Engine, rows: Sequence[dict[str, Any]]) -> float:
    found = [asked.retriever().retrieve(Request(query=row["query"], k=3)).tools for row in rows]
    return float(
        np.mean([row["tools"][0] in {tool.id for tool in tools} for row, tools in zip(rows, found, strict=True)])
    )


def test_a_better_ranking_is_published_and_serves_requests_it_never_saw(run: Run, store: Path, tmp_path: Path) -> None:
    before = engine(store)
    written(tmp_path / "labels" / "queries.jsonl", *requests())
    code, out, _ = run("tune", store, "--on", tmp_path / "labels", "-k", 3)
    assert code == 0
    after = engine(store)
    assert after.snapshot_id != before.snapshot_id
    assert f"Snapshot {after.snapshot_id}, with tuned weights, was published in place of {before.snapshot_id}" in out
    weights = weights_of(after.snapshot)
    assert weights["bm25_params"] / weights["bm25_text"] > SHIPPED["bm25_params"] / SHIPPED["bm25_text"]
    new = requests(seed=6)
    assert completed(after, new) > completed(before, new) + 0.1
    assert completed(engine(before.snapshot.folder), new) == completed(before, new)
    report = json.loads((store / "reports" / f"{before.snapshot_id}.tuning.json").read_text(encoding="utf-8"))
    assert (report["published"], report["published_id"], report["k"]) == (True, after.snapshot_id, 3)
    assert report["gained"] > report["lost"] and report["recall_after"] > report["recall_before"]
    account = json.loads((store / "reports" / f"{after.snapshot_id}.json").read_text(encoding="utf-8"))
    assert (account["snapshot_id"], account["tools"]) == (after.snapshot_id, TOOLS)
    code, out, _ = run("search", new[0]["query"], "--store", store, "--json", "-k", 3)
    assert json.loads(out)["snapshot_id"] == after.snapshot_id
