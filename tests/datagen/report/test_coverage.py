"""Coverage: what requests speak of, and why not of the rest."""

from __future__ import annotations

from datagen.profiled_catalogue import ProfiledCatalogue
from datagen.report.coverage import Coverage, GroupCoverage, measure_coverage
from datagen.synthetic_request import RejectedRequest, SyntheticRequest
from datagen.tool_links import ToolLinks
from datagen.tool_path import PathEdge, ToolPath
from ontology import load_ontology
from ontology.tool import Tool


def tool(name: str, business: str) -> Tool:
    return Tool(id=name, name=name, metadata={"line_of_business": business} if business else {})


def edge(source: str, target: str, output: str = "id") -> PathEdge:
    return PathEdge(kind="R-P", source=source, target=target, output=output, parameter="id", confidence=0.9)


TOOLS = (tool("a", "HR"), tool("b", "HR"), tool("c", "Finance"), tool("d", "HR"), tool("e", ""), tool("f", "Finance"))
CHAIN = ToolPath(tools=("a", "b"), edges=(edge("a", "b"),), shape="chain")
PATHS = (CHAIN, ToolPath(tools=("c",)), ToolPath(tools=("d",)))
REJECTED = (
    RejectedRequest(stage="outputs", subject=("c",), reason="it documents none"),
    RejectedRequest(stage="outputs", subject=("e",), reason="it documents none"),
    RejectedRequest(stage="validate", subject=("d", "a"), reason="class: it asks two things"),
    RejectedRequest(stage="validate", subject=("d", "a"), reason="class: it asks two things"),
    RejectedRequest(stage="generate", subject=("d",), reason="no verb is known"),
)


def covered() -> Coverage:
    request = SyntheticRequest(id="r", text="do it", request_class="explicit-multi-step", path=CHAIN)
    catalogue = ProfiledCatalogue(snapshot_id="s", tools=TOOLS, ontology=load_ontology())
    rp = ToolLinks((edge("a", "b"), edge("a", "b", "code"), edge("b", "c")))
    return measure_coverage(catalogue, rp, [request], paths=PATHS, rejected=REJECTED)


def test_tools_pairs_and_lines_of_business_are_counted() -> None:
    coverage = covered()
    assert (coverage.tools, coverage.rp_pairs, coverage.rp_pairs_used) == (6, 2, 1)
    assert coverage.groups == (
        GroupCoverage(name="HR", tools=3, used=2, requests=1),
        GroupCoverage(name="Finance", tools=2, used=0, requests=0),
        GroupCoverage(name="(none named)", tools=1, used=0, requests=0),
    )
    assert coverage.tools_used == 2


def test_every_tool_that_no_request_needs_has_its_reason() -> None:
    assert covered().never_used == {
        "c": "it stands in paths that were not needed",
        "d": "generate: no verb is known",
        "e": "outputs: it documents none",
        "f": "no path leads over it",
    }
