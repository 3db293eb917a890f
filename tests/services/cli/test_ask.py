"""``egotools ask``: by a model behind HTTP and by rules, a run in its journal, catalogs, what is no sure answer."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.harness.commands import Run
from tests.planners.graphseek.agent.http_run import calls
from tests.planners.kgot.run_fakes import StepServer
from tests.services.cli.csv_plants import write_plants

QUESTION = "How many cars are built at each plant?"
CARS = calls(("get_nodes", {"node_type": "Car", "order_by": "price", "descending": True}))
DEAREST = {"answer": "Bee costs 2.5.", "of": ["t1"]}


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_BASE_URL", "EGOTOOLS_STORE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "k")


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A user's cache folder: the graph is loaded once, and the store of operators is built once."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def graph(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Two plants and two cars, as CSV files."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    return write_plants(tmp_path)


def by(server: StepServer, graph: str, *more: object) -> Sequence[object]:
    return ("--graph", graph, "--llm-url", f"{server.url}/v1", "--llm-model", "m", *more)


def test_a_run_is_kept_and_told_again(run: Run, graph: str, tmp_path: Path) -> None:
    kept = ("--journal", tmp_path / "talks" / "talk.jsonl")
    with StepServer(turn=[CARS, DEAREST]) as server:
        code, first, err = run("ask", "Which car is dearest?", *by(server, graph, *kept, "--explain"))
        assert code == 0, err
        for told in ("step 1", "get_nodes", "query run text MATCH", "handle t1", "answer Bee costs 2.5."):
            assert told in first
        assert first.index("Bee") < first.index("Ant"), "the rows stand as they were ordered"
        asked = len(server.steps)
        assert run("ask", "Which car is dearest?", *by(server, graph, *kept, "--explain"))[1] == first
        assert len(server.steps) == asked, "a finished run asks nobody"
        code, _, err = run("ask", "Which car is cheapest?", *by(server, graph, *kept))
        assert code == 2 and "of another question" in err
    assert run("ask", "--replay", *kept, "--explain")[:2] == (0, first)
    code, out, _ = run("ask", "--replay", *kept, "--json")
    told_again = json.loads(out)
    assert told_again["outcome"] == "answered" and told_again["results"][0]["rows"][0][-2:] == ["Bee", 2.5]
    assert "ResultKept" in [each["event"] for each in told_again["steps"]]


def test_what_is_no_sure_answer_ends_the_command_with_its_code(run: Run, graph: str) -> None:
    with StepServer(turn=[CARS, {"answer": "Cat costs 9.75.", "of": ["t1"]}]) as server:
        code, out, err = run("ask", QUESTION, *by(server, graph))
        assert code == 10 and "answer (ungrounded) Cat costs 9.75." in out and "Do not rely on it" in err
        assert "answer rejected" in out and "ungrounded 9.75" in out
    with StepServer(turn=[{"ask": "Which plant do you mean?"}]) as server:
        code, out, err = run("ask", QUESTION, *by(server, graph))
        assert code == 2 and "answer (asked back) Which plant do you mean?" in out and "two readings" in err
    code, out, err = run("ask", "Zzz qqq?", "--graph", graph)
    assert code == 2 and "could not be read" in err and "--llm-model" in err


def test_a_catalog_must_be_of_the_graph(run: Run, graph: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    for text, said in (
        ("accepted: false\n", "unknown key 'accepted'"),
        ("nodes: {Lorry: {}}\n", "the graph does not have Lorry"),
    ):
        file.write_text(text, encoding="utf-8")
        code, _, err = run("ask", "x", "--graph", graph, "--catalog", file)
        assert code == 2 and said in err
    file.write_text("nodes: {Car: {description: What we sell, properties: {name: {}, price: {}}}}\n", encoding="utf-8")
    with StepServer(turn=[CARS, DEAREST]) as server:
        code, _, err = run("ask", QUESTION, *by(server, graph, "--catalog", file))
        assert code == 0 and "What we sell" in json.dumps(server.bodies), err
