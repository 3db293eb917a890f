from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planners.calls.model_text import PromptTokens
from planners.graphseek.results.result import GraphPart, ResultEdge, ResultNode
from planners.graphseek.results.result_store import ResultStore
from planners.graphseek.results.summaries import graph_summary
from tests.planners.graphseek.results.stores import column, kept

TOKENS = PromptTokens()
NASTY = st.text(st.sampled_from('a\n\t\r\u2028\u0085\u202e\x00\x1b\u200b한𝔘🚗\U000e0041"\\|\udce9'), max_size=40).map(
    lambda text: text * 200
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ResultStore]:
    opened = ResultStore(tmp_path_factory.mktemp("run"))
    yield opened
    opened.close()


@settings(max_examples=25, deadline=None)
@given(
    names=st.lists(NASTY, min_size=1, max_size=3),
    width=st.sampled_from([1, 7, 200]),
    cells=st.lists(NASTY, max_size=12),
    title=NASTY,
    notes=st.lists(NASTY, max_size=3),
)
def test_the_summary_of_a_table_is_bounded(
    store: ResultStore, names: list[str], width: int, cells: list[str], title: str, notes: list[str]
) -> None:
    columns = [column(f"{names[at % len(names)]}{at}") for at in range(width)]
    rows = [tuple([cell] * width) for cell in cells]

    async def run() -> tuple[str, str]:
        first, second = [await kept(store, columns, rows, title=title) for _ in range(2)]
        return first.summary.replace(first.handle, "t"), second.summary.replace(second.handle, "t")

    summary, again = asyncio.run(run())
    assert TOKENS.count(summary) <= 600
    assert summary == again
    assert all(line.isprintable() for line in summary.split("\n"))
    known = ("t: ", "rows", "columns:", "- ", "and ", '"')
    assert all(line.startswith(known) for line in summary.split("\n"))


def test_graph_summary_has_the_fields_of_the_paper() -> None:
    nodes = [
        ResultNode(id=f"4:{n}", type="BatteryModule", properties={"cost": n / 7, "name": f"BM-{n}"}) for n in range(40)
    ]
    nodes.append(ResultNode(id="4:99", type="VehicleModel", properties={"name": "Model Z3", "key": "EV-Z3"}))
    edges = [ResultEdge(type="INTEGRATED_IN", source=f"4:{n}", target="4:99") for n in range(40)]
    part = GraphPart(nodes=tuple(nodes), edges=tuple(edges))
    text = graph_summary("g4", "around Model Z3", part, cut=True, notes=["3 hops"])
    summary = json.loads(text)
    assert list(summary) == ["summary", "graph_handle", "preview_graph_stats", "preview_graph", "notes"]
    assert summary["graph_handle"] == "g4"
    assert summary["preview_graph_stats"] == {
        "nodes": 41,
        "relationships": 40,
        "node_types": {"BatteryModule": 40, "VehicleModel": 1},
        "relationship_types": {"INTEGRATED_IN": 40},
    }
    first, second = summary["preview_graph"]["nodes"][:2]
    assert first == {"id": "n1", "type": "BatteryModule", "name": "BM-0", "cost": 0.0}
    assert second == {"id": "n2", "type": "VehicleModel", "name": "Model Z3", "key": "EV-Z3"}
    assert summary["preview_graph"]["relationships"][0] == {"type": "INTEGRATED_IN", "source": "n1", "target": "n2"}
    assert summary["notes"] == ["There was more: the graph is cut.", "3 hops"]


@settings(max_examples=25, deadline=None)
@given(texts=st.lists(NASTY, min_size=1, max_size=4), nodes=st.integers(0, 30), keys=st.integers(0, 40))
def test_the_summary_of_a_graph_is_bounded(texts: list[str], nodes: int, keys: int) -> None:
    def text(at: int) -> str:
        return texts[at % len(texts)]

    part = GraphPart(
        nodes=tuple(
            ResultNode(id=str(n), type=f"{text(n)}{n}", properties={f"{text(k)}{k}": text(k + n) for k in range(keys)})
            for n in range(nodes)
        ),
        edges=tuple(ResultEdge(type=f"{text(n)}{n}", source=str(n), target=str((n * 7) % nodes)) for n in range(nodes)),
    )
    summary = graph_summary("g1", text(0), part, cut=False, notes=texts)
    assert TOKENS.count(summary) <= 600
    assert summary.isprintable()
    assert json.loads(summary)["preview_graph_stats"]["nodes"] == nodes
