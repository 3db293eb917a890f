"""The first person: whoever asks is known by the tool that says who calls it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from inference import HashingEncoder
from ontology import Ontology, Parameter, Tool
from ontology.profile_tools import is_own_profile
from retrieval.graph_retriever import GraphRetriever
from retrieval.query.request import Request
from retrieval.ranking.fusion import FusionRanker
from retrieval.ranking.weights import SHIPPED
from retrieval.snapshot.reader import Snapshot, open_snapshot
from tests.retrieval.conftest import content_of, published

EMPLOYEE = Parameter(name="employee_id", required=True, description="Id of the employee")
TOOLS = (
    Tool(id="hr/getMyProfile", name="getMyProfile", description="Profile of the caller.", returns=(EMPLOYEE,)),
    Tool(
        id="hr/searchEmployees",
        name="searchEmployees",
        description="Find employees by name.",
        parameters=(Parameter(name="name", required=True, description="Part of the name"),),
        returns=(EMPLOYEE,),
    ),
    Tool(id="hr/listPayslips", name="listPayslips", description="Payslips of an employee.", parameters=(EMPLOYEE,)),
    Tool(id="hr/getMyTeamCalendar", name="getMyTeamCalendar", description="Calendar of the team."),
    Tool(id="hr/getCurrentRates", name="getCurrentRates", description="Exchange rates of today."),
)


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory, ontology: Ontology) -> Snapshot:
    store = tmp_path_factory.mktemp("own-profile")
    published(store, content_of(TOOLS, ontology))
    return open_snapshot(store)


def supporting(snapshot: Snapshot, text: str) -> set[str]:
    retriever = GraphRetriever(snapshot, HashingEncoder())
    context = retriever.find_candidates(Request(query=text))
    retriever.complete(context, FusionRanker(SHIPPED).rank(context), margin=0.5)
    return {
        snapshot.tool_id(each.tool)
        for each in context.supporting
        if snapshot.tool_id(each.answers) == "hr/listPayslips"
    }


def test_only_a_tool_about_its_caller_is_an_own_profile(snapshot: Snapshot) -> None:
    assert len(snapshot.own_profiles) == 1


def test_the_first_person_is_resolved_by_the_own_profile(snapshot: Snapshot) -> None:
    assert supporting(snapshot, "list my payslips") == {"hr/getMyProfile"}


def test_a_person_that_is_named_is_looked_up(snapshot: Snapshot) -> None:
    assert supporting(snapshot, "list the payslips of Jan Kowalczyk") == {"hr/searchEmployees"}


@pytest.mark.parametrize(
    "name", ["whoami", "get_me", "GET /me", "getCurrentUser", "read_own_profile", "users/me/getMyProfile"]
)
def test_names_of_such_tools(name: str) -> None:
    assert is_own_profile(Tool(id=f"x/{name}", name=name))
    assert not is_own_profile(Tool(id=f"x/{name}", name=name, parameters=(EMPLOYEE,)))


@pytest.mark.parametrize(
    "name",
    [
        "get_user",
        "set_my_profile",
        "getMyTasks",
        "current_weather",
        "list_users",
        "get_account",
        "get_current_data",
        "own",
    ],
)
def test_names_of_other_tools(name: str) -> None:
    assert not is_own_profile(Tool(id=f"x/{name}", name=name))


def test_a_profile_of_another_system_says_nothing_of_this_one(tmp_path: Path, ontology: Ontology) -> None:
    tools = [
        replace(tool, metadata={"system": tool.id.partition("/")[0]}) for tool in TOOLS if "MyProfile" not in tool.id
    ]
    tools.append(
        Tool(
            id="zen/getMyProfile", name="getMyProfile", description="Profile of the caller.", metadata={"system": "zen"}
        )
    )
    published(tmp_path, content_of(tools, ontology))
    assert supporting(open_snapshot(tmp_path), "list my payslips") == {"hr/searchEmployees"}
