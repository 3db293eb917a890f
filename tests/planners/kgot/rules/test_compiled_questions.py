"""Compiled queries give what a plain walk over the rows gives: in Cypher on Ladybug, in SPARQL on Oxigraph, in Python over NetworkX."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from planners.graphs.cypher_names import quoted_name
from planners.graphs.ladybug.ladybug_graph import LadybugGraph
from planners.graphs.property_graph import InsertEdge, InsertNode, MergeNode, NodeRef, Operation
from planners.graphs.rdf.rdf_graph import open_rdf_graph
from planners.kgot.asked import Comparison, Measure
from planners.kgot.rules.compiled_question import compiled, compiled_sum
from planners.kgot.rules.cypher_question import cypher_of
from planners.kgot.rules.graph_facts import compare
from planners.kgot.rules.resolved_question import (
    AnswerOrder,
    CallCondition,
    CallJoin,
    Condition,
    PropertyCondition,
    ReferenceJoin,
    ResolvedQuestion,
)

Row = Mapping[str, Any]

_TEXTS = st.sampled_from(["North", "north", 'it\'s "so"', "back\\slash", "ü{n}", "Ends in `"])
_HOUSES = st.lists(
    st.fixed_dictionaries({"region": _TEXTS, "rooms": st.integers(-3, 9), "price": st.sampled_from([0.5, 2.0, 7.25])}),
    min_size=1,
    max_size=6,
)
_OPERATORS = st.sampled_from(["=", "<", "<=", ">", ">="])
_CONDITIONS = st.lists(
    st.one_of(
        st.builds(lambda text: PropertyCondition(variable="h", property="region", operator="=", value=text), _TEXTS),
        st.just(PropertyCondition(variable="h", property="region", operator="contains", value="OR")),
        st.builds(
            lambda operator, number: PropertyCondition(variable="h", property="rooms", operator=operator, value=number),
            _OPERATORS,
            st.integers(-3, 9),
        ),
    ),
    max_size=2,
)
_MEASURES = st.sampled_from(["find", "count", "sum", "mean", "least", "most"])


def _asked(measure: Measure, conditions: Sequence[Condition], **more: Any) -> ResolvedQuestion:
    name = "" if measure == "count" else "price"
    return ResolvedQuestion(
        labels={"h": "House"}, conditions=tuple(conditions), variable="h", measure=measure, property=name, **more
    )


def _written(houses: Sequence[Row]) -> list[Operation]:
    return [
        MergeNode(node=NodeRef(label="House", key={"row": row, "of": "x"}), properties=dict(house))
        for row, house in enumerate(houses)
    ]


def _meets(house: Row, each: Condition) -> bool:
    assert isinstance(each, PropertyCondition)
    return compare(house[each.property], each.operator, each.value)


def _truth(houses: Sequence[Row], question: ResolvedQuestion) -> list[Any]:
    prices = [house["price"] for house in houses if all(_meets(house, each) for each in question.conditions)]
    found: dict[str, list[Any]] = {
        "find": sorted(prices),
        "count": [len(prices)],
        "sum": [sum(prices)],
        "mean": [sum(prices) / len(prices) if prices else None],
        "least": [min(prices, default=None)],
        "most": [max(prices, default=None)],
    }
    return found[question.measure]


async def _cypher(operations: Sequence[Operation], *questions: ResolvedQuestion) -> list[list[Any]]:
    graph = LadybugGraph()
    try:
        await graph.apply(operations)
        found = []
        for question in questions:
            rows = (await graph.query(compiled(question, "cypher"))).rows
            found.append([row[0] if len(row) == 1 else row for row in rows])
        return found
    finally:
        await graph.close()


async def _sparql(operations: Sequence[Operation], *questions: ResolvedQuestion) -> list[list[Any]]:
    async with open_rdf_graph() as graph:
        await graph.apply(operations)
        found = []
        for question in questions:
            rows = (await graph.query(compiled(question, "sparql"))).rows
            found.append([row[0] if len(row) == 1 else row for row in rows])
        return found


def _python(operations: Sequence[Operation], question: ResolvedQuestion) -> list[Any]:
    """Run the script over the same graph here: what it may do is tested with the sandbox."""
    import networkx

    names = itertools.count()
    graph: Any = networkx.MultiDiGraph()
    for each in operations:
        if isinstance(each, MergeNode):
            graph.add_node(next(names), label=each.node.label, **{**each.node.key, **each.properties})
        elif isinstance(each, InsertNode):
            graph.add_node(next(names), label=each.label, **each.properties)
        elif isinstance(each, InsertEdge):
            ends = [
                next(
                    name
                    for name, data in graph.nodes(data=True)
                    if data["label"] == end.label and all(data.get(key) == value for key, value in end.key.items())
                )
                for end in (each.source, each.target)
            ]
            graph.add_edge(*ends, type=each.type)
    space: dict[str, Any] = {"G": graph}
    exec(compiled(question, "python"), space)
    return [next(iter(row.values())) if len(row) == 1 else tuple(row.values()) for row in space["result"]]


def _held(values: Sequence[Any]) -> list[Any]:
    """Values without nothing: of nothing engines say no row, no value, or 0."""
    return [each for each in values if each]


def _close(found: Sequence[Any], wanted: Sequence[Any]) -> bool:
    return found == pytest.approx(wanted) if None not in [*found, *wanted] else list(found) == list(wanted)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(_HOUSES, st.lists(st.tuples(_MEASURES, _CONDITIONS), min_size=1, max_size=8))
def test_measures_of_rows_are_those_of_a_plain_walk(
    houses: list[Row], asked: list[tuple[Measure, list[Condition]]]
) -> None:
    questions = [_asked(measure, conditions) for measure, conditions in asked]
    operations = _written(houses)
    engines = [asyncio.run(ask(operations, *questions)) for ask in (_cypher, _sparql)]
    for question, *answers in zip(questions, *engines, strict=True):
        wanted = _truth(houses, question)
        for found in answers:
            assert _close(found, wanted) or not any(_held(wanted) + _held(found)), compiled(question, "sparql")
        assert _close(_python(operations, question), wanted)


_HOUSES_OF_TWO = [
    {"region": "West", "rooms": 3, "price": 2.5},
    {"region": "West", "rooms": 5, "price": 4.0},
    {"region": "East", "rooms": 4, "price": 1.0},
]


def _in(region: str) -> tuple[Condition, ...]:
    return (PropertyCondition(variable="h", property="region", operator="=", value=region),)


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        (_asked("sum", (), groups=(_in("west"), _in("EAST")), combination="difference"), [(6.5, 1.0)]),
        (_asked("count", (), groups=(_in("west"), ()), combination="share"), [(2, 3)]),
        (_asked("mean", (), groups=(_in("west"), _in("east")), combination="difference"), [(3.25, 1.0)]),
        (
            _asked("find", (), order=AnswerOrder(variable="h", property="rooms", descending=True, nth=1)),
            [(4.0, 5)],
        ),
        (
            _asked("find", (), order=AnswerOrder(variable="h", property="rooms", descending=False, nth=2)),
            [(1.0, 4)],
        ),
    ],
    ids=["difference", "share", "difference of means", "most", "second"],
)
def test_groups_and_orders(question: ResolvedQuestion, wanted: list[Any]) -> None:
    operations = _written(_HOUSES_OF_TWO)
    assert asyncio.run(_cypher(operations, question)) == [wanted]
    assert asyncio.run(_sparql(operations, question)) == [wanted]
    assert _python(operations, question) == wanted


@pytest.mark.parametrize(
    ("descending", "region", "wanted"),
    [(True, "", [(1.0, 5), (4.0, 5)]), (False, "", [(2.5, 3)]), (True, "west", [(4.0, 5)])],
)
def test_all_that_share_the_foremost_place_are_answers(
    descending: bool, region: str, wanted: list[tuple[float, int]]
) -> None:
    order = AnswerOrder(variable="h", property="rooms", descending=descending, nth=1)
    question = _asked("find", _in(region) if region else (), order=order)
    operations = _written([*_HOUSES_OF_TWO[:2], {**_HOUSES_OF_TWO[2], "rooms": 5}])
    assert asyncio.run(_cypher(operations, question)) == [wanted]
    assert asyncio.run(_sparql(operations, question)) == [wanted]
    assert _python(operations, question) == wanted


def _company() -> list[Operation]:
    def call(tool: str, argument: str, value: str) -> InsertNode:
        return InsertNode(label="ToolCall", properties={"tool": tool, argument: value})

    def tie(kind: str, source: NodeRef, target: NodeRef) -> InsertEdge:
        return InsertEdge(type=kind, source=source, target=target)

    people = {name: NodeRef(label="Person", key={"personId": name}) for name in ("p1", "p2", "p3")}
    homes = {name: NodeRef(label="Home", key={"homeId": name}) for name in ("h1", "h2")}
    asked = [NodeRef(label="ToolCall", key={"tool": "boss", "arg_id": name}) for name in ("p1", "p2")]
    found = NodeRef(label="ToolCall", key={"tool": "find"})
    return [
        InsertNode(label="Person", properties={"personId": "p1", "firstName": "Ada", "lastName": "Berg"}),
        InsertNode(label="Person", properties={"personId": "p2", "name": "Bo"}),
        InsertNode(label="Person", properties={"personId": "p3"}),
        *(InsertNode(label="Home", properties={"homeId": name}) for name in homes),
        call("boss", "arg_id", "p1"),
        call("boss", "arg_id", "p2"),
        call("find", "arg_q", "Oslo"),
        tie("HOME", people["p1"], homes["h1"]),
        tie("HOME", people["p2"], homes["h1"]),
        tie("HOME", people["p3"], homes["h2"]),
        tie("GAVE", asked[0], people["p2"]),
        tie("GAVE", asked[1], people["p3"]),
        tie("GAVE", found, homes["h1"]),
    ]


_NAMES = (("name",), ("firstName", "lastName"), ("personId",))
_LIVES = ReferenceJoin(source="p", type="HOME", target="h")
_BOSS = CallJoin(known="p", identifier="personId", tool="boss", argument="arg_id", given="b")


@pytest.mark.parametrize(
    ("labels", "conditions", "variable", "wanted"),
    [
        ({"p": "Person"}, (), "p", ["Ada Berg", "Bo", "p3"]),
        (
            {"p": "Person", "h": "Home"},
            (_LIVES, CallCondition(variable="h", tool="find", argument="arg_q", value="oslo")),
            "p",
            ["Ada Berg", "Bo"],
        ),
        ({"p": "Person", "b": "Person"}, (_BOSS,), "b", ["Bo", "p3"]),
        (
            {"p": "Person", "b": "Person", "h": "Home"},
            (_LIVES, _BOSS, CallCondition(variable="h", tool="find")),
            "b",
            ["Bo", "p3"],
        ),
        ({"h": "Home"}, (CallCondition(variable="h", tool="boss"),), "h", []),
    ],
    ids=["names", "edge and call", "given by a call", "all", "nothing"],
)
def test_joins(labels: dict[str, str], conditions: tuple[Condition, ...], variable: str, wanted: list[str]) -> None:
    names = _NAMES if labels[variable] == "Person" else (("homeId",),)
    question = ResolvedQuestion(labels=labels, conditions=conditions, variable=variable, names=names)
    operations = _company()
    assert asyncio.run(_cypher(operations, question)) == [wanted]
    assert asyncio.run(_sparql(operations, question)) == [wanted]
    assert _python(operations, question) == wanted


def test_a_sum_is_handed_on_as_it_is() -> None:
    async def asked() -> Any:
        graph = LadybugGraph()
        try:
            return (await graph.query(compiled_sum('2 * (3 + 4) "', "cypher"))).rows
        finally:
            await graph.close()

    assert asyncio.run(asked()) == (('2 * (3 + 4) "',),)


@pytest.mark.parametrize("operator", ["=", "<", "<=", ">", ">=", "contains"])
def test_a_number_is_never_compared_with_a_word(operator: Comparison) -> None:
    assert not compare(3, operator, "three") or operator == "contains"


def test_names_with_backticks_are_asked_for_as_they_are() -> None:
    asked = ResolvedQuestion(labels={"x": "a`b"}, conditions=(), variable="x", measure="count")
    assert cypher_of(asked).startswith("MATCH (`x`:`a``b`)")
    assert [quoted_name("a\\`", of) for of in ("ladybug", "bolt")] == ["`a\\```", "`a\\u005C```"]
