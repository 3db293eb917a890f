"""Answers of models: JSON that is found and repaired; prompts whose examples run on the stores; graphs in prompts; settings."""

import json
import re
from typing import Any

import pytest

from ontology.errors import InvalidArgumentError
from planners.calls.model_text import json_objects
from planners.calls.untrusted import FenceMarks
from planners.kgot.kgot_task import KgotSettings
from planners.kgot.run_state import graph_text
from planners.kgot.steps import prompt_messages, read_operations
from planners.stores.property_graph import GraphEdge, GraphNode, GraphState, state_text
from tests.planners.stores.stores import PARAMS, STORES

TEXTS = {
    'Is it {really}? ```json\n{"a": 1}\n``` I hope this {helps}': [{"a": 1}],
    '{"a": 1} or rather {"a": {"b": 2}}': [{"a": 1}, {"a": {"b": 2}}],
    r"""{"q": "it\'s \x41 C:\dir"}""": [{"q": "it's A C:\\dir"}],
    '{"q": "MATCH (n)\nRETURN\tn"}': [{"q": "MATCH (n)\nRETURN\tn"}],
    '{"a": 1}}]': [{"a": 1}],
    **{
        text: []
        for text in (
            "prose",
            '{"a": [1, 2}',
            '{"a": "MATCH (n',
            '{"a":',
            "{a: 1}",
            '{"a": ' * 5_000,
            '{"a": NaN}',
            "[1]",
        )
    },
}


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_json_is_found_and_nothing_is_guessed(text: str) -> None:
    assert list(json_objects(text)) == TEXTS[text]


def shown(prompt: str, language: str) -> list[Any]:
    """The answers that the examples of a prompt show."""
    system = prompt_messages(prompt, {}, marks=FenceMarks(b"k"), language=language)[0].content
    return [json.loads(each) for each in re.findall(r"<answer>\n(.*?)\n</answer>", system, re.DOTALL)]


@pytest.mark.parametrize("name", PARAMS)
async def test_the_examples_of_the_prompts_run(name: str, request: pytest.FixtureRequest) -> None:
    async with STORES[name](request) as graph:
        await graph.apply(read_operations(*shown("write_graph", "operations")))
        state = await graph.state()
        named = sorted((node.label, *sorted(node.properties.items())) for node in state.nodes)
        assert named == [("Author", ("name", "Ann Reed")), ("Book", ("pages", 210), ("title", "Tides"))]
        assert [edge.type for edge in state.edges] == ["WROTE"]
        queries = [each["query"] for each in shown("write_query", graph.language)]
        queries += [each["content"] for each in shown("next_step", graph.language) if each["query_type"] == "RETRIEVE"]
        assert [(await graph.query(query)).rows for query in queries] == [(("Tides",),)] * 2


ORDERS = [GraphNode(id=f"n{n}", label="Order", properties={"no": n, "open": n % 2 == 0}) for n in range(1, 501)]
FILE = GraphNode(id="n501", label="File", properties={"name": "orders.csv"})
EDGES = [GraphEdge(type="GAVE", source=FILE.id, target=node.id, properties={}) for node in ORDERS]
LARGE = GraphState(nodes=(*ORDERS, FILE), edges=tuple(EDGES))


def test_a_small_graph_stands_whole_in_a_prompt_and_of_a_large_one_counts_and_examples() -> None:
    assert graph_text(LARGE, 100_000) == state_text(LARGE)
    text = graph_text(LARGE, 3_000)
    assert len(text) <= 3_000
    assert (
        "- 500 nodes Order: no (500 values), open (2 values: false, true)\n- 500 relationships (File)-[GAVE]->(Order)"
        in text
    )
    assert '  n1 {"no": 1, "open": false}' in text and "(n501:File)->(n1:Order)" in text and "n400" not in text
    wide = GraphState(nodes=tuple(GraphNode(id=f"n{n}", label=f"L{n}", properties={}) for n in range(900)))
    assert graph_text(wide, 2_000)[1_800:].endswith("more lines are left out)")


WRONG: dict[str, Any] = {
    **dict.fromkeys(("max_iterations", "num_next_steps_decision", "max_final_solution_parsing"), 0),
    **dict.fromkeys(("retrieve", "next_step", "noise"), "guess"),
    **dict.fromkeys(("max_seconds", "max_answer_tokens"), 0),
    "tools": 10,
}


@pytest.mark.parametrize("name", WRONG)
def test_a_value_out_of_range_is_refused_by_its_name(name: str) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        KgotSettings(**{name: WRONG[name]})
    assert caught.value.subject == name
