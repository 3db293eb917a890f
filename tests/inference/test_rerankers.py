"""What every reranker keeps to, and what the HTTP one makes of servers that misbehave."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from inference import Reranker, RetryPolicy, load_reranker
from inference.registry import EMBEDDED_CROSS_ENCODER
from inference.reranker import CrossEncoderReranker, HttpReranker
from ontology.errors import ModelError
from tests.harness.http_server import Arrived, Reply, as_json
from tests.inference.conftest import Serve

DOCUMENTS = ["list the orders", "create an order", "", "weather!", "采购订单 😀", "create an order"]


def likeness(query: str, document: str) -> float:
    """The share of the query's words that the document has."""
    words = set(query.split())
    return len(words & set(document.split())) / max(1, len(words))


def cohere(asked: Arrived) -> Reply:
    if "documents" not in asked.json:
        return as_json({"message": "documents are missing"}, status=422)
    scores = [(likeness(asked.json["query"], text), index) for index, text in enumerate(asked.json["documents"])]
    best_first = sorted(scores, key=lambda pair: -pair[0])
    return as_json({"results": [{"index": index, "relevance_score": score} for score, index in best_first]})


def tei(asked: Arrived) -> Reply:
    if "texts" not in asked.json:
        return as_json({"error": "missing field texts"}, status=422)
    texts = enumerate(asked.json["texts"])
    return as_json([{"index": index, "score": likeness(asked.json["query"], text)} for index, text in texts][::-1])


@pytest.fixture(params=["http-cohere", "http-tei", "cross-encoder", "embedded"])
def reranker(request: pytest.FixtureRequest, serve: Serve) -> Reranker:
    makers: dict[str, Callable[[], Reranker]] = {
        "http-cohere": lambda: HttpReranker(f"{serve(cohere).url}/rerank"),
        "http-tei": lambda: HttpReranker(f"{serve(tei).url}/rerank"),
        "embedded": lambda: load_reranker(EMBEDDED_CROSS_ENCODER),
        "cross-encoder": lambda: CrossEncoderReranker(request.getfixturevalue("tiny_cross_encoder")),
    }
    return makers[request.param]()


def test_one_finite_score_a_document_in_their_order(reranker: Reranker) -> None:
    scores = reranker.score("create an order", DOCUMENTS)
    assert scores.shape == (len(DOCUMENTS),)
    assert scores.dtype == np.float32
    assert np.isfinite(scores).all()
    assert scores[1] == pytest.approx(scores[5], abs=1e-5)
    assert scores[1] != scores[3]


@pytest.mark.parametrize("query", ["", "?!", "\ud800", "😀", "order " * 5000])
def test_odd_queries_are_scored(reranker: Reranker, query: str) -> None:
    assert np.isfinite(reranker.score(query, ["an order", "x" * 50_000])).all()


def test_the_embedded_one_tells_the_tool_of_a_need_from_its_siblings() -> None:
    siblings = {
        "find an employee by name": ("Search employees. Finds employees by their name", "Delete employee. Removes one"),
        "submit an expense report": ("Submit report. Sends a report for approval", "Search expense reports. By text"),
        "cancel a booking": ("Cancel reservation. Releases the room", "List bookings. All bookings of a guest"),
    }
    model = load_reranker(EMBEDDED_CROSS_ENCODER)
    assert all(np.diff(model.score(need, documents)) < 0 for need, documents in siblings.items())
    alone, beside = model.score("a need", ["an order"]), model.score("a need", ["x " * 900, "an order"])
    assert alone[0] == beside[1], "a score does not depend on the other documents"


def test_the_form_is_found_once_and_kept(serve: Serve) -> None:
    server = serve(tei)
    assert HttpReranker(f"{server.url}/rerank").score("an order", ["a"] * 70).shape == (70,)
    assert ["texts" in asked.json for asked in server.arrived] == [False, True, True, True]


def test_model_and_key_are_sent_and_the_key_is_not_shown(serve: Serve) -> None:
    server = serve(cohere)
    reranker = HttpReranker(f"{server.url}/v1/rerank?token=abc", model="bge", api_key="sk-secret")
    reranker.score("a", ["a"])
    assert server.arrived[0].json["model"] == "bge"
    assert server.arrived[0].headers["authorization"] == "Bearer sk-secret"
    assert reranker.name == f"http:bge@{server.url}/v1/rerank"
    assert "secret" not in repr(reranker)


NONSENSE: dict[str, Any] = {
    "no results": {"answer": 42},
    "a string": "fine",
    "null": None,
    "an index is missing": {"results": [{"index": 0, "relevance_score": 1.0}]},
    "an index twice": {"results": [{"index": 0, "score": 1.0}, {"index": 0, "score": 2.0}]},
    "an index beyond": {"results": [{"index": 0, "score": 1.0}, {"index": 2, "score": 2.0}]},
    "an index that is text": [{"index": 0, "score": 1.0}, {"index": "1", "score": 2.0}],
    "no index": [{"index": 0, "score": 1.0}, {"score": 2.0}],
    "NaN": [{"index": 0, "score": 1.0}, {"index": 1, "score": float("nan")}],
    "infinite": [{"index": 0, "score": 1.0}, {"index": 1, "score": float("inf")}],
    "too large": [{"index": 0, "score": 1.0}, {"index": 1, "score": 1e300}],
    "a huge whole number": [{"index": 0, "score": 1.0}, {"index": 1, "score": 10**400}],
    "no score": [{"index": 0, "score": 1.0}, {"index": 1}],
    "a score that is text": [{"index": 0, "score": 1.0}, {"index": 1, "score": "high"}],
    "no objects": [1, 2],
}


@pytest.mark.parametrize("answer", NONSENSE.values(), ids=NONSENSE.keys())
def test_nonsense_is_a_model_error(serve: Serve, swift: RetryPolicy, answer: Any) -> None:
    server = serve(lambda asked: as_json(answer))
    with pytest.raises(ModelError) as caught:
        HttpReranker(f"{server.url}/rerank", policy=swift).score("a", ["a", "b"])
    assert caught.value.subject == f"{server.url}/rerank"
    assert caught.value.remedy
    assert len(server.arrived) == 1


@pytest.mark.parametrize("status", [301, 401, 404])
def test_a_refusal_is_not_repeated(serve: Serve, swift: RetryPolicy, status: int) -> None:
    server = serve(lambda asked: as_json({}, status=status))
    with pytest.raises(ModelError, match=f"HTTP {status}"):
        HttpReranker(server.url, policy=swift).score("a", ["a"])
    assert len(server.arrived) == 1


def test_a_folder_without_a_cross_encoder(tmp_path: Path) -> None:
    pytest.importorskip("transformers", reason="the extra 'torch' is not installed")
    with pytest.raises(ModelError, match="cannot be loaded") as caught:
        CrossEncoderReranker(tmp_path)
    assert caught.value.subject == str(tmp_path)


def test_several_labels_score_last_against_first(tiny_cross_encoder: Path, tmp_path: Path) -> None:
    import shutil

    transformers: Any = pytest.importorskip("transformers", reason="the extra 'torch' is not installed")
    torch: Any = pytest.importorskip("torch", reason="the extra 'torch' is not installed")
    folder = Path(shutil.copytree(tiny_cross_encoder, tmp_path / "two-labels"))
    config = transformers.AutoConfig.from_pretrained(str(folder))
    config.num_labels = 2
    torch.manual_seed(3)
    model = transformers.BertForSequenceClassification(config).eval()
    model.save_pretrained(str(folder))
    scores = CrossEncoderReranker(folder).score("an order", ["create an order"])
    tokens = transformers.AutoTokenizer.from_pretrained(str(folder))("an order", "create an order", return_tensors="pt")
    with torch.inference_mode():
        logits = model(**tokens).logits[0]
    assert float(scores[0]) == pytest.approx(float(logits[1] - logits[0]), abs=1e-5)
    assert logits.shape == (2,)


def test_one_that_hangs_is_given_up_and_the_next_requests_do_not_wait(serve: Serve) -> None:
    server = serve(lambda asked: Reply(hang=True))
    reranker = load_reranker(f"http:{server.url}/rerank", wait_s=0.2)
    with pytest.raises(ModelError, match="did not answer in time"):
        reranker.score("q", ["a"])
    with pytest.raises(ModelError, match="has not answered an earlier request"):
        reranker.score("q", ["a"])
    assert len(server.arrived) == 1
