"""State checks: which tool reads the very thing that another one changes."""

from __future__ import annotations

import pytest

from datagen.paths.state_check import state_check
from tests.datagen.catalogues import catalogue_of, tool

GET = tool("get_server", "server_id", "server_id status")
BLIND = tool("get_volume", "volume_id", "status")
TOOLS = (
    GET,
    BLIND,
    tool("delete_server", "server_id"),
    tool("delete_volume", "volume_id"),
    tool("list_servers", "", "servers[].server_id"),
    tool("get_server_alarm", "server_id alarm_id", "alarm_id server_id"),
)


def _id(name: str) -> str:
    return next(one.id for one in TOOLS if one.name == name)


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("get_server", "delete_server", True),
        ("delete_server", "get_server", False),
        ("get_volume", "delete_volume", False),  # its document does not say which volume it gives
        ("get_server", "delete_volume", False),
        ("list_servers", "delete_server", False),
        ("get_server_alarm", "delete_server", False),
    ],
)
def test_one_reads_and_the_other_changes_the_same_thing(source: str, target: str, *, expected: bool) -> None:
    edge = state_check(catalogue_of(TOOLS), _id(source), _id(target))
    assert (edge is not None) == expected
    if edge is not None:
        assert (edge.output, edge.parameter, edge.confidence) == ("server_id", "server_id", 1.0)
