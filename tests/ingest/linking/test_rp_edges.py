"""R-P edges: which output fills which input; signing in: who requires a session needs the one tool that
opens it; and context parameters, which no other tool supplies.
"""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.linking.edges import MOST_SUPPLIERS, DerivedEdge, derive_links
from ingest.sources import read_catalog
from ontology import Parameter, Tool, load_ontology
from tests.harness.waiting import bounded_work

ROOT = Path(__file__).resolve().parents[3]
ONTOLOGY = load_ontology()


def tool(
    name: str,
    inputs: str = "",
    outputs: str = "",
    *,
    namespace: str = "",
    types: dict[str, str] | None = None,
    **metadata: str,
) -> Tool:
    """A tool in short: ``"order_id note?"`` are a required and an optional input."""
    types = types or {}
    return Tool(
        id=f"{namespace}/{name}" if namespace else name,
        name=name,
        parameters=tuple(
            Parameter(
                name=word.rstrip("?"), type=types.get(word.rstrip("?"), "string"), required=not word.endswith("?")
            )
            for word in inputs.split()
        ),
        returns=tuple(Parameter(name=word, type=types.get(word, "string")) for word in outputs.split()),
        metadata={**metadata, **({"namespace": namespace} if namespace else {})},
    )


def links(tools: list[Tool], predicate: str = "supplies") -> list[DerivedEdge]:
    return [edge for edge in derive_links(tools, ONTOLOGY).edges if edge.predicate == predicate]


def pairs(tools: list[Tool]) -> set[tuple[str, str]]:
    return {(edge.source, edge.target) for edge in links(tools)}


def test_a_planted_chain_is_found() -> None:
    tools = [
        tool("search_suppliers", "query", "suppliers[].supplier_id suppliers[].name"),
        tool("list_contracts", "supplier_id", "contracts[].contract_id"),
        tool("list_invoices", "contract_id", "invoices[].invoice_id"),
        tool("pay_invoice", "invoice_id", "payment_id"),
        tool("cancel_payment", "payment_id", "success"),
    ]
    chain = ["search_suppliers", "list_contracts", "list_invoices", "pay_invoice", "cancel_payment"]
    assert pairs(tools) == set(pairwise(chain))


@pytest.mark.parametrize(("longest", "listed"), [(2, True), (4, False)])
def test_a_common_country_makes_no_tool_the_nearest(longest: int, listed: bool) -> None:
    code = Parameter(name="country_code", required=True, bounds=(("maxLength", longest),))
    create, label = tool("create_warehouse", "", "warehouse_id"), tool("create_label", "warehouse_id", "label_id")
    tools = [replace(each, parameters=(*each.parameters, code)) for each in (create, label)]
    found = pairs([*tools, tool("list_warehouses", "", "warehouses[].warehouse_id")])
    assert (("list_warehouses", "create_label") in found) == listed


def test_a_cycle_is_kept_and_no_tool_supplies_itself() -> None:
    tools = [
        tool("order_of_shipment", "shipment_id", "order_id"),
        tool("shipment_of_order", "order_id", "shipment_id"),
        tool("split_order", "order_id", "order_id shipment_id"),
    ]
    found = pairs(tools)
    assert {("order_of_shipment", "shipment_of_order"), ("shipment_of_order", "order_of_shipment")} <= found
    assert all(source != target for source, target in found)
    # What a tool was given it does not supply: split_order only repeats its order.
    assert not any(e.source == "split_order" and e.entity == "order" for e in links(tools))


def test_fan_out_is_bounded_and_the_own_system_comes_first() -> None:
    tools = [tool(f"list_users_{n:03}", "", "users[].user_id", namespace=f"s{n % 4}") for n in range(60)]
    tools.append(tool("block_user", "user_id", namespace="s2"))
    edges = [edge for edge in links(tools) if edge.target == "s2/block_user"]
    assert len(edges) == MOST_SUPPLIERS
    assert {edge.source.split("/")[0] for edge in edges} == {"s2"}
    assert [edge.source for edge in edges] == sorted(edge.source for edge in edges)


@pytest.mark.parametrize("name", ["field_{}_value", "group.part_{}", "part_{}.id", "item_{}"])
def test_a_tool_of_thousands_of_inputs_and_outputs_is_linked_with_bounded_work(name: str) -> None:
    """Each of them was compared with all others: 64 million comparisons, several times."""
    fields = tuple(
        Parameter(name=name.format(number), type="array" if name == "item_{}" else "string", required=True)
        for number in range(8_000)
    )
    form = Tool(id="form", name="create_form", parameters=fields, returns=fields, metadata={"path": "/forms"})
    with bounded_work():
        listed = Tool(id="list", name="list_parts", returns=(Parameter(name="parts[].id"),))
        assert len(derive_links([form, listed], ONTOLOGY).edges) < len(fields)


def test_generic_slots_are_joined_by_the_type_of_their_resource() -> None:
    tools = [
        tool("speak", "input_0", "output", types={"input_0": "text", "output": "audio"}),
        tool("transcribe", "input_0", "output", types={"input_0": "audio", "output": "text"}),
        tool("blur", "input_0", "output", types={"input_0": "image", "output": "image"}),
        tool("count", "input_0", "output", types={"input_0": "string", "output": "string"}),
    ]
    assert pairs(tools) == {("speak", "transcribe"), ("transcribe", "speak")}


ENTITIES = st.sampled_from(["order", "invoice", "supplier", "contract"])


@settings(max_examples=40)
@given(st.lists(st.tuples(ENTITIES, ENTITIES), min_size=2, max_size=25))
def test_edges_are_those_of_comparing_all_pairs(reads: list[tuple[str, str]]) -> None:
    """Tool n needs one entity's id and gives another's: linked if and only if the two are the same."""
    tools = [tool(f"step{n:02}", f"{need}_id", f"{give}_id") for n, (need, give) in enumerate(reads)]
    found = links(tools)
    expected = {
        (f"step{i:02}", f"step{j:02}")
        for i, (need_i, give_i) in enumerate(reads)
        for j, (need_j, _) in enumerate(reads)
        if i != j and give_i == need_j and give_i != need_i
    }
    linked = {(edge.source, edge.target) for edge in found}
    assert linked <= expected
    for target, count in Counter(target for _, target in expected).items():
        assert sum(edge.target == target for edge in found) == min(count, MOST_SUPPLIERS)
    assert all(0 < edge.confidence <= 1 for edge in found)


def test_a_better_score_is_a_higher_confidence() -> None:
    """So it stays when the points of the calibration are fitted again."""
    tools = read_catalog([str(ROOT / "examples" / "enterprise" / "catalog")]).tools
    for predicate in ("supplies", "resolved_by"):
        found = sorted({(edge.score, edge.confidence) for edge in links(list(tools), predicate)})
        assert len(found) > 10
        assert all(0 < one[1] <= other[1] <= 1 for one, other in pairwise(found))


bank = partial(tool, namespace="bank")

LOGIN = bank("login", "username password", "token")
BALANCE = bank("get_balance", "token account_number", "balance")
TRANSFER = bank("transfer_money", "account_number amount token", "transfer_id")


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
    accounts = bank("find_account", "customer_name", "account_number")
    assert [edge.source for edge in links([accounts, BALANCE])] == [accounts.id]
    assert needs([accounts, BALANCE]) == []


def test_of_two_logins_none_is_needed() -> None:
    assert needs([LOGIN, bank("sign_in", "card_number", "token"), BALANCE]) == []


@pytest.mark.parametrize("seed", range(4))
def test_the_order_is_that_of_the_catalogue_and_the_edges_are_the_same_in_any(seed: int) -> None:
    tools = [LOGIN, BALANCE, TRANSFER, bank("close_account", "token account_number")]
    expected = needs(tools)
    assert expected == needs(tools)
    assert [source for source, *_ in expected] == ["bank/get_balance", "bank/transfer_money", "bank/close_account"]
    turned = list(tools)
    random.Random(seed).shuffle(turned)
    assert [source for source, *_ in needs(turned)] == [each.id for each in turned if each is not LOGIN]
    assert sorted(needs(turned)) == sorted(expected)


KINDS = tuple(
    "disk network router snapshot image firewall gateway tunnel subnet license reservation commitment".split()
)


def get(path: str, *outputs: str, namespace: str = "compute", required: tuple[str, ...] = ()) -> Tool:
    places = [part[1:-1] for part in path.split("/") if part.startswith("{")]
    return Tool(
        id=f"{namespace}/GET {path}",
        name=f"GET {path}",
        parameters=tuple(Parameter(name=name, required=True, location="path") for name in (*places, *required)),
        returns=tuple(Parameter(name=name) for name in outputs),
        metadata={"path": path, "method": "GET", "namespace": namespace},
    )


def catalogue() -> list[Tool]:
    tools = [get("/projects", "items[].id"), get("/projects/{project}", "id")]
    for kind in KINDS:
        tools.append(get(f"/projects/{{project}}/{kind}s", "items[].id"))
        tools.append(get(f"/projects/{{project}}/{kind}s/{{{kind}}}", "id"))
    return tools


def test_what_stands_first_in_most_paths_is_context() -> None:
    found = derive_links(catalogue(), ONTOLOGY)
    assert found.context["compute/GET /projects/{project}/disks/{disk}"] == ("project",)
    # What a tool is about is not its surroundings.
    assert "compute/GET /projects/{project}" not in found.context


def test_no_tool_supplies_context_and_the_rest_is_supplied() -> None:
    edges = derive_links(catalogue(), ONTOLOGY).edges
    filled = {edge.parameter for edge in edges if edge.target.count("/") > 2 or edge.source.count("/") > 2}
    assert "disk" in filled
    assert not [edge for edge in edges if edge.parameter == "project" and edge.target.count("/") > 3]


def test_an_input_of_the_path_is_context_where_the_body_has_one_of_its_name() -> None:
    tool = get("/projects/{project}/disks/{disk}:copy", "id")
    body = Parameter(name="project", description="The name to show", enum=("a", "b"), location="body")
    tool = replace(tool, id="compute/copy", parameters=(*tool.parameters, body))
    assert "project" in derive_links([*catalogue(), tool], ONTOLOGY).context["compute/copy"]
