"""``egotools datagen --generator llm`` against a loopback model: good, talkative, leaking, looping, dying, too dear."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.harness.chat import Body, ChatServer, Reply, asked, chat_server
from tests.harness.commands import Run
from tests.services.cli.test_datagen import GIVEN, published, results, rows

Script = Callable[[Body, int], Reply]

MIX = "single-intent: 5\n"
THANKS = " - thanks a lot"


def named(request: Body) -> str:
    return str(request["response_format"]["json_schema"]["name"])


def answered(request: Body, /, **instead: Any) -> str:
    """A fit answer to any question of data generation; or what is said instead to a question of that name."""
    name = named(request)
    if name in instead:
        value = instead[name]
        return value if isinstance(value, str) else json.dumps(value)
    if name == "outputs":
        return json.dumps({"outputs": []})
    if name == "sequence":
        follows = "follows" if "First:" in asked(request) else "fits"
        return json.dumps({"reason": "one leads to the other", follows: True})
    if name == "class":
        return json.dumps({"reason": "it wants one thing", "class": "single-intent"})
    if name == "error":
        return json.dumps({"reason": "nothing is wrong", "fault": "none"})
    message = json.loads(asked(request))["message"]
    return json.dumps({"rewordings": [f"{message.rstrip('.?!')}{THANKS}"]})


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


def texts(folder: Path) -> list[dict[str, Any]]:
    return rows(folder / "queries.jsonl")


def test_a_model_rewords_and_the_rules_validate(call: Call, tmp_path: Path) -> None:
    with chat_server(good) as server:
        code, _, err = call(server)
        before, first = server.hits, results(tmp_path / "out")
        assert call(server)[0] == 0
        assert server.hits == before, "the same again asks the model nothing"
    assert results(tmp_path / "out") == first
    assert code == 0, err
    assert {named(request) for request in server.requests} == {"paraphrase"}
    queries = texts(tmp_path / "out")
    assert len(queries) == 5, rows(tmp_path / "out" / "rejected.jsonl")
    assert len([row for row in queries if row["generator"] == "llm.v2"]) > 2
    for row in queries:
        assert row["generator"] == ("llm.v2" if row["query"].endswith(THANKS) else "rules.v2")
        assert [verdict["by"] for verdict in row["verdicts"]] == ["rules.v1"] * 3
        assert all(value["value"] in row["query"] for value in row["values"])
    figures = json.loads((tmp_path / "out" / "report.json").read_text(encoding="utf-8"))
    assert figures["by"]["generator"] == ["llm.v2+rules.v2"]


def about(message: str, query: str) -> bool:
    """Whether a request is what became of a message in which values are masked."""
    parts = re.split(r"[A-Z]+\d+", message.rstrip(".?!"))
    return re.fullmatch(".+".join(map(re.escape, parts)) + re.escape(THANKS), query) is not None


def locked_but(*queries: str) -> Script:
    """A model that answers about these requests only."""

    def script(request: Body, number: int) -> Reply:
        known = any(about(json.loads(asked(request))["message"], query) for query in queries)
        return good(request, number) if known else Reply(status=401)

    return script


def test_a_model_that_dies_leaves_all_that_was_made_and_is_asked_for_the_rest(call: Call, tmp_path: Path) -> None:
    with chat_server(good) as server:
        assert call(server, "whole")[0] == 0
        asked_in_all = server.hits
    whole = texts(tmp_path / "whole")
    kept = whole[:2]
    assert {row["generator"] for row in kept} == {"llm.v2"}
    with chat_server(locked_but(*(row["query"] for row in kept))) as server:
        code, _, err = call(server, "stopped")
    assert code == 10 and "the same command again" in " ".join(err.split())
    assert texts(tmp_path / "stopped") == kept
    assert "stopped:" in (tmp_path / "stopped" / "report.md").read_text(encoding="utf-8")
    with chat_server(good) as server:
        assert call(server, "stopped")[0] == 0
        assert server.hits < asked_in_all, "what was answered is not asked again"
    again, first = results(tmp_path / "stopped"), results(tmp_path / "whole")
    assert {name for name in first if again[name] != first[name]} <= {"cache.sqlite"}
