"""The wording of single tools: frames to say, and systems that are named."""

from __future__ import annotations

import pytest

from datagen.generation import ToolWording
from datagen.generation.phrases import References
from datagen.generation.realisation import realise
from datagen.generation.sampler import Sampler
from ontology.errors import NotFoundError
from ontology.tool import Parameter, Tool
from tests.datagen.generation.material import catalogue_of


def _tool(name: str, description: str, namespace: str = "jira", **metadata: object) -> Tool:
    inputs = (Parameter(name="issueId", required=True, example="4711"),) if "get" in name or "update" in name else ()
    title = {"api": f"The {namespace.capitalize()} Cloud REST API v3"}
    return Tool(
        id=f"{namespace}/{name}",
        name=name,
        description=description,
        parameters=(*inputs, Parameter(name="title")),
        metadata={"namespace": namespace, **title, **metadata},
    )


TOOLS = (
    _tool("getIssue", "Returns an issue."),
    _tool("updateIssue", "Updates an issue."),
    _tool("getIssue", "Retrieves an issue.", "linear"),
)


def _order(wording: ToolWording, sampler: Sampler, references: References | None = None) -> str:
    return realise(wording.frame("jira/getIssue"), references or {}, sampler, minimal=True).order


def test_an_order_states_the_reference_in_the_place_of_a_value() -> None:
    wording = ToolWording(catalogue_of(*TOOLS))
    sampler = wording.sampler("one")
    stated = _order(wording, sampler)
    assert sampler.values[0].value in stated
    other = wording.sampler("one")
    referred = _order(wording, other, {"issueId": "that issue"})
    assert "that issue" in referred
    assert other.values == []


def test_equal_keys_give_equal_orders() -> None:
    wording = ToolWording(catalogue_of(*TOOLS))
    orders = [_order(wording, wording.sampler("a", "b")) for _ in range(3)]
    assert len(set(orders)) == 1


def test_a_system_is_named_where_another_does_the_same() -> None:
    wording = ToolWording(catalogue_of(*TOOLS))
    assert wording.frame("jira/getIssue").system == "Jira"
    assert wording.frame("jira/updateIssue").system == ""
    assert "in Jira" in _order(wording, wording.sampler("x"))


def test_an_unknown_tool_is_an_error() -> None:
    with pytest.raises(NotFoundError, match="no such tool"):
        ToolWording(catalogue_of(*TOOLS)).reason("gone")


def test_a_system_is_named_where_another_has_such_a_thing_of_the_asker_too() -> None:
    own = [_tool("myProfile", "Get my profile.", name, method="GET", path="/me/profile") for name in ("jira", "linear")]
    assert ToolWording(catalogue_of(*own)).frame("jira/myProfile").system == "Jira"
    assert ToolWording(catalogue_of(own[0])).frame("jira/myProfile").system == ""
    unnamed = _tool("myProfile", "Get my profile.", "linear", method="GET", path="/me/profile", api="Mail (beta)")
    assert ToolWording(catalogue_of(own[0], unnamed)).reason("linear/myProfile")


def test_a_system_is_named_where_another_keeps_what_it_reads_by_one_number_among_such_things() -> None:
    mine = _tool("getIssue", "Returns an issue.", method="GET", path="/issues/{issueId}")
    threads = _tool("getThread", "Returns a thread.", "linear", method="GET", path="/issues/threads/{issueId}")
    of_project = _tool("getThread", "Returns a thread.", "linear", method="GET", path="/issues/{issueId}/threads/{id}")
    assert ToolWording(catalogue_of(mine, threads)).frame("jira/getIssue").system == "Jira"
    assert ToolWording(catalogue_of(mine, of_project)).frame("jira/getIssue").system == ""
