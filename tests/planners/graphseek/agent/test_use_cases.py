"""The five use cases of section 5.3 of the paper and the failures of its section 6.4, with a model behind HTTP."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import pytest
import pytest_asyncio

from inference.chat import Budget
from planners.graphseek.catalog import PropertyDescriptor, RelationshipDescriptor, SemanticCatalog
from planners.graphseek.llm_turns import LlmTurns
from planners.graphseek.operators.operator import known_operators
from planners.graphseek.question_run import AnsweredQuestion, QuestionParts, answer_question
from planners.graphseek.results import ResultStore
from planners.graphseek.turn import AgentEvent, AgentSettings, Faulted, QueryRun
from planners.stores.ladybug import load_graph, open_ladybug_reader
from tests.harness.http_server import Reply
from tests.planners.graphseek.agent.http_run import calls
from tests.planners.kgot.run_fakes import StepServer
from tests.planners.stores.reading_tables import read_tables

pytestmark = pytest.mark.asyncio(loop_scope="module")
CATALOG = SemanticCatalog(
    about="Manufacturing of electric vehicles.",
    relationships={
        name: RelationshipDescriptor(
            properties={
                "costClass": PropertyDescriptor(values={"planned": "Plan"}),
                "cost": PropertyDescriptor(unit="EUR"),
            }
        )
        for name in ("ASSEMBLED_AT", "INTEGRATED_IN")
    },
)


def named(type_: str, name: str, operator: str = "=") -> dict[str, Any]:
    """A selection of a type by a name."""
    return {"type": type_, "filters": [{"key": "name", "operator": operator, "value": name}]}


@dataclass
class Ran:
    """A run that has ended, what it told, its results, and the server of its model."""

    run: AnsweredQuestion
    events: list[AgentEvent]
    results: ResultStore
    server: StepServer

    def of(self, kind: type[Any]) -> list[Any]:
        return [each for each in self.events if isinstance(each, kind)]


Asks: TypeAlias = Callable[..., Awaitable[Ran]]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def ask(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Asks]:
    """Ask a question of the small graph, with these answers of the model, the last of which stays."""
    path = tmp_path_factory.mktemp("ev") / "ev.lbug"
    load_graph(path, *read_tables(Path(__file__).with_name("small_ev.yaml")))
    operators = tuple(known_operators().values())

    async def asked(question: str, *turns: Any, budget: Budget | None = None, **settings: Any) -> Ran:
        events: list[AgentEvent] = []
        results = ResultStore(tmp_path_factory.mktemp("results"))
        with StepServer(turn=list(turns)) as server:
            llm = LlmTurns(server.chat(budget), fence_key=b"key")
            parts = QuestionParts(graph=graph, catalog=CATALOG, operators=operators, results=results, turns=llm)
            run = await answer_question(question, parts, AgentSettings(**settings), events.append)
        return Ran(run, events, results, server)

    async with open_ladybug_reader(path) as graph:
        yield asked


async def test_grouped_count(ask: Asks) -> None:
    tier = [{"key": "assemblyTier", "operator": "=", "value": 0}]
    counted = [{"grouping_type": "COUNT", "property": "*"}]
    asked = {"node_type": "DriveAssembly", "filters": tier, "group_by": ["factoryCode"], "aggregations": counted}
    told = "Base-tier drive assemblies per factory site:\n- Factory PLANT-EV-01: 2 assemblies\n- Factory PLANT-EV-03: 1 assembly"
    ran = await ask(
        "How many base-tier drive assemblies do we produce at each factory site?",
        calls(("get_nodes", asked)),
        {"answer": told, "of": ["t1"]},
    )
    assert (ran.run.end.outcome, ran.run.end.answer, ran.run.end.of) == ("answered", told, ("t1",))
    assert sorted(await ran.results.rows("t1")) == [("PLANT-EV-01", 2), ("PLANT-EV-03", 1)]
    (query,) = ran.of(QueryRun)
    assert "DriveAssembly" in query.text and 0 in query.parameters.values()
    assert (ran.run.model_calls, ran.run.prompt_tokens, ran.run.completion_tokens) == (2, 22, 10)


async def test_blueprint(ask: Asks) -> None:
    asked = {"start": named("VehicleModel", "EV-X7"), "direction": "in", "max_hops": 3}
    told = "The blueprint of EV-X7 has the main battery module BM-9001 and the drive assembly Motor D21, which integrates BM-9000."
    ran = await ask(
        "Show me the unique manufacturing blueprint for vehicle model EV-X7.",
        calls(("subgraph", asked)),
        calls(("show", {"handle": "t1"})),
        {"answer": told, "of": ["t1"]},
    )
    assert (ran.run.end.outcome, ran.run.end.of) == ("answered", ("t1",)), ran.run.end
    rows = await ran.results.rows("t1")
    assert {str(each) for row in rows for each in row} >= {"EV-X7", "Motor D21", "BM-9000", "BM-9001"}


async def test_the_site_of_the_dearest_module_after_a_comparison_that_rounding_defeats(ask: Asks) -> None:
    most = {"aggregations": [{"grouping_type": "MAX", "property": "marketPrice"}]}
    equal = {"filters": [{"key": "marketPrice", "operator": "=", "value": 99.96}]}
    first = {"order_by": "marketPrice", "descending": True, "limit": 1}
    ran = await ask(
        "At which factory site is the component with the highest market price manufactured?",
        *(calls(("get_nodes", {"node_type": "BatteryModule", **asked})) for asked in (most, equal, first)),
        calls(("traverse", {"start": {"handle": "t3"}, "relationship_types": ["BUILT_AT"]})),
        {"answer": 'It is manufactured at "Factory Alpha - Northern Division".', "of": ["t4"]},
    )
    assert ran.run.end.outcome == "answered", ran.run.end
    (fault,) = ran.of(Faulted)
    assert (fault.step, fault.kind) == (2, "empty") and "order by marketPrice" in fault.hint
    assert fault.hint in ran.server.prompts("turn")[2], "the next step is told"


ALPHA = named("FactorySite", "Factory Alpha - Northern Division")
FAILURES: dict[str, tuple[tuple[str, dict[str, Any]], str, str, tuple[str, dict[str, Any]], str]] = {
    "a wrong kind of entity": (
        ("get_nodes", {"node_type": "FactorySite", "filters": named("", "EV-X7")["filters"]}),
        "",
        "find says which type a name is of",
        ("find", {"text": "EV-X7", "match": "exact"}),
        "EV-X7 is a VehicleModel.",
    ),
    "a near-synonym of a type": (
        ("get_nodes", {"node_type": "BatteryPack"}),
        "unknown name",
        "The nearest is BatteryModule.",
        ("get_nodes", {"node_type": "BatteryModule", "aggregations": [{"grouping_type": "COUNT", "property": "*"}]}),
        "There are 6.",
    ),
    "a swapped direction": (
        ("traverse", {"start": ALPHA, "relationship_types": ["BUILT_AT"], "node_type": "BatteryModule"}),
        "empty",
        "use direction in",
        ("traverse", {"start": ALPHA, "relationship_types": ["BUILT_AT"], "direction": "in"}),
        "BM-9001, BM-9003 and BM-9005 are built there.",
    ),
    "a chain cut short": (
        ("traverse", {"start": named("BatteryModule", "BM-9002"), "node_type": "Region"}),
        "empty",
        "It leads to DriveAssembly, FactorySite, VehicleModel",
        ("traverse", {"start": named("BatteryModule", "BM-9002"), "node_type": "Region", "max_hops": 2}),
        "It affects Southern Europe.",
    ),
}


@pytest.mark.parametrize("name", FAILURES)
async def test_a_failure_is_told_and_the_right_step_solves_it(ask: Asks, name: str) -> None:
    wrong, kind, hint, right, told = FAILURES[name]
    ran = await ask("Which of the six?" if name[2] == "n" else "Which?", calls(wrong), calls(right), {"answer": told})
    assert ran.run.end.outcome == "answered", ran.run.end
    assert [each.kind for each in ran.of(Faulted)] == [kind] * bool(kind)
    assert hint in ran.server.prompts("turn")[1]


async def test_a_model_that_loops_asks_the_graph_once(ask: Asks) -> None:
    ran = await ask("Which?", calls(("get_nodes", {"node_type": "Region"})), max_steps=4)
    assert ran.run.end.outcome == "no answer" and len(ran.of(QueryRun)) == 1
    assert [each.kind for each in ran.of(Faulted)] == ["repeated"] * 3
    may_call = ['"calls"' in json.dumps(body["response_format"]) for body in ran.server.of("turn")]
    assert may_call == [True, True, False, False], "the schema leaves a model that repeats itself an answer alone"


async def test_cypher_comes_after_three_failed_steps_and_cannot_write(ask: Asks) -> None:
    wrong = [calls(("get_nodes", {"node_type": "Region", "limit": -at})) for at in range(3)]
    delete = calls(("cypher", {"text": "MATCH (r:Region) DETACH DELETE r"}))
    count = calls(("cypher", {"text": "MATCH (r:Region) RETURN r.name AS name, count(*) AS n ORDER BY name"}))
    ran = await ask("Which?", *wrong, delete, count, {"answer": "Northern Europe and Southern Europe, 1 each."})
    assert ran.run.end.outcome == "answered", ran.run.end
    offered = ['"cypher"' in json.dumps(body["response_format"]) for body in ran.server.of("turn")]
    assert offered == [False] * 3 + [True] * 3
    refused = ran.of(Faulted)[-1]
    assert (refused.kind, refused.step) == ("engine", 4) and "changes the graph" in refused.problem
    assert await ran.results.rows("t5") == [("Northern Europe", 1), ("Southern Europe", 1)]


async def test_budget_and_refusal(ask: Asks) -> None:
    turn = calls(("get_nodes", {"node_type": "Region"}))
    spent = await ask("Which?", turn, budget=Budget(max_tokens=10))
    assert spent.run.end.outcome == "budget" and spent.server.steps == []
    late = await ask("Which?", Reply(hang=True), max_seconds=0.1)
    assert late.run.end.outcome == "deadline"
    refused = await ask("Which?", Reply(status=401))
    assert refused.run.end.outcome == "model" and "401" in refused.run.end.missing


@pytest.mark.parametrize(
    "said",
    [
        "<think>Is it Asia? I do not know.</think>\nNorthern Europe",
        'Let me answer: {"answer": "Northern Europe", "of": ["t1"]}. That is all.',
        '<think>{"calls": []}</think>```json\n{"answer": "Northern Europe"}\n```',
    ],
)
async def test_an_answer_stands_behind_thoughts_and_amid_prose(ask: Asks, said: str) -> None:
    ran = await ask("Which?", calls(("get_nodes", {"node_type": "Region"})), said)
    assert (ran.run.end.outcome, ran.run.end.answer) == ("answered", "Northern Europe")


@pytest.mark.parametrize("said", ["I do not know.", "<think>Northern Europe", {"answer": "Sorry, I don't know"}])
async def test_thoughts_alone_and_not_knowing_are_no_answer(ask: Asks, said: Any) -> None:
    ran = await ask("Which?", said, max_steps=2)
    assert ran.run.end.outcome == "no answer" and len(ran.of(Faulted)) == 2
