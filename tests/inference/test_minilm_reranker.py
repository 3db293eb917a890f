"""The embedded reranker: its weights, its known answers, and that a score is of its pair alone."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from inference import MiniLmReranker
from inference.minilm_reranker import _MAX_CHARS, WEIGHTS
from ontology.errors import ModelError
from tests.inference.cards import assert_files_are_those_of_the_card
from tests.inference.counting import CountingTokenizer

CARD = json.loads((WEIGHTS / "card.json").read_text(encoding="utf-8"))
DOCUMENTS = [
    "Delete queue. Deletes a message queue and all messages in it. queueUrl",
    "Create queue. Creates a new message queue. queueName attributes",
    "Get weather. Returns the forecast for a city. city days",
    "List employees. Lists the people of a department. departmentId",
    "",
]


@pytest.fixture(scope="module")
def reranker() -> MiniLmReranker:
    return MiniLmReranker()


def test_weights_are_those_of_the_card() -> None:
    assert_files_are_those_of_the_card(WEIGHTS, CARD)
    assert CARD["licence"] == "Apache-2.0"


def test_the_known_scores(reranker: MiniLmReranker) -> None:
    for known in CARD["known_scores"]:
        score = reranker.score(known["query"], [known["document"]])[0]
        assert float(score) == pytest.approx(known["score"], abs=0.15), known


@pytest.mark.parametrize(
    ("query", "right"),
    [("get rid of the old message queue", 0), ("will it rain in Rome tomorrow?", 2), ("who works in purchasing?", 3)],
)
def test_the_needed_tool_wins(reranker: MiniLmReranker, query: str, right: int) -> None:
    assert int(reranker.score(query, DOCUMENTS).argmax()) == right


def test_ten_megabytes_cost_no_more_than_the_limit(reranker: MiniLmReranker, monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = CountingTokenizer(reranker._tokenizer)
    monkeypatch.setattr(reranker, "_tokenizer", tokenizer)
    expected = reranker.score("word " * 500, ["word " * 500])
    scores = reranker.score("word " * 2_000_000, ["word " * 2_000_000])
    assert scores.tobytes() == expected.tobytes()
    assert tokenizer.longest <= _MAX_CHARS


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_altered_weights_are_refused_by_name(tmp_path: Path, name: str) -> None:
    folder = Path(shutil.copytree(WEIGHTS, tmp_path / "weights"))
    content = bytearray((folder / name).read_bytes())
    content[len(content) // 2] ^= 1
    (folder / name).write_bytes(content)
    with pytest.raises(ModelError, match="SHA-256 of the file is not") as caught:
        MiniLmReranker(folder)
    assert caught.value.subject == str(folder / name)
