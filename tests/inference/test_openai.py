"""Chat and embeddings over HTTP: good answers and all the ways a server can fail."""

import gzip
import time
from collections.abc import Callable
from typing import Any

import pytest

from inference import Budget, ChatModel, Message, RetryPolicy, Sample
from inference.openai_client import OpenAIChat, OpenAIEncoder
from inference.reranker import HttpReranker
from ontology.errors import BudgetExceededError, InvalidArgumentError, ModelError
from tests.harness.http_server import Arrived, Loopback, Reply, as_json
from tests.inference.conftest import Serve

pytest.importorskip("openai", reason="the extra 'llm' is not installed")

TALK = [Message("system", "Answer in JSON."), Message("user", "Which entities?")]
SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}


def completion(text: str | None = '{"a": "b"}', *, usage: Any = None, finish: str = "stop") -> Reply:
    counted = {"prompt_tokens": 11, "completion_tokens": 5, "total_tokens": 16} if usage is None else usage
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "finish_reason": finish, "message": message}
    return as_json(
        {"id": "1", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice], "usage": counted}
    )


def chat(server: Loopback | str, policy: RetryPolicy, **options: Any) -> OpenAIChat:
    url = server if isinstance(server, str) else server.url
    options = {"api_key": "sk-secret", **options}
    return OpenAIChat("small", base_url=f"{url}/v1", policy=policy, **options)


def in_order(*replies: Reply) -> Callable[[Arrived], Reply]:
    remaining = iter(replies)
    return lambda asked: next(remaining)


def test_a_good_answer(serve: Serve, swift: RetryPolicy) -> None:
    server = serve(lambda asked: completion())
    model = chat(server, swift, max_tokens=99)
    assert isinstance(model, ChatModel)
    answer = model.complete(TALK, schema=SCHEMA, schema_name="triples")
    assert (answer.text, answer.prompt_tokens, answer.completion_tokens) == ('{"a": "b"}', 11, 5)
    assert not answer.truncated
    asked = server.arrived[0]
    assert asked.path == "/v1/chat/completions"
    assert asked.headers["authorization"] == "Bearer sk-secret"
    assert asked.json["messages"] == [
        {"role": "system", "content": "Answer in JSON."},
        {"role": "user", "content": "Which entities?"},
    ]
    described = {"name": "triples", "schema": SCHEMA, "strict": True}
    assert asked.json["response_format"] == {"type": "json_schema", "json_schema": described}
    assert (asked.json["temperature"], asked.json["seed"], asked.json["max_tokens"]) == (0, 0, 99)


def test_a_sample_sets_seed_and_temperature(serve: Serve, swift: RetryPolicy) -> None:
    server = serve(lambda asked: completion())
    chat(server, swift, seed=40).complete(TALK, sample=Sample(seed=2, temperature=0.7))
    assert [(asked.json["temperature"], asked.json["seed"]) for asked in server.arrived] == [(0.7, 42)]


@pytest.mark.parametrize("count", [None, -1, 1e308, "many", 10**400])
def test_a_server_that_counts_no_tokens_is_estimated(serve: Serve, swift: RetryPolicy, count: Any) -> None:
    usage = {"prompt_tokens": count, "completion_tokens": count}
    server = serve(lambda asked: completion("four words are here", usage=usage))
    answer = chat(server, swift).complete(TALK)
    assert 5 <= answer.completion_tokens <= 10
    assert answer.prompt_tokens > 10


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_a_passing_failure_is_repeated(serve: Serve, swift: RetryPolicy, status: int) -> None:
    server = serve(in_order(as_json({}, status=status), as_json({}, status=status), completion()))
    assert chat(server, swift).complete(TALK).text == '{"a": "b"}'
    assert len(server.arrived) == 3


def test_retry_after_in_seconds_is_honoured(serve: Serve, swift: RetryPolicy) -> None:
    server = serve(in_order(as_json({}, status=429, Retry_After="0.3"), completion()))
    started = time.monotonic()
    chat(server, swift).complete(TALK)
    assert time.monotonic() - started >= 0.3


def test_a_slow_server_times_out(serve: Serve) -> None:
    server = serve(lambda asked: Reply(hang=True))
    with pytest.raises(ModelError, match="in time"):
        chat(server, RetryPolicy(max_retries=0), timeout_s=0.2).complete(TALK)


NO_ANSWERS = {
    "half a JSON": Reply(body=b'{"id": "1", "choices": [{"ind'),
    "no JSON": Reply(body=b"<html>proxy</html>"),
    "no choices": as_json({"id": "1"}),
    "choices that are none": as_json({"choices": "none"}),
    "empty text": completion(""),
}


@pytest.mark.parametrize("reply", NO_ANSWERS.values(), ids=NO_ANSWERS.keys())
def test_nonsense_is_a_model_error(serve: Serve, swift: RetryPolicy, reply: Reply) -> None:
    server = serve(lambda asked: reply)
    with pytest.raises(ModelError) as caught:
        chat(server, swift).complete(TALK)
    assert caught.value.subject == f"{server.url}/v1"
    assert len(server.arrived) == 1


UNBOUNDED = {
    "compressed": (Reply(body=gzip.compress(b" " * 2**26), headers={"Content-Encoding": "gzip"}), "compressed", 60.0),
    "too large": (Reply(body=b" " * 2**20, endless=0.0), "more than 33,554,432 bytes", 60.0),
    "without end": (Reply(body=b" ", endless=0.05), "did not answer in time", 0.5),
    "nested": (Reply(body=b"[" * 200_000), "not JSON", 60.0),
}


@pytest.mark.parametrize(("reply", "problem", "timeout_s"), UNBOUNDED.values(), ids=UNBOUNDED.keys())
def test_an_answer_has_bounds(serve: Serve, reply: Reply, problem: str, timeout_s: float) -> None:
    server = serve(lambda asked: reply)
    with pytest.raises(ModelError, match=problem):
        chat(server, RetryPolicy(max_retries=0), timeout_s=timeout_s).complete(TALK)
    with pytest.raises(ModelError, match=problem):
        encoder(server.url, RetryPolicy(max_retries=0), timeout_s=timeout_s).encode(["a"])
    with pytest.raises(ModelError, match=problem):
        HttpReranker(server.url, policy=RetryPolicy(max_retries=0), timeout_s=timeout_s).score("a", ["a"])
    assert server.arrived[0].headers["accept-encoding"] == "identity"


def test_a_dead_port_is_named_without_credentials(dead_url: str, swift: RetryPolicy) -> None:
    secret = dead_url.replace("//", "//user:hunter2@")
    with pytest.raises(ModelError, match=r"cannot be reached.*3 attempts") as caught:
        chat(secret, swift).complete(TALK)
    assert caught.value.subject == f"{dead_url}/v1"
    assert caught.value.__cause__ is None
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("status", "message", "told"),
    [
        (401, "Incorrect API key provided: sk-secret", "OPENAI_API_KEY"),
        (404, "no model small for key sk-secret.", r"HTTP 404: no model small for key \*\*\*\."),
    ],
)
def test_what_the_server_objects_to_is_told_without_the_key_and_not_repeated(
    serve: Serve, swift: RetryPolicy, status: int, message: str, told: str
) -> None:
    server = serve(lambda asked: as_json({"error": {"message": message}}, status=status))
    with pytest.raises(ModelError, match=told) as caught:
        chat(server, swift).complete(TALK)
    assert "sk-secret" not in str(caught.value)
    assert len(server.arrived) == 1


def test_no_secret_in_name_or_repr(swift: RetryPolicy) -> None:
    model = chat("http://user:hunter2@127.0.0.1:1", swift)
    assert model.name == "openai:small@http://127.0.0.1:1/v1"
    for shown in (repr(model), repr(vars(model)), model.name):
        assert "hunter2" not in shown
        assert "sk-secret" not in shown


def test_the_budget_stops_before_the_call(serve: Serve, swift: RetryPolicy) -> None:
    server = serve(lambda asked: completion())
    budget = Budget(max_tokens=150)
    model = chat(server, swift, budget=budget, max_tokens=100)
    for _ in range(2):
        model.complete(TALK)
    with pytest.raises(BudgetExceededError, match="32 of 150 tokens"):
        model.complete(TALK)
    assert len(server.arrived) == 2
    assert (budget.spent.calls, budget.spent.prompt_tokens, budget.spent.completion_tokens) == (2, 22, 10)


def test_a_useless_answer_is_paid_and_a_failed_call_is_not(serve: Serve, swift: RetryPolicy) -> None:
    server = serve(in_order(completion(""), *[as_json({}, status=500)] * 3))
    model = chat(server, swift)
    for _ in range(2):
        with pytest.raises(ModelError):
            model.complete(TALK)
    assert (model.budget.spent.calls, model.budget.spent.tokens) == (1, 16)


@pytest.mark.parametrize(
    ("field", "options"),
    [
        ("model", {"model": ""}),
        ("base_url", {"base_url": "localhost:80"}),
        ("timeout_s", {"timeout_s": 0}),
        ("max_tokens", {"max_tokens": 0}),
    ],
)
def test_options_out_of_range(field: str, options: dict[str, Any]) -> None:
    given = {"model": "m", "base_url": "http://127.0.0.1:1/v1", **options}
    with pytest.raises(InvalidArgumentError) as caught:
        OpenAIChat(**given)
    assert caught.value.subject == field


def vectors(*rows: Any, start: int = 0) -> Reply:
    data = [{"object": "embedding", "index": index, "embedding": row} for index, row in enumerate(rows, start)]
    return as_json({"object": "list", "model": "m", "data": data, "usage": {"prompt_tokens": 1, "total_tokens": 1}})


def encoder(url: str, policy: RetryPolicy, **options: Any) -> OpenAIEncoder:
    return OpenAIEncoder("m", base_url=f"{url}/v1", api_key="sk-secret", policy=policy, **options)


BAD_VECTORS = {
    "too few": vectors([1.0, 2.0]),
    "wrong index": vectors([1.0, 2.0], [1.0, 2.0], start=1),
    "empty": vectors([], []),
    "text": vectors([1.0, "x"], [1.0, 2.0]),
    "null": vectors([1.0, 2.0], None),
    "NaN": vectors([1.0, 2.0], [float("nan"), 1.0]),
    "half a JSON": Reply(body=b'{"data": [{"embedding": [0.1, '),
}


@pytest.mark.parametrize("reply", BAD_VECTORS.values(), ids=BAD_VECTORS.keys())
def test_bad_vectors_are_a_model_error(serve: Serve, swift: RetryPolicy, reply: Reply) -> None:
    server = serve(in_order(vectors([1.0, 2.0]), reply))  # the first tells the width
    with pytest.raises(ModelError) as caught:
        encoder(server.url, swift).encode(["a", "b"])
    assert caught.value.subject == f"{server.url}/v1"


def test_embeddings_are_retried_and_scaled_to_length_one(serve: Serve, swift: RetryPolicy) -> None:
    server = serve(in_order(as_json({}, status=429), vectors([1.0, 0.0]), vectors([3.0, 4.0])))
    rows = encoder(server.url, swift).encode(["a"])
    assert rows.tolist() == [[pytest.approx(0.6), pytest.approx(0.8)]]
