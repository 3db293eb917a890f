"""``egotools ask``: by a model behind HTTP and by rules, a run in its journal, catalogs, what is no sure answer."""

import json
import signal
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.harness.commands import Run, started
from tests.harness.waiting import LIMIT_S, wait_until
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


def test_a_run_that_was_interrupted_ends_at_once_and_goes_on(run: Run, graph: str, tmp_path: Path) -> None:
    journal = tmp_path / "talk.jsonl"
    held, go_on = threading.Event(), threading.Event()

    def turn(body: Mapping[str, Any], nth: int) -> Any:
        if nth == 1:
            held.set()
            go_on.wait(LIMIT_S)
        return CARS if nth == 0 else DEAREST

    with StepServer(turn=turn) as server:
        arguments = ("ask", "Which car?", *by(server, graph, "--journal", journal))
        with started(*arguments) as process:
            wait_until(held.is_set, process=process)
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=LIMIT_S) == 130, "the model has not answered yet"
        go_on.set()
        code, out, err = run(*arguments)
        assert code == 0 and "Bee costs 2.5." in out, err
        assert len(server.steps) == 3, "the first step is not planned again"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ((" ",), 2, "there is no question"),
        (("x", "--graph", "nowhere:x"), 2, "no graph has the address"),
        (("x", "--graph", "ladybug:/absent"), 8, "/absent"),
        (("x", "--graph", "store:/absent"), 7, "/absent"),
        (("x", "--llm-url", "http://127.0.0.1:9/v1"), 2, "--llm-model"),
        (("x", "--llm-model", "m"), 2, "--llm-url"),
        (("x", "--operators", "."), 2, "it needs --llm-model"),
        (("--replay",), 2, "it needs --journal"),
        (("--replay", "words", "--journal", "absent.jsonl"), 2, "takes no question"),
        (("--replay", "--journal", "absent.jsonl"), 2, "there is no such journal"),
        (("x", "--catalog", "absent.yaml", "--graph", "GRAPH"), 2, "absent.yaml"),
    ],
)
def test_bad_input_is_refused(run: Run, graph: str, arguments: tuple[str, ...], code: int, said: str) -> None:
    given = [graph if each == "GRAPH" else each for each in arguments]
    found, _, err = run("ask", *given)
    assert found == code and said in err


def test_a_catalog_must_be_of_the_graph(run: Run, graph: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    for text, said in (
        ("accepted: false\n", "accepted: there is no such key"),
        ("nodes: {Lorry: {}}\n", "the graph does not have Lorry"),
    ):
        file.write_text(text, encoding="utf-8")
        code, _, err = run("ask", "x", "--graph", graph, "--catalog", file)
        assert code == 2 and said in err
    file.write_text("nodes: {Car: {description: What we sell, properties: {name: {}, price: {}}}}\n", encoding="utf-8")
    with StepServer(turn=[CARS, DEAREST]) as server:
        code, _, err = run("ask", QUESTION, *by(server, graph, "--catalog", file))
        assert code == 0 and "What we sell" in json.dumps(server.bodies), err
