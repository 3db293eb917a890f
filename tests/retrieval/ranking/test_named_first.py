"""Tools that share a name: how many of them are looked up, and how many a request that names them puts first."""

import pytest

from inference import HashingEncoder
from ontology import Ontology, Parameter, Tool
from retrieval.engine import Engine
from retrieval.query.context import named_tools
from retrieval.query.request import Request
from retrieval.snapshot.reader import open_snapshot
from tests.retrieval.conftest import content_of, published

BEARERS = 20
"""More tools of one name than are looked up."""

LONGER = 40
"""Tools with further words in their names: more than are looked up, and before the others in the order of ids."""

REST = "give a spot award to an employee of the department"


def _tool(namespace: str, name: str, description: str) -> Tool:
    return Tool(
        id=f"{namespace}/{name}",
        name=name,
        description=description,
        parameters=(Parameter(name="number", required=True),),
        metadata={"namespace": namespace},
    )


@pytest.fixture(scope="module")
def sharing(tmp_path_factory: pytest.TempPathFactory, ontology: Ontology) -> Engine:
    """Twenty services that each have a tool ``ping``, and tools that fit another request far better."""
    tools = [
        *(_tool(f"s{number:02}", "ping", f"Ask service {number} whether it runs.") for number in range(BEARERS)),
        *(_tool(f"a{number:02}", "ping_printer", "Ask a printer whether it runs.") for number in range(LONGER)),
        *(_tool(f"hr{number}", "give_spot_award", "Give a spot award to an employee.") for number in range(5)),
        _tool("rare", "list_departments", "List the departments."),
        *(_tool(f"b{number:02}", "list_departments_of_printer", "") for number in range(LONGER)),
    ]
    folder = tmp_path_factory.mktemp("sharing")
    published(folder, content_of(tools, ontology))
    return Engine(open_snapshot(folder), HashingEncoder())


def _answered(engine: Engine, query: str, k: int, **filters: list[str]) -> list[str]:
    return [tool.id for tool in engine.retriever().retrieve(Request(query=query, k=k, filters=filters)).tools]


def _named(engine: Engine, query: str) -> list[list[str]]:
    return [[engine.snapshot.tool(number).id for number in each] for each in named_tools(engine.snapshot, query, None)]


def test_a_rare_name_is_found_beside_many_longer_ones_with_its_words(sharing: Engine) -> None:
    assert _named(sharing, "use list_departments") == [["rare/list_departments"]]


def test_three_tools_of_one_name_stand_first_and_then_what_fits_the_request(sharing: Engine) -> None:
    awards = [f"hr{number}/give_spot_award" for number in range(5)]
    assert _answered(sharing, f"{REST}, by `ping`", 8) == ["s00/ping", "s01/ping", "s02/ping", *awards]


def test_a_name_of_many_tools_leaves_room_for_another_name(sharing: Engine) -> None:
    found = _answered(sharing, f"{REST}, by `ping` and list_departments", 5)
    assert found[:4] == ["rare/list_departments", "s00/ping", "s01/ping", "s02/ping"]
    assert found[4].endswith("/give_spot_award")


def test_a_tool_beyond_those_that_are_looked_up_is_named_by_its_id_or_among_what_a_filter_leaves(
    sharing: Engine,
) -> None:
    assert _answered(sharing, f"{REST}, by s19/ping", 1) == ["s19/ping"]
    assert _answered(sharing, f"{REST}, by `ping`", 1, namespace=["s19", "hr0"]) == ["s19/ping"]
