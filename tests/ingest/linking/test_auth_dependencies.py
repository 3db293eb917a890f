"""Signing in: who requires a session needs the one tool that opens it."""

import random
from collections.abc import Sequence
from functools import partial

import pytest

from ontology import Tool
from tests.ingest.linking import test_rp_edges
from tests.ingest.linking.test_rp_edges import links

tool = partial(test_rp_edges.tool, namespace="bank")

LOGIN = tool("login", "username password", "token")
BALANCE = tool("get_balance", "token account_number", "balance")
TRANSFER = tool("transfer_money", "account_number amount token", "transfer_id")


def needs(tools: Sequence[Tool]) -> list[tuple[str, str, str, str]]:
    """The ``depends_on`` edges, in order."""
    found = links(list(tools), "depends_on")
    return [(edge.source, edge.target, edge.parameter, edge.output) for edge in found]


def test_the_one_tool_that_opens_a_session_is_needed_by_all_that_require_it() -> None:
    assert needs([LOGIN, BALANCE, TRANSFER]) == [
        ("bank/get_balance", "bank/login", "token", "token"),
        ("bank/transfer_money", "bank/login", "token", "token"),
    ]
    (edge,) = links([LOGIN, BALANCE], "depends_on")
    assert (edge.entity, edge.field, edge.confidence) == ("session", "token", 0.9)
    assert edge.key == "depends_on:token"


def test_what_fills_any_other_input_is_not_needed() -> None:
    accounts = tool("find_account", "customer_name", "account_number")
    assert [edge.source for edge in links([accounts, BALANCE])] == [accounts.id]
    assert needs([accounts, BALANCE]) == []


def test_of_two_logins_none_is_needed() -> None:
    assert needs([LOGIN, tool("sign_in", "card_number", "token"), BALANCE]) == []


@pytest.mark.parametrize("seed", range(4))
def test_the_order_is_that_of_the_catalogue_and_the_edges_are_the_same_in_any(seed: int) -> None:
    tools = [LOGIN, BALANCE, TRANSFER, tool("close_account", "token account_number")]
    expected = needs(tools)
    assert expected == needs(tools)
    assert [source for source, *_ in expected] == ["bank/get_balance", "bank/transfer_money", "bank/close_account"]
    turned = list(tools)
    random.Random(seed).shuffle(turned)
    assert [source for source, *_ in needs(turned)] == [each.id for each in turned if each is not LOGIN]
    assert sorted(needs(turned)) == sorted(expected)
