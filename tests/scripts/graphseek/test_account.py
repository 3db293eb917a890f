"""The account of GraphSeek: a model that knows the plans loses nothing to the harness, rows go on, and the page is made of figures alone."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from planners.graphseek.agent.agent_settings import AgentSettings
from planners.graphseek.operators.operator_registry import known_operators
from scripts.account.kept_rows import KeptRows
from scripts.document_blocks import replace_block
from scripts.graphseek.account_graph import AccountGraph, ev_file, open_account_graph
from scripts.graphseek.asked_systems import SYSTEMS
from scripts.graphseek.ev_plans import ev_plan
from scripts.graphseek.graphseek_page import FIGURES, PAGE, page_blocks
from scripts.graphseek.operator_cases import operator_cases
from scripts.graphseek.operator_speed import overhead_ratio, play
from scripts.graphseek.plan_model import planned_answer
from scripts.graphseek.question import Truth
from scripts.graphseek.real_account import measure_real
from scripts.graphseek.rules_account import measure_rules, random_section
from scripts.graphseek.timed_graph import read_all
from scripts.graphseek.token_account import token_section
from tests.planners.kgot.run_fakes import FakeFinder, StepServer, tool

_SMALL = 0.1  # of the graph: the smallest size at which all 15 questions have parameters
_FEW = 10


@pytest.fixture(scope="module")
def loop() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory, loop: asyncio.Runner) -> Iterator[AccountGraph]:
    context = open_account_graph("ev", *ev_file(tmp_path_factory.mktemp("graphs"), _SMALL))
    yield loop.run(context.__aenter__())
    loop.run(context.__aexit__(None, None, None))


def _oracle(graph: AccountGraph) -> StepServer:
    """A server that says what the plan of the question says, whichever system asks."""
    plans = {each.text: ev_plan(each) for each in graph.questions}

    def answer(name: str) -> Any:
        def of(body: Mapping[str, Any], nth: int) -> Any:
            (text,) = (each for each in plans if f"Question: {each}" in body["messages"][1]["content"])
            talk = [each["role"] for each in body["messages"]]
            steps = body["messages"][1]["content"].count("\nStep ") if name == "turn" else talk.count("assistant")
            return planned_answer(plans[text], name, steps)

        return of

    return StepServer(turn=answer("turn"), query=answer("query"))


def test_a_model_that_knows_the_plans_answers_everything_in_every_system_and_rows_go_on(
    graph: AccountGraph, loop: asyncio.Runner, tmp_path: Path
) -> None:
    few = replace(graph, questions=graph.questions[-_FEW:])
    # The search is faked: it finds what the plans need. Whether the real one does is measured by scripts.graphseek.token_account.
    found = FakeFinder(*map(tool, ("degree", "aggregate_neighbours", "time_slice")))
    path = tmp_path / "real.jsonl"

    async def run(server: StepServer) -> None:
        rows = KeptRows(path, "run", "question", "system")
        settings = AgentSettings()
        finders = {False: found, True: found}
        await measure_real([few], finders, server.chat(), rows, runs=1, settings=settings, attempts=2)

    with _oracle(few) as server:
        loop.run(run(server))
        calls = len(server.steps)
        loop.run(run(server))  # everything has a row: nobody is asked
        assert len(server.steps) == calls
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert {(each["system"], each["question"]) for each in rows} == {
        (system, question.id) for system in SYSTEMS for question in few.questions
    }
    assert [(each["system"], each["question"], each["outcome"]) for each in rows if not each["whole"]] == []
    assert all(each["paper"] and each["asked"] and each["prompt_tokens"] for each in rows)
    blocks = page_blocks({"real": rows})
    assert f"{_FEW} of {_FEW} (72–100 %) | {_FEW} of {_FEW} (72–100 %)" in blocks["real"]
    assert f"+0 points (n = {_FEW})" in blocks["real"] and "EV graph: " in blocks["real-families"]


def test_rules_are_measured_with_each_wording_both_catalogs_and_random_parameters(
    graph: AccountGraph, loop: asyncio.Runner, tmp_path: Path
) -> None:
    few = replace(graph, questions=[each for each in graph.questions if each.id == "ev-07"])
    nobody = replace(few.questions[0], truth=Truth(kind="names", parts=((),)))
    rows = KeptRows(tmp_path / "rules.jsonl", "question", "wording", "sample")
    loop.run(measure_rules([few], [*few.questions, nobody], rows))
    wordings = ["asked", "paraphrase", "second paraphrase", "asked, drafted catalog", "paraphrase, drafted catalog"]
    assert [each["wording"] for each in rows] == [*wordings, "random parameters", "random parameters"]
    section = random_section(rows)
    assert section == [{"question": "ev-07", "drawn": 2, "is_none": 1, "paper": 1, "whole": 1}]
    blocks = page_blocks({"random": section, "rules": list(rows)})
    assert blocks["random"].endswith("| ev-07 | 1 of 2 | 1 of 2 | 1 of 2 |\n| all | 1 of 2 | 1 of 2 | 1 of 2 |")
    assert blocks["rules"].count("1 of 1") == 2 * len(wordings)


def test_the_first_run_is_shown_by_graph_and_altogether() -> None:
    outcomes = {"ev": "answered", "countries": "unreadable: so", "tool_graph": "asked back"}
    rows = [{"graph": graph, "paper": True, "whole": graph == "ev", "outcome": outcomes[graph]} for graph in outcomes]
    block = page_blocks({"first_run": {"commit": "0123abcd", "rows": rows}})["first-run"]
    assert block.startswith("Second paraphrases, at commit 0123abcd.")
    assert "| all | 3 of 3 (44–100 %) | 1 of 3 (6–79 %) | 2 of 3 |" in block


def test_each_case_of_the_benchmark_runs_and_its_query_by_hand_gives_rows(
    graph: AccountGraph, loop: asyncio.Runner
) -> None:
    cases = operator_cases(graph.questions)
    data = {name for name, each in known_operators().items() if each.group == "graph data"}
    assert {each.operator for each in cases} == data
    for case in cases:
        assert loop.run(read_all(graph.graph, case.cypher)), case.operator


def test_time_beside_the_queries_is_measured(graph: AccountGraph, loop: asyncio.Runner) -> None:
    few = [each for each in graph.questions if each.id in ("ev-04", "ev-06")]
    small = replace(graph, questions=few)
    ratio = loop.run(overhead_ratio(small, 1))
    assert ratio.above > 0 and ratio.below > 0
    wrong = ev_plan(few[0]).steps[0]
    with pytest.raises(RuntimeError, match="get_nodes failed"):
        bad = type(wrong)(operator="get_nodes", arguments={**wrong.arguments, "node_type": "Nothing"})
        loop.run(play(small, [bad]))


def test_token_figures_and_blocks() -> None:
    row = {"system": "all bound", "solved": True, "prompts": 2, "schemas": 100, "looked_up": 1, "offered": 1}
    used = {0.1: (98, 101), 1: (100, 100), 10: (102, 100)}
    kept = [
        {**row, "scale": scale, "question": f"ev-0{number}", "messages": messages}
        for scale, found in used.items()
        for number, messages in enumerate(found, start=1)
    ]
    kept.append(
        {**row, "scale": 1, "question": "ev-01", "messages": 50, "schemas": 50, "system": "basic", "offered": 0}
    )
    blocks = page_blocks({"tokens": token_section(kept)})
    assert "| 0.1 × | 4 | 199 | -0.50 % | -2.00 % to +1.00 % | 1 of 2 | 200 |" in blocks["constant-context"]
    assert blocks["constant-context"].endswith("is met.")
    assert "| ev-01 | 98 (-2.00 %) | 100 (+0.00 %) | 102 (+2.00 %) |" in blocks["constant-questions"]
    assert "| 25 | 25 | 0 of 1 | 1 of 1 |" in blocks["lookup"]
    kept[0]["messages"] = 90
    assert page_blocks({"tokens": token_section(kept)})["constant-context"].endswith("is **missed**.")
    assert set(page_blocks({}).values()) == {"Not measured yet."}


def test_the_page_is_what_its_figures_give(tmp_path: Path) -> None:
    copy = tmp_path / "graphseek.md"
    copy.write_bytes(PAGE.read_bytes())
    figures = json.loads(FIGURES.read_text(encoding="utf-8")) if FIGURES.exists() else {}
    for name, text in page_blocks(figures).items():
        replace_block(copy, name, text)
    assert copy.read_text(encoding="utf-8") == PAGE.read_text(encoding="utf-8")
