"""Paths: what every path must be, what each class asks for, and what becomes of poor catalogues."""

from collections import Counter
from dataclasses import replace

import pytest

from datagen.catalogue import ProfiledCatalogue
from datagen.paths.edges import build_rp_graph
from datagen.paths.outputs import OutputRules
from datagen.paths.sampler import FoundPaths, find_paths
from datagen.paths.sequence import SequenceRules, state_check
from datagen.requests import CLASSES, MAX_TOOLS, PathEdge, ToolLinks, ToolPath
from ontology.errors import InvalidArgumentError
from ontology.tool import Tool
from tests.datagen.catalogues import catalogue_of, tool

STEPPED = ("explicit-multi-step", "implicit-multi-step", "conditional-multi-step")
EACH = 60


def _found(catalogue: ProfiledCatalogue, count: int, *, seed: int = 0) -> tuple[ToolLinks, FoundPaths]:
    rp = build_rp_graph(catalogue, OutputRules(catalogue).find())
    sequence = SequenceRules(catalogue, rp)
    return rp, find_paths(catalogue, rp, sequence, wanted=dict.fromkeys(CLASSES, count), seed=seed)


@pytest.fixture(scope="module")
def made(shipped: ProfiledCatalogue) -> tuple[ToolLinks, FoundPaths]:
    return _found(shipped, EACH)


def _paths(found: FoundPaths, *names: str) -> list[ToolPath]:
    return [path for name in names or CLASSES for path in found.by_class[name]]


def _is_check(edge: PathEdge, catalogue: ProfiledCatalogue) -> bool:
    """Whether the first tool only tells the state on which a change of the same thing depends."""
    return state_check(catalogue, edge.source, edge.target) == edge


def test_as_many_as_wanted_are_found_and_no_two_of_a_class_have_the_same_tools(
    made: tuple[ToolLinks, FoundPaths],
) -> None:
    for paths in made[1].by_class.values():
        assert len(paths) == len({frozenset(path.tools) for path in paths}) == EACH


def test_every_path_has_distinct_tools_and_runs_in_order_over_edges_that_are_there(
    made: tuple[ToolLinks, FoundPaths], shipped: ProfiledCatalogue
) -> None:
    rp, found = made
    known = set(rp.edges)
    for path in _paths(found):
        assert len(set(path.tools)) == len(path.tools) <= MAX_TOOLS
        assert all(tool_id in shipped for tool_id in path.tools)
        for edge in path.edges:
            assert edge in known or _is_check(edge, shipped)
            assert path.tools.index(edge.source) < path.tools.index(edge.target)
        filled = [(edge.target, edge.parameter) for edge in path.edges if edge.kind == "R-P"]
        assert len(filled) == len(set(filled))


def test_shapes_are_what_they_say(made: tuple[ToolLinks, FoundPaths]) -> None:
    shapes = Counter[str]()
    for path in _paths(made[1], *STEPPED):
        shapes[path.shape] += 1
        pairs = {(edge.source, edge.target) for edge in path.edges}
        into, out = Counter(target for _, target in pairs), Counter(source for source, _ in pairs)
        if path.shape == "chain":
            assert pairs == set(zip(path.tools, path.tools[1:], strict=False))
        elif path.shape == "join":
            assert into == {path.tools[-1]: 2} and len(path.tools) == 3
        else:
            assert path.shape == "fan" and out == {path.tools[0]: len(path.tools) - 1} and len(path.tools) >= 3
    assert set(shapes) == {"chain", "join", "fan"}


def test_coverage_is_even_and_unused_tools_have_reasons(
    made: tuple[ToolLinks, FoundPaths], shipped: ProfiledCatalogue
) -> None:
    _, found = made
    used = {tool_id for path in _paths(found) for tool_id in path.tools}
    assert {shipped.group(tool_id) for tool_id in used} == {shipped.group(one.id) for one in shipped.tools}
    unused = [rejection for rejection in found.rejected if rejection.stage == "path" and len(rejection.subject) == 1]
    assert {rejection.subject[0] for rejection in unused} == {one.id for one in shipped.tools} - used
    for name in ("single-intent", "multi-intent"):
        assert len({tool_id for path in found.by_class[name] for tool_id in path.tools}) >= EACH
    uses = Counter(tool_id for path in found.by_class["single-intent"] for tool_id in path.tools)
    assert max(uses.values()) == 1


POOR: dict[str, list[Tool]] = {
    "no tool": [],
    "one tool": [tool("get_order", "order_id", "order_id")],
    "no parameters": [tool("ping"), tool("pong"), tool("status")],
    "all alike": [tool(f"get_order_{number}", "order_id", "order_id") for number in range(12)],
    "not English": [
        tool("注文検索", "検索語", "注文番号", description="注文を探します"),
        tool("注文取消", "注文番号", description="注文を取り消します"),
        tool("найти_заказ", "запрос", "номер_заказа"),
    ],
}


@pytest.mark.parametrize("name", POOR)
def test_poor_catalogues_have_fewer_paths_with_reasons(name: str) -> None:
    catalogue = catalogue_of(POOR[name])
    _, found = _found(catalogue, 30)
    # Of tools that are all alike no request could mean one.
    assert len(found.by_class["single-intent"]) == (0 if name == "all alike" else len(catalogue.tools))
    reasons = {rejection.subject: rejection.reason for rejection in found.rejected if len(rejection.subject) == 1}
    assert name != "all alike" or all("no request could mean it" in reasons[one.id,] for one in catalogue.tools)
    short = {rejection.request_class: rejection.reason for rejection in found.rejected if rejection.request_class}
    for request_class, paths in found.by_class.items():
        assert len(paths) == 30 or short[request_class]


def test_a_class_that_is_none_is_an_error(shipped: ProfiledCatalogue) -> None:
    with pytest.raises(InvalidArgumentError, match="no such class"):
        find_paths(shipped, ToolLinks(), SequenceRules(shipped, ToolLinks()), wanted={"rhymes": 3})


def test_a_tool_that_nobody_can_ask_for_is_in_no_path_and_its_reason_is_told() -> None:
    opaque = tool("get_blob", "blob_arn", "size")
    catalogue = catalogue_of(
        [opaque, tool("list_orders", "customer?", "order_id"), tool("get_order", "order_id", "state")]
    )
    _, found = _found(catalogue, 3)
    assert all(opaque.id not in path.tools for path in _paths(found))
    assert any(one.subject == (opaque.id,) and "no value that people type" in one.reason for one in found.rejected)
    old = replace(opaque, parameters=(), description="Deprecated: use get_file.")
    _, found = _found(catalogue_of([old]), 3)
    assert not found.by_class["single-intent"]
    assert any("deprecated" in one.reason for one in found.rejected)
