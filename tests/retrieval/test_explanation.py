"""The line of each returned tool: what it says, that it is true, and that it never has more than 25 words."""

from collections.abc import Mapping

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ingest.linking.edges import DerivedEdge
from ontology import Parameter, Tool
from ontology.tool import CONTEXT_PARAMETERS
from retrieval.engine import Engine
from retrieval.explain.explanation import MAX_WORDS
from retrieval.query.request import Request
from tests.harness.waiting import bounded_work
from tests.retrieval.conftest import EngineOf, lines_of

LONG = "a very long name of forty words " * 12


def _odd_tools() -> list[Tool]:
    """Tools with names, inputs and descriptions that documents should not have."""
    names = [
        "删除订单",
        "delete🎉order",
        "a",
        "get_id",
        "ALL CAPS",
        "list of \n many  words in one name",
        LONG.strip(),
        "x" * 400,
    ]
    inputs = [
        "order id of the customer",
        "a.b[].c d e",
        "заказ_id",
        "id",
        "order_id",
        "Query  string",
        *(LONG.strip(), "x" * 300),
    ]
    return [
        Tool(
            id=f"odd{number % 2}/{name}",
            name=name,
            description="" if number % 2 else f"{name}. {LONG}",
            parameters=tuple(
                Parameter(name=each, required=place != number, enum=("open", "two words") if place == 1 else ())
                for place, each in enumerate(inputs[: number + 1])
            ),
            returns=tuple(Parameter(name=f"items[].{each}") for each in inputs[number:]),
            metadata={"namespace": f"odd{number % 2}"},
        )
        for number, name in enumerate(names)
    ]


@pytest.fixture(scope="module")
def odd(engine_of: EngineOf) -> Engine:
    return engine_of(_odd_tools())


_PIECES = st.sampled_from(
    [
        "delete order",
        "ORD-10482",
        "customer 4500118277",
        "'two words'",
        "删除订单",
        "get rid of",
        "a@b.co",
        "\n",
        "—",
        "заказ",
        *(LONG, "x" * 90),
    ]
)
_TEXTS = st.lists(st.one_of(_PIECES, st.text(max_size=30)), min_size=1, max_size=8).map(" ".join)


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    text=_TEXTS.filter(
        lambda text: any(map(str.isalnum, text)) and not any("\ud800" <= one <= "\udfff" for one in text)
    ),
    done=st.sets(st.integers(0, 7), max_size=3),
    have=st.dictionaries(
        st.sampled_from(["order", "id", "order id of the customer", "query string"]),
        st.text("ab \n", max_size=90),
        max_size=3,
    ),
)
def test_a_line_never_has_more_than_25_words(odd: Engine, text: str, done: set[int], have: dict[str, str]) -> None:
    ids = [odd.snapshot.tool_id(number) for number in sorted(done)]
    request = Request(query=text, k=20, explain=False, explanation=True, done=ids, have=have)
    for tool in odd.retriever().retrieve(request).tools:
        assert 1 <= len(tool.explanation.split()) <= MAX_WORDS
        assert tool.explanation == " ".join(tool.explanation.split())
        assert len(tool.explanation) <= 1_000


def test_a_line_takes_nothing_of_an_optional_object(engine_of: EngineOf) -> None:
    required = {"text": True, "filter": False, "filter.range": True, "filter.range.from": True}
    inputs = tuple(Parameter(name=name, type="string", required=each) for name, each in required.items())
    engine = engine_of([Tool(id="shop/find_orders", name="find orders", parameters=inputs)])
    assert lines_of(engine, "find orders")["shop/find_orders"].endswith("; takes text")


AWARD, ORDER = "hr/give_spot_award", "procurement/create_purchase_order"


def test_what_the_caller_has_is_neither_open_nor_looked_up(engine: Engine) -> None:
    asked = "create a purchase order with the supplier Acme"
    assert "supplier_id" in lines_of(engine, asked)[ORDER]
    assert "supplier_id is S-17" in lines_of(engine, asked, have={"supplier": "S-17"})[ORDER]
    assert "supplier_id" not in lines_of(engine, asked, have={"supplierId": ""})[ORDER]


# -- what must be called first -----------------------------------------------------------------------------------------


def _shop_tool(name: str, inputs: tuple[str, ...], outputs: tuple[str, ...], description: str = "") -> Tool:
    return Tool(
        id=f"shop/{name}",
        name=name,
        description=description or name.replace("_", " "),
        parameters=tuple(Parameter(name=each, required=True) for each in inputs),
        returns=tuple(Parameter(name=each) for each in outputs),
        metadata={"namespace": "shop"},
    )


SHOP_TOOLS = (
    _shop_tool("refund_payment", ("payment_ref",), ("refund_ref",)),
    _shop_tool("list_payments", (), ("payments[].ref",)),
    _shop_tool("make_payment", ("amount",), ("ref", "amount")),
    _shop_tool("create_report", ("report_name",), ()),
    _shop_tool("list_reports", (), ("reports[].name",)),
)


def _shop(engine_of: EngineOf, edges: Mapping[tuple[str, str, str, str], float]) -> Engine:
    """A catalogue with these edges (supplier, output, consumer, input) → confidence, and no others between tools."""
    derived = [
        DerivedEdge(
            source=f"shop/{supplier}",
            predicate="supplies",
            target=f"shop/{consumer}",
            parameter=parameter,
            output=output,
            entity="payment",
            confidence=confidence,
        )
        for (supplier, output, consumer, parameter), confidence in edges.items()
    ]
    return engine_of(SHOP_TOOLS, derived)


LIST = ("list_payments", "payments[].ref", "refund_payment", "payment_ref")
MAKE = ("make_payment", "ref", "refund_payment", "payment_ref")
CLAIM = "call shop/list_payments first for payment_ref"


@pytest.mark.parametrize(("confidence", "claimed"), [(0.95, True), (0.85, False)])
def test_only_of_an_edge_that_is_likely_true(engine_of: EngineOf, confidence: float, claimed: bool) -> None:
    engine = _shop(engine_of, {LIST: confidence})
    assert (CLAIM in lines_of(engine, "refund the payment")["shop/refund_payment"]) == claimed


def test_a_tool_that_makes_the_object_is_not_named(engine_of: EngineOf) -> None:
    engine = _shop(engine_of, {MAKE: 0.97})
    assert "make_payment first" not in lines_of(engine, "make payment and refund")["shop/refund_payment"]
    lines = lines_of(engine, "", needs=["make payment", "refund payment"])
    assert "use the result of shop/make_payment for payment_ref" in lines["shop/refund_payment"]


def test_an_executed_supplier_is_used_and_not_called_again(engine_of: EngineOf) -> None:
    engine = _shop(engine_of, {LIST: 0.97})
    line = lines_of(engine, "refund the payment", done=("shop/list_payments",))["shop/refund_payment"]
    assert "use the result of shop/list_payments for payment_ref" in line and "first" not in line


UNKNOWN, ECHO = ((*LIST[:1], "", *LIST[2:]), ("make_payment", "amount", *LIST[2:]))


@pytest.mark.parametrize(
    ("edge", "confidence", "said"),
    [(LIST, 0.97, "gives payment_ref"), (LIST, 0.7, "can give payment_ref"), (UNKNOWN, 0.97, ""), (ECHO, 0.97, "")],
)
def test_a_supporting_tool_says_what_it_gives_to_which_tool(
    engine_of: EngineOf, edge: tuple[str, str, str, str], confidence: float, said: str
) -> None:
    line = lines_of(_shop(engine_of, {edge: confidence}), "refund the payment")[f"shop/{edge[0]}"]
    assert f"{said} to shop/refund_payment" in line if said else "give" not in line


def test_a_supporting_tool_does_not_give_what_the_request_gives(engine_of: EngineOf) -> None:
    lines = lines_of(_shop(engine_of, {LIST: 0.97}), "refund the payment with ref PAY-9")
    assert "payment_ref is PAY-9" in lines["shop/refund_payment"] and "payment_ref" not in lines["shop/list_payments"]


# -- lines that misled a reader of real catalogues ---------------------------------------------------------------------


INPUTS = {"pull_number": "integer", "issue_number": "integer", "build_number": "integer"}
SHOWN = {"account_id": "account_in71c4amph0vgo2qllky"}


def _github_tool(
    name: str,
    description: str,
    *inputs: str,
    context: tuple[str, ...] = (),
    path: str = "",
    optional: tuple[str, ...] = (),
) -> Tool:
    return Tool(
        id=f"github/{name}",
        name=name,
        description=description,
        parameters=tuple(
            Parameter(name=each, type=INPUTS.get(each, "string"), required=each in inputs, example=SHOWN.get(each, ""))
            for each in (*inputs, *optional)
        ),
        metadata={
            "namespace": "github",
            **({CONTEXT_PARAMETERS: list(context)} if context else {}),
            **({"path": path} if path else {}),
        },
    )


@pytest.fixture(scope="module")
def github(engine_of: EngineOf) -> Engine:
    tools = [
        _github_tool("merge_pull_request", "Merge a pull request.", "owner", "repo", "pull_number", context=("owner",)),
        _github_tool("list_issues", "List the issues of a repository.", "owner", "repo"),
        _github_tool("close_issue", "Close an issue.", "owner", "repo", "issue_number"),
        _github_tool("search_people", "Search for people by their name or career.", "query"),
        _github_tool("clone_repository", "Clone a repository.", "repo"),
        _github_tool("delete_pod", "Delete a pod.", "name", "namespace"),
        _github_tool("add_to_playlist", "Add a song to a playlist.", "playlist_id"),
        _github_tool("get_attachment", "Get the facts of an attachment.", "id", path="/attachment/{id}"),
        _github_tool("cancel_subscription", "Cancel a plan.", "exposed_id", path="/subscriptions/{exposed_id}"),
        _github_tool("get_hosted_zone", "Get a zone.", "Id", path="/hostedzone/{Id}"),
        _github_tool("rename_branch", "Rename a branch.", "owner", "repo", path="/repos/{owner}/{repo}/branch"),
        _github_tool("create_filter", "Create a filter.", "name", optional=("transition.id",)),
        _github_tool("find_dashboards", "Find every dashboard.", optional=("dashboardName",)),
        _github_tool(
            "move_ticket", "Move a ticket.", "ticketIdOrKey", optional=("watchers[].ticket_id", "radar.session")
        ),
        _github_tool("add_record", "Add a record.", "domain_name", "forwarding[].port"),
        _github_tool(
            "fork_it", 'As in {"r": "developers"}.', "org", "repo_slug", context=("org",), path="/r/{org}/{repo_slug}"
        ),
        _github_tool("send_fax", "Send a fax.", "from", "to"),
        _github_tool("verify_code", "Verify a code.", "phone_number", "code"),
        _github_tool("stop_build", "Stop a build.", "build_number"),
        _github_tool("close_account", "Close an account.", "account_id", optional=("account_number_id",)),
        _github_tool("dispute_charge", "Dispute a charge of an account.", "disputed_account_id"),
        _github_tool("give_award", "Give an award to an employee at a level of his career.", "award_id"),
    ]
    return engine_of(tools)


@pytest.mark.parametrize(
    ("query", "tool", "said", "unsaid"),
    [
        # A value beside its noun is not taken from elsewhere; whatever else a tool takes is said, also where words give it.
        ("merge pull request 4217", "merge_pull_request", "pull_number is 4217", "takes pull_number"),
        ("merge PR 42 of acme/webshop", "merge_pull_request", "repo is webshop; owner is acme; takes pull_number", ""),
        ("rename the branch in acme/webshop", "rename_branch", "owner is acme", "takes"),
        ("search people like Jan", "search_people", "takes query", ""),
        ("add song 4iV5W9uYEdYUVa79 to playlist 37i9dQZF1DXcBWIG", "add_to_playlist", "playlist_id is 37i9dQZF", ""),
        ("clone acme/webshop", "clone_repository", "repo is acme/webshop", "takes"),
        # An input that names the surroundings is taken too.
        ("merge a pull request", "merge_pull_request", "takes repo, pull_number, owner", ""),
        # The noun of an input stands in the path, whatever the name of the input.
        ("get attachment 10042", "get_attachment", "id is 10042", "takes"),
        ("cancel the subscription sub_1MowQVLkdIwHu7ixe", "cancel_subscription", "exposed_id is sub_1Mow", "takes"),
        ("get the hosted zone Z1D633PJN98FT9", "get_hosted_zone", "Id is Z1D633PJN98FT9", "takes"),
        # What the noun names has a name; no number is one.
        ('create a filter named "My open bugs"', "create_filter", "name is My open bugs", "transition"),
        ("find dashboard 10012", "find_dashboards", "", "is 10012"),
        ("add a record to the domain acme.com", "add_record", "domain_name is acme.com; takes forwarding.port", ""),
        # An identifier of one digit is no word; a noun before a preposition is that of another thing.
        ("move ticket big_one_8", "move_ticket", "ticketIdOrKey is big_one_8", "takes"),
        ("move ticket WEB-8", "move_ticket", "ticketIdOrKey is WEB-8", "takes"),
        ("move after the session for ticket 5512", "move_ticket", "ticketIdOrKey is 5512", "session is"),
        # What is quoted as matching matches.
        ("move the get-rich ticket", "move_ticket", 'matches "', "get-rich"),
        ("issues: close issue of an issue", "close_issue", 'matches "issues close"', ""),
        ("give him the award that fits his career", "give_award", 'matches "', "that fits"),
        ("list for our Spring Supplier the issues", "list_issues", "", "for our"),
        ("find every dashboard", "find_dashboards", 'matches "find dashboard"', "every"),
        ("fork for developers", "fork_it", 'matches "fork"', "developers"),
        # What the request gives is not only taken: of places side by side, of phones, beside a bare name, of a longer name.
        ("fork acme/webshop", "fork_it", "repo_slug is webshop; org is acme", "takes"),
        ("fax to +13125000000 from +13125000001", "send_fax", "from is +13125000001; to is +13125000000", "takes"),
        ("check code 17686 of +4915112345678", "verify_code", "phone_number is +4915112345678; code is 17686", "takes"),
        ("dispute account_zz91c4amph0vgo2qllky", "dispute_charge", "disputed_account_id is account_zz", "takes"),
        # It is not taken for what it cannot be.
        ("stop build 8c3f5a8e-2f3b-4a43-a4b1-9d6f1f0a2c11", "stop_build", "takes build_number", ""),
        ("close account 20301", "close_account", "takes account_id", "20301"),
        ("close account number 987654321", "close_account", "takes account_id", "account_number_id"),
    ],
)
def test_a_line_says_what_is_so(github: Engine, query: str, tool: str, said: str, unsaid: str) -> None:
    line = lines_of(github, query, k=30)[f"github/{tool}"]
    assert said in line
    assert not unsaid or unsaid not in line


def test_a_tool_that_shares_no_word_is_not_said_to_be_near(github: Engine) -> None:
    lines = lines_of(github, "merge a pull request", k=30)
    assert lines["github/delete_pod"] == "takes name, namespace"
    assert lines["github/find_dashboards"] == "no word in common"


def test_a_wide_tool_and_a_request_with_many_values_take_bounded_work(engine_of: EngineOf) -> None:
    examples = [Parameter(name=f"code_{at}", required=True, example=f"AB-{at:05}") for at in range(300)]
    engine = engine_of([Tool(id="wide/enter_codes", name="enter_codes", parameters=tuple(examples))])
    asked = "enter the codes " + ", ".join(f"{10_000 + at}" for at in range(24))
    with bounded_work():
        assert lines_of(engine, asked)
