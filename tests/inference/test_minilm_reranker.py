"""The embedded reranker: its weights, its known answers, and that a score is of its pair alone."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from inference import MiniLmReranker, load_reranker
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


def test_the_card_says_what_it_was_taught_with() -> None:
    training = CARD["training"]
    assert {"seed", "steps", "data", "licences", "not_trained_on"} <= training.keys()
    assert len(training["groups"]["sha256"]) == 64
    assert any(training["groups"]["sha256"] in line for line in training["data"])


def test_loaded_by_its_name(reranker: MiniLmReranker) -> None:
    assert reranker.name == "egotools-reranker-int8.v1"
    assert load_reranker(reranker.name).name == reranker.name


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


def test_a_score_is_of_its_pair_alone(reranker: MiniLmReranker) -> None:
    together = reranker.score("remove the queue", DOCUMENTS)
    for place, document in enumerate(DOCUMENTS):
        assert reranker.score("remove the queue", [document]).tobytes() == together[place : place + 1].tobytes()
    assert reranker.score("remove the queue", DOCUMENTS[::-1]).tobytes() == together[::-1].tobytes()


def test_equal_documents_are_scored_once(reranker: MiniLmReranker, monkeypatch: pytest.MonkeyPatch) -> None:
    scored: list[tuple[int, ...]] = []
    score_one = reranker._score_one

    def counted(asked: list[int], document: tuple[int, ...]) -> float:
        scored.append(document)
        return score_one(asked, document)

    monkeypatch.setattr(reranker, "_score_one", counted)
    scores = reranker.score("remove the queue", [*DOCUMENTS[:1] * 2_000, *DOCUMENTS[1:3]])
    assert len(scored) == len(set(scored)) == 3
    assert len(scores) == 2_002 and len(set(scores.tolist())) == 3


def test_a_document_is_cut_at_its_limit(reranker: MiniLmReranker) -> None:
    document = "queue " * CARD["document_tokens"]
    expected = reranker.score("an order", [document])
    assert reranker.score("an order", [f"{document} weather"]).tobytes() == expected.tobytes()
    assert reranker.score("an order", [document[6:]]).tobytes() != expected.tobytes()


def test_of_a_long_request_the_better_end_counts(reranker: MiniLmReranker) -> None:
    half = CARD["query_tokens"] // 2
    wish, rest, middle = "delete the queue", "order " * half, "weather " * 200
    apart = [reranker.score(text, DOCUMENTS[:1])[0] for text in (f"{wish} {rest * 4}", f"{rest * 4} {wish}")]
    without = reranker.score(f"{rest * 2} {wish} {rest * 2}", DOCUMENTS[:1])[0]
    assert min(apart) > without
    ends = rest * 2
    assert (
        reranker.score(f"{ends} {middle} {ends}", DOCUMENTS).tobytes() == reranker.score(ends * 2, DOCUMENTS).tobytes()
    )


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


@pytest.mark.parametrize("left_out", ["name", "query_tokens", "document_tokens", "files"])
def test_a_card_that_says_too_little_is_refused(tmp_path: Path, left_out: str) -> None:
    card = {key: value for key, value in CARD.items() if key != left_out}
    (tmp_path / "card.json").write_text(json.dumps(card), encoding="utf-8")
    with pytest.raises(ModelError, match=f"has no {left_out}") as caught:
        MiniLmReranker(tmp_path)
    assert caught.value.subject == str(tmp_path / "card.json")
