"""``egotools datagen --generator llm`` against a loopback model: good, talkative, leaking, looping, dying, too dear."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.ingest.extract.llm_server import Body, ChatServer, Reply, asked, chat_server
from tests.services.cli.test_datagen import GIVEN, published, results, rows
from tests.services.conftest import Run

Script = Callable[[Body, int], Reply]

MIX = "single-intent: 5\n"
# For each tool: what somebody types who wants it, and the one value in it.
TEXTS = {
    "find customers": ("Do we have anybody called Brenda Osei on our books?", "name", "Brenda Osei"),
    "list invoices": ("What has account 40021 been billed for so far?", "customer_id", "40021"),
    "pay invoice": ("Settle bill 2024-118 on 3 May, will you?", "invoice_id", "2024-118"),
    "refund payment": ("Transfer 88310 should go back to the sender.", "payment_id", "88310"),
    "get weather": ("Is it raining in Bergen right now?", "city", "Bergen"),
    "book room": ("Get me the Fjord hall for 12 June.", "room", "Fjord hall"),
    "cancel booking": ("I no longer need reservation 5512.", "booking_id", "5512"),
}


def answered(request: Body, /, **instead: Any) -> str:
    """A fit answer to any question of data generation; or what is said instead to a question of that name."""
    name = request["response_format"]["json_schema"]["name"]
    if name in instead:
        value = instead[name]
        return value if isinstance(value, str) else json.dumps(value)
    text = asked(request)
    if name == "outputs":
        return json.dumps({"outputs": []})
    if name == "sequence":
        return json.dumps({"reason": "one leads to the other", "follows" if "First:" in text else "fits": True})
    if name == "class":
        return json.dumps({"reason": "it wants one thing", "class": "single-intent"})
    if name == "error":
        return json.dumps({"reason": "nothing is wrong", "fault": "none"})
    query, parameter, value = TEXTS[text.removeprefix("Step 1. ").partition(":")[0]]
    return json.dumps({"query": query, "values": [{"tool": 1, "parameter": parameter, "value": value}]})


def good(request: Body, _number: int) -> Reply:
    return Reply(text=answered(request))


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return published(tmp_path_factory.mktemp("llm"), GIVEN)


@pytest.fixture
def call(run: Run, store: Path, tmp_path: Path) -> Callable[..., tuple[int, str, str]]:
    """Runs the command against a server, into a folder of that name."""
    mix = tmp_path / "mix.yaml"
    mix.write_text(MIX, encoding="utf-8")

    def called(server: ChatServer, name: str = "out", *more: object) -> tuple[int, str, str]:
        model = ("--generator", "llm", "--llm-url", server.base_url, "--llm-model", "m")
        return run("datagen", store, "--out", tmp_path / name, "--mix", mix, *model, *more)

    return called


Call = Callable[..., tuple[int, str, str]]


def test_a_model_words_and_validators_after_the_rules(call: Call, tmp_path: Path) -> None:
    with chat_server(good) as server:
        code, _, err = call(server)
    assert code == 0, err
    queries = rows(tmp_path / "out" / "queries.jsonl")
    assert len(queries) == 5, rows(tmp_path / "out" / "rejected.jsonl")
    for row in queries:
        assert row["generator"] == "llm.v1"
        assert [verdict["by"] for verdict in row["verdicts"]] == ["rules.v1"] * 3 + ["llm.v1"] * 3
    figures = json.loads((tmp_path / "out" / "report.json").read_text(encoding="utf-8"))
    assert figures["by"]["validators"] == ["rules.v1", "llm.v1"]


def test_the_same_again_asks_the_model_nothing(call: Call, tmp_path: Path) -> None:
    with chat_server(good) as server:
        assert call(server)[0] == 0
        before, first = server.hits, results(tmp_path / "out")
        assert call(server)[0] == 0
        assert server.hits == before
    assert results(tmp_path / "out") == first


def locked(*tools: str) -> Script:
    """A model that answers nothing about requests for these tools; nothing at all where none is named."""

    def script(request: Body, number: int) -> Reply:
        generating = request["response_format"]["json_schema"]["name"] == "request"
        about = any(f"Step 1. {tool.replace('_', ' ')}:" in asked(request) for tool in tools)
        return Reply(status=401) if not tools or (generating and about) else good(request, number)

    return script


def texts(folder: Path) -> list[dict[str, Any]]:
    return rows(folder / "queries.jsonl")


def test_a_model_that_dies_leaves_all_that_was_made_and_is_asked_for_the_rest(call: Call, tmp_path: Path) -> None:
    with chat_server(good) as server:
        assert call(server, "whole")[0] == 0
        asked_in_all = server.hits
    whole = texts(tmp_path / "whole")
    with chat_server(locked(*(row["tools"][0] for row in whole[3:]))) as server:
        code, _, err = call(server, "stopped")
    assert code == 10 and "the same command again" in " ".join(err.split())
    assert texts(tmp_path / "stopped") == whole[:3]
    assert "stopped:" in (tmp_path / "stopped" / "report.md").read_text(encoding="utf-8")
    with chat_server(good) as server:
        assert call(server, "stopped")[0] == 0
        assert server.hits < asked_in_all / 2, "what was answered is not asked again"
    again, first = results(tmp_path / "stopped"), results(tmp_path / "whole")
    assert {name for name in first if again[name] != first[name]} <= {"cache.sqlite"}


def test_a_model_that_is_dead_from_the_start_is_a_typed_error(call: Call) -> None:
    with chat_server(locked()) as server:
        code, _, err = call(server)
    assert code == 10 and "Traceback" not in err


def test_a_cap_that_is_reached_keeps_what_was_made(call: Call, tmp_path: Path) -> None:
    with chat_server(good) as server:
        code, _, err = call(server, "out", "--llm-max-tokens", 2_000)
        assert code == 11, err
        assert server.hits > 0
        assert call(server, "out")[0] == 0
    assert len(texts(tmp_path / "out")) == 5


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("Sure! Here is a request: please pay the bill.", "rejected twice"),
        ({"query": "Call pay_invoice for me and 40021 too", "values": []}, "internal name"),
        ({"query": "pay it now please " * 9, "values": []}, "repeats itself"),
        ({"query": "", "values": []}, "too short"),
    ],
    ids=["prose", "leak", "loop", "empty"],
)
def test_texts_that_cannot_be_used_end_in_no_request_and_their_reasons(
    call: Call, tmp_path: Path, said: object, told: str
) -> None:
    def script(request: Body, _number: int) -> Reply:
        return Reply(text=answered(request, request=said))

    with chat_server(script) as server:
        code, _, err = call(server)
    assert code == 4 and "no request could be generated" in err
    assert texts(tmp_path / "out") == []
    assert any(told in row["reason"] for row in rows(tmp_path / "out" / "rejected.jsonl"))


def test_a_model_that_always_says_the_same_gets_one_request_kept(call: Call, tmp_path: Path) -> None:
    query, _, _ = TEXTS["get weather"]

    def script(request: Body, _number: int) -> Reply:
        name = "city" if "get weather" in asked(request) else "name"
        said = {"query": f"{query} Or at Brenda Osei’s?", "values": [{"tool": 1, "parameter": name, "value": "Bergen"}]}
        return Reply(text=answered(request, request=said))

    with chat_server(script) as server:
        code, _, _ = call(server)
    assert code in (0, 4)
    assert len(texts(tmp_path / "out")) <= 1
    reasons = " ".join(row["reason"] for row in rows(tmp_path / "out" / "rejected.jsonl"))
    assert "says the same" in reasons or "class:" in reasons or "error:" in reasons


def test_prose_from_the_validators_is_no_pass(call: Call, tmp_path: Path) -> None:
    def script(request: Body, _number: int) -> Reply:
        return Reply(text=answered(request, error="It looks fine to me."))

    with chat_server(script) as server:
        assert call(server)[0] == 4
    assert texts(tmp_path / "out") == []
    assert any(row["stage"] == "validate" for row in rows(tmp_path / "out" / "rejected.jsonl"))
