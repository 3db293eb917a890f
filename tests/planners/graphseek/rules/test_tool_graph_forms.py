"""Questions on the tool graph: what tools change, by their methods, and tools with several parameters; truths from the snapshot."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

import networkx as nx
import pytest

from retrieval.snapshot.reader import Snapshot, open_snapshot
from retrieval.snapshot.to_networkx import snapshot_graph
from services.jobs.tool_graph_file import tool_graph_file
from tests.planners.graphseek.rules.rule_runs import Answered, answer_all

CHANGES = ("Which tools change something?", "Which tools write?")
MOST = "Which line of business has the most tools that write?"
READS = "Which tools do not change anything?"
BOTH = ("Which tools take the parameter supplierId and the parameter plant?", "Which tools take supplierId and plant?")
EITHER = "Which tools take the parameter supplierId or the parameter plant?"
FIRST = "Which tools take the parameter supplierId but not the parameter plant?"


@pytest.fixture(scope="module")
def snapshot(company_store: Path) -> Snapshot:
    return open_snapshot(company_store)


@pytest.fixture(scope="module")
def graph(snapshot: Snapshot) -> nx.MultiDiGraph[str]:
    return snapshot_graph(snapshot)


@pytest.fixture(scope="module")
def answers(company_store: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Answered]:
    folder = tmp_path_factory.mktemp("tools")
    address = f"ladybug:{tool_graph_file(company_store, folder / 'graphs')}"
    asked = [[each] for each in (*CHANGES, MOST, READS, *BOTH, EITHER, FIRST)]
    return asyncio.run(answer_all(address, folder, asked))


def _found(answered: Answered) -> set[str]:
    return {str(each) for each in answered.tables[0]["id"]}


@pytest.mark.parametrize("question", CHANGES)
def test_what_changes_something_has_all_methods_that_write_and_none_that_reads(
    snapshot: Snapshot, answers: dict[str, Answered], question: str
) -> None:
    methods = {each.id: each.call.method for each in snapshot.tools if each.call and each.call.method}
    written = {name for name, method in methods.items() if method != "GET"}
    assert {"POST", "PUT", "PATCH", "DELETE"} <= set(methods.values())
    assert _found(answers[question]) & set(methods) == written
    assert "whose effect is not known: 6" in answers[question].text
    assert not _found(answers[READS]) & written


def test_what_is_counted_has_the_condition_behind_it(graph: nx.MultiDiGraph[str], answers: dict[str, Answered]) -> None:
    written = [f"tool:{each}" for each in _found(answers[CHANGES[0]])]
    edges = graph.out_edges(written, data=True)
    lines = Counter(line for _, line, each in edges if each["predicate"] == "has_line_of_business")
    most = max(lines.values())
    first = {graph.nodes[line]["name"] for line, number in lines.items() if number == most}
    assert set(answers[MOST].tables[0]["name"]) == first
    assert set(answers[MOST].tables[0]["count"]) == {most}


def _takers(graph: nx.MultiDiGraph[str], parameter: str) -> set[str]:
    """Tools that take a parameter, whatever the case of its name."""
    named = [
        node
        for node, each in graph.nodes(data=True)
        if each["type"] == "parameter" and each["name"].casefold() == parameter.casefold()
    ]
    edges = graph.in_edges(named, data=True)
    return {tool.removeprefix("tool:") for tool, _, each in edges if each["predicate"] == "has_parameter"}


def test_a_second_parameter_in_plain_words_is_read(graph: nx.MultiDiGraph[str], answers: dict[str, Answered]) -> None:
    one, other = _takers(graph, "supplierId"), _takers(graph, "plant")
    assert len(one & other) < len(one)
    assert [_found(answers[each]) for each in BOTH] == [one & other] * 2
    assert _found(answers[EITHER]) == one | other
    assert _found(answers[FIRST]) == one - other
