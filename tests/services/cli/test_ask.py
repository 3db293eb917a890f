"""``egotools ask``: by a model behind HTTP and by rules, a conversation in journals, what it says where there is no answer."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from services.jobs.conversation import conversation_turns
from tests.harness.commands import Run, started
from tests.harness.waiting import LIMIT_S, wait_until
from tests.planners.graphseek.agent.http_run import calls
from tests.planners.kgot.run_fakes import StepServer
from tests.services.cli.csv_plants import write_plants

QUESTION = "How many cars are built at each plant?"
CARS = calls(("get_nodes", {"node_type": "Car", "order_by": "price", "descending": True}))
DEAREST = {"answer": "Bee costs 2.5.", "of": ["t1"]}


_CARS_BUILT_AT = """
from planners.graphseek.operators.slice import traverse as TRAVERSE
from planners.graphseek.operators.operator import TypedOperator

async def _run(arguments, context):
    plant = {"type": "Plant", "filters": [{"key": "name", "operator": "=", "value": arguments["plant"]}]}
    return await TRAVERSE.run({"start": plant, "direction": "in"}, context)

OPERATOR = TypedOperator(
    name="cars_built_at",
    description="The cars that a plant builds.",
    forms=lambda forms: {"plant": {"type": "string"}},
    required=("plant",),
    runs=_run,
)
"""


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


def test_a_conversation_of_two_turns_is_kept_and_told_again(run: Run, graph: str, tmp_path: Path) -> None:
    journal = tmp_path / "talks" / "talk.jsonl"
    kept = ("--journal", journal)
    shown = calls(("show", {"handle": "t1"}))
    with StepServer(turn=[CARS, DEAREST, shown, {"answer": "Here it is."}]) as server:
        code, out, err = run("ask", "Which car is dearest?", *by(server, graph, *kept, "--explain"))
        assert code == 0, err
        for told in (
            "step 1",
            "call      get_nodes",
            "query     MATCH",
            "t1: table of 2 rows",
            "answer Bee costs 2.5.",
        ):
            assert told in out
        assert out.index("Bee") < out.index("Ant"), "the rows stand as they were ordered"
        code, second, err = run("ask", "Draw the prices", *by(server, graph, *kept))
        assert code == 0, err
        assert "Which car is dearest?" in server.prompts("turn")[-1] and "Bee costs 2.5." in server.prompts("turn")[-1]
        assert "Bee" in second and "Here it is." in second
        asked = len(server.steps)
        assert run("ask", "Draw the prices", *by(server, graph, *kept))[1] == second
        assert len(server.steps) == asked, "a finished run asks nobody"
    code, replayed, _ = run("ask", "--replay", *kept)
    assert (code, replayed) == (0, second)
    code, out, _ = run("ask", "--replay", *kept, "--json")
    told = json.loads(out)
    assert told["outcome"] == "answered" and told["results"][0]["rows"][0][-2:] == ["Bee", 2.5]
    assert "ResultKept" in [each["event"] for each in told["steps"]]
    assert len(conversation_turns(journal)) == 2


def test_a_run_is_branched_and_refined(run: Run, graph: str, tmp_path: Path) -> None:
    journal = tmp_path / "talk.jsonl"
    kept = ("--journal", journal)
    first = {"answer": "Ant costs 1.5.", "of": ["t1"]}
    read = calls(("read", {"handle": "t1", "limit": 1}))
    with StepServer(turn=[CARS, DEAREST, first, read, {"answer": "The first is Bee.", "of": ["t2"]}]) as server:
        assert run("ask", "Which car?", *by(server, graph, *kept))[0] == 0
        code, out, err = run("ask", *by(server, graph, *kept, "--branch", 1))
        assert code == 0 and "Ant costs 1.5." in out and "get_nodes" in out, err
        code, out, err = run("ask", *by(server, graph, *kept, "--refine", "Only the first one"))
        assert code == 0 and "The first is Bee." in out, err
        assert server.steps == ["turn"] * 5, "steps that were taken over are not planned again"
    for arguments in (("--branch", 9), ("--branch", 1, "--refine", "x"), ("--replay", "and words")):
        assert run("ask", "--graph", graph, *kept, *arguments)[0] == 2
    assert len(conversation_turns(journal)) == 3, "what is refused leaves no file"


def test_an_operator_of_a_folder_is_offered_and_taken(run: Run, graph: str, tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "cars_built_at.py").write_text(_CARS_BUILT_AT, encoding="utf-8")
    answer = {"answer": "Ant and Bee.", "of": ["t1"]}
    with StepServer(turn=[calls(("cars_built_at", {"plant": "North"})), answer]) as server:
        code, out, err = run("ask", "Which cars does North build?", *by(server, graph, "--operators", own, "--json"))
        assert code == 0, err
        told = json.loads(out)
        assert "cars_built_at" in told["steps"][1]["operators"] and len(told["results"][0]["rows"]) == 2
        (own / "wrong.py").write_text("import nothing_like_it", encoding="utf-8")
        code, _, err = run("ask", QUESTION, *by(server, graph, "--operators", own))
    assert code == 2 and "wrong.py: it cannot be loaded: ModuleNotFoundError" in "".join(err.split("\n"))


def test_what_is_no_sure_answer_ends_the_command_with_its_code(run: Run, graph: str) -> None:
    with StepServer(turn=[CARS, {"answer": "Cat costs 9.75.", "of": ["t1"]}]) as server:
        code, out, err = run("ask", QUESTION, *by(server, graph))
        assert code == 10 and "answer (ungrounded) Cat costs 9.75." in out and "Do not rely on it" in err
        assert "refused" in out and "9.75" in out
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
        (("x", "--descriptors", "on"), 2, "it was removed"),
        (("x", "--all-operators"), 2, "it was removed"),
        (("x", "--llm-url", "http://127.0.0.1:9/v1"), 2, "--llm-model"),
        (("x", "--llm-model", "m"), 2, "--llm-url"),
        (("x", "--operators", "."), 2, "it needs --llm-model"),
        (("x", "--operators", "absent", "--llm-model", "m"), 2, "there is no operator in it"),
        (("--replay",), 2, "it needs --journal"),
        (("--replay", "--journal", "absent.jsonl"), 2, "there is no such journal"),
        (("--refine", "x", "--journal", "absent.jsonl", "--graph", "GRAPH"), 2, "there is no run to go on from"),
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
        ("accepted: false\n", "it is a draft"),
        ("nodes: {Lorry: {}}\n", "the graph does not have Lorry"),
    ):
        file.write_text(text, encoding="utf-8")
        code, _, err = run("ask", "x", "--graph", graph, "--catalog", file)
        assert code == 2 and said in err
    file.write_text("nodes: {Car: {description: What we sell, properties: {name: {}, price: {}}}}\n", encoding="utf-8")
    with StepServer(turn=[CARS, DEAREST]) as server:
        code, _, err = run("ask", QUESTION, *by(server, graph, "--catalog", file))
        assert code == 0 and "What we sell" in json.dumps(server.bodies), err
