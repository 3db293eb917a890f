"""Graphs behind engines of their own against the boring oracle: any typed operations give the state that plain rows give."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ontology.errors import StatementError
from planners.graphs.bolt_graph import open_bolt_graph
from planners.graphs.graph_state import state_of_rows
from planners.graphs.property_graph import (
    DeleteEdge,
    DeleteNode,
    InsertEdge,
    InsertNode,
    MergeEdge,
    MergeNode,
    NodeRef,
    Operation,
    PropertyGraph,
    ReplaceGraph,
)
from planners.graphs.property_rows import PropertyRows, apply_typed
from planners.graphs.rdf_graph import open_rdf_graph

_TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=6) | st.sampled_from(
    ["it's", 'a "b"', "back\\slash", "\\u0027", "`", "two\nlines", "%41", "a:b", "</x>"]
)
_NAMES = st.sampled_from(
    ["A", "name", "word of the day", "it's", "a`b", "a\\b", "\\u0060", "größe", "x%20y", "a.b-c", "SERVICE"]
)
_INTEGERS = st.integers(-(2**63), 2**63 - 1)
_FLOATS = st.floats(allow_nan=False, allow_infinity=False)
_LISTS = st.one_of(*(st.lists(each, max_size=3).map(tuple) for each in (_TEXT, _INTEGERS, _FLOATS, st.booleans())))
_VALUES = _TEXT | _INTEGERS | _FLOATS | st.booleans() | _LISTS | st.sampled_from([0, 1, 1.0, True, "1", ()])
_PROPERTIES = st.dictionaries(_NAMES, _VALUES, max_size=3)
_SMALL = st.dictionaries(st.sampled_from(["name", "it's"]), st.sampled_from([1, 1.0, True, "1", (1,)]), max_size=1)
_LABELS = st.sampled_from(["A", "B", "odd `label\\"])
_REFS = st.builds(NodeRef, label=_LABELS, key=_SMALL)
_TYPES = st.sampled_from(["R", "name", "odd `type\\"])
_OPERATIONS: st.SearchStrategy[Operation] = st.one_of(
    st.builds(InsertNode, label=_LABELS, properties=_PROPERTIES | _SMALL),
    st.builds(MergeNode, node=_REFS, properties=_PROPERTIES),
    st.builds(InsertEdge, type=_TYPES, source=_REFS, target=_REFS, properties=_PROPERTIES | _SMALL),
    st.builds(MergeEdge, type=_TYPES, source=_REFS, target=_REFS, properties=_SMALL),
    st.builds(DeleteNode, node=_REFS),
    st.builds(DeleteEdge, type=_TYPES, source=_REFS, target=_REFS, properties=_SMALL),
)
_EXAMPLES = {"bolt": 12, "rdf": 40, "endpoint": 15}


def _opened(kind: str, request: pytest.FixtureRequest) -> AbstractAsyncContextManager[PropertyGraph]:
    if kind == "bolt":
        return open_bolt_graph(request.getfixturevalue("neo4j_address"))
    return open_rdf_graph(request.getfixturevalue("oxigraph_address") if kind == "endpoint" else None)


@pytest.mark.slow
@pytest.mark.parametrize("kind", list(_EXAMPLES))
def test_operations_give_the_state_of_plain_rows(kind: str, request: pytest.FixtureRequest) -> None:
    loop = asyncio.new_event_loop()
    context = _opened(kind, request)
    graph = loop.run_until_complete(context.__aenter__())

    @settings(max_examples=_EXAMPLES[kind])
    @given(st.lists(st.lists(_OPERATIONS, min_size=1, max_size=6), min_size=1, max_size=3))
    def check(calls: list[list[Operation]]) -> None:
        rows = PropertyRows()
        loop.run_until_complete(graph.apply([ReplaceGraph(state=state_of_rows(rows))]))
        for call in calls:
            for operation in call:
                apply_typed(rows, operation)
            loop.run_until_complete(graph.apply(call))
            assert loop.run_until_complete(graph.state()) == state_of_rows(rows)
        state = state_of_rows(rows)
        bad = MergeNode(node=NodeRef(label="A", key={}), properties={"bad": float("nan")})
        with pytest.raises(StatementError):
            loop.run_until_complete(graph.apply([InsertNode(label="A"), bad]))
        assert loop.run_until_complete(graph.state()) == state

    try:
        check()
    finally:
        loop.run_until_complete(context.__aexit__(None, None, None))
        loop.close()
