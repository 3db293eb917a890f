"""The caller's own object: which look-ups give what a call has anyway."""

from dataclasses import replace

import pytest

from datagen.paths.needs import gives_own_object
from datagen.requests import PathEdge
from ontology.tool import Tool
from tests.datagen.catalogues import catalogue_of, tool

USERS = tool("list_users", "team_id", "users[].user_id")
ABOUT = "Gets information about the current team."


def _described(found: Tool, text: str) -> Tool:
    return replace(found, parameters=tuple(replace(one, description=text) for one in found.parameters))


@pytest.mark.parametrize(
    ("found", "own"),
    [
        (tool("get_team", "team?", "team_id", description=ABOUT), True),
        (tool("get_team", "", "team_id", description="A team."), True),
        (tool("get_team", "fields? include_counts?", "team_id", description="A team."), True),
        (_described(tool("get_team", "team?", "team_id"), "If omitted, the current team"), True),
        (tool("get_team", "team?", "team_id", description="The team who is currently authenticated"), True),
        (tool("get_team", "team?", "team_id", description="A team in the current state"), False),
        (tool("get_team", "slug", "team_id", description=ABOUT), False),
        (tool("get_team", "team?", "teams[].team_id", description=ABOUT), False),
        (tool("list_team", "", "team_id", description=ABOUT), False),
        (tool("get_teams", "", "team_id", description=ABOUT), False),
        (tool("create_team", "", "team_id", description=ABOUT), False),
    ],
)
def test_one_thing_of_the_caller_is_told_from_a_choice_and_from_a_list(found: Tool, own: bool) -> None:
    output = found.returns[-1].name
    edge = PathEdge(
        kind="R-P", source=found.id, target=USERS.id, output=output, parameter="team_id", confidence=0.95, reason="r"
    )
    assert gives_own_object(edge, catalogue_of((found, USERS))) is own
