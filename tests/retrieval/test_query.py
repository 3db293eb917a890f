"""What a request is cut into, the values in it and the tools that it names."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inference import HashingEncoder
from ontology import Parameter, Tool
from ontology.value_shape import KIND_SHAPES, ShapeUse, ValueShape
from retrieval.engine import Engine
from retrieval.graph_retriever import GraphRetriever
from retrieval.index.bm25 import terms
from retrieval.index.value_shapes import ValueShapes, write_value_shapes
from retrieval.query.context import named_tools, support_by_values, tool_names
from retrieval.query.query import clause_spans
from retrieval.query.request import MAX_QUERY_CHARS, Request
from retrieval.query.typed_values import SELF, find_values
from retrieval.snapshot.reader import Snapshot
from services.schemas.call_schema import call_name
from tests.harness.waiting import bounded_work
from tests.retrieval.conftest import EngineOf

CUT = {"use", "base"}  # the index terms of the separators "using" and "based on"; all others are stop words
word = st.sampled_from(
    "order the orders supplier find Jan's e-mail purchaseOrder_ID 42 3.5 v2 订单 ü a to I for employee "
    "and then if but also so that or when once using based on before after And THEN".split()
)
mark = st.sampled_from(
    [" ", " ", " ", "  ", ", ", ",", ". ", ".", "; ", ";", "?", "! ", ": ", ":", "\n", "\n\n", "…", "-"]
)
sentence = st.lists(st.tuples(word, mark), max_size=40).map(lambda pairs: "".join(map("".join, pairs)))
requests = st.one_of(sentence, st.text(max_size=60))


PARTS = {
    "give Jan a spot award": "give Jan a spot award",
    "Find the supplier Acme and create a purchase order.": "Find the supplier Acme | create a purchase order.",
    "Book a flight to Rome, then reserve a hotel room; finally tell my manager": "Book a flight to Rome | then reserve a hotel room | finally tell my manager",
    "If paper stock runs low order ten boxes. Which invoices remain open?": "If paper stock runs low order ten boxes | Which invoices remain open?",
    "Pay the open invoice and then\nmail the receipt home": "Pay the open invoice | mail the receipt home",
    # A part that says nothing by itself stays with its neighbour: before it, or after it for the first.
    "list new suppliers, orders, and open invoices by date": "list new suppliers orders | and open invoices by date",
    "Hello, show the open invoices": "Hello, show the open invoices",
    "Hello, list open invoices and pay old bills now please, thanks": "Hello list open invoices | pay old bills now please thanks",
    # *and* and *or* inside a noun phrase do not cut; before a clause they do.
    "show the profit and loss statements of 2024": "show the profit and loss statements of 2024",
    "accept the terms and conditions of Acme Rail": "accept the terms and conditions of Acme Rail",
    "list cash flow and profit and loss of Acme": "list cash flow and profit and loss of Acme",
    "list the orders of Acme or show their unpaid old invoices": "list the orders of Acme | show their unpaid old invoices",
    "send Jan Novak the invoice and what the supplier Acme wrote": "send Jan Novak the invoice | what the supplier Acme wrote",
    "version 3.5 of api.example.com at 10:30": "version 3.5 of api.example.com at 10:30",
    "android phone orders, thenceforth formed bold": "android phone orders | thenceforth formed bold",
}
"""Request → its parts, with | between them."""


def decompose(text: str) -> tuple[str, ...]:
    """The clauses of a request."""
    return tuple(" ".join(text[start:end] for start, end in spans) for spans in clause_spans(text))


def test_a_request_is_cut_where_english_sets_wishes_apart(subtests: pytest.Subtests) -> None:
    for text, parts in PARTS.items():
        with subtests.test(ascii(text)):
            assert " | ".join(decompose(text)) == parts


@settings(max_examples=400)
@given(text=requests)
def test_no_word_is_lost_invented_or_moved(text: str) -> None:
    found = [term for clause in decompose(text) for term in terms(clause) if term not in CUT]
    assert found == [term for term in terms(text) if term not in CUT]


# -- typed values ------------------------------------------------------------------------------------------------------


VALUES: list[tuple[str, str, str]] = [
    ("close case C-21066 please", "identifier", "C-21066"),
    ("chase 4500118277.", "identifier", "4500118277"),
    ("detach cus_NffrFeUfNV2Hib, it is expired", "identifier", "cus_NffrFeUfNV2Hib"),
    ("purge 19f06b6a-3ace-4315-b086-499a0e521b76", "uuid", "19f06b6a-3ace-4315-b086-499a0e521b76"),
    ("revert 3f2c9ab on main", "hex digest", "3f2c9ab"),
    ("fork acme/web for me", "repository", "acme/web"),
    ("show src/app/main.c now", "file", "src/app/main.c"),
    ("list /var/log/nginx", "path", "/var/log/nginx"),
    ("open (report.pptx)", "file", "report.pptx"),
    ("read https://github.com/acme/web?tab=1.", "url", "https://github.com/acme/web?tab=1"),
    ("ask jan.novak@contoso.com's team", "email", "jan.novak@contoso.com"),
    ("ping 203.0.113.20", "ip", "203.0.113.20"),
    ("who owns status.nordwind.io?", "domain", "status.nordwind.io"),
    ('commit it as "Fix the tests, then ship"', "quoted", '"Fix the tests, then ship"'),
    ("rename it to ‘Data platform’", "quoted", "‘Data platform’"),
    ("run `make all, then test` there", "quoted", "`make all, then test`"),
    ("run `make all; ls` there", "code", "`make all; ls`"),
    ("close `PO-4711` please", "identifier", "PO-4711"),
    ("call `GET /orders/{orderId}/items`", "path", "/orders/{orderId}/items"),
    ("tell #releases", "channel", "#releases"),
    ("assign @octo-cat", "handle", "@octo-cat"),
    ("rotate DEPLOY_TOKEN", "variable", "DEPLOY_TOKEN"),
    ("wake me at 10am", "time", "10am"),
    ("meet on the 12th", "date", "the 12th"),
    ("meet next Friday", "date", "next Friday"),
    ("meet on 2025-06-03", "date", "2025-06-03"),
    ("pay 180 eur", "amount", "180 eur"),
    ("pay $1,200.50 now", "amount", "$1,200.50"),
    ("call +49 30 1234567", "phone", "+49 30 1234567"),
    ("tag v1.9.2", "version", "v1.9.2"),
    ("merge release/1.9 into main", "branch", "release/1.9"),
    ("wire DE89370400440532013000", "iban", "DE89370400440532013000"),
    ("show my payslips", SELF, "my"),
]


def test_a_value_is_found_with_its_kind_and_its_place(subtests: pytest.Subtests) -> None:
    for text, kind, value in VALUES:
        with subtests.test(ascii(text)):
            (found,) = find_values(text)
            assert (found.kind, found.text) == (kind, value)
            assert text[found.start : found.end] == value


@pytest.mark.parametrize(
    "text",
    [
        "create a purchase order and/or an invoice",
        "toggle read/write access, on/off",
        "don't close the customers' cases, it's Jan's job",
        "a well-known e-mail problem: state-of-the-art",
        "show me the top five items; I want them now",
        "getLeaveBalance purchase_order UserProfile",
        "What is this?! ... -- ***",
    ],
)
def test_words_are_no_values(text: str) -> None:
    assert find_values(text) == ()


def _shapes(folder: Path) -> ValueShapes:
    uses = (
        ShapeUse(shape=ValueShape(r"C\-\d{5}"), tool="crm/close", parameter="case", entity="case"),
        ShapeUse(shape=ValueShape(r"Z\d{3}"), tool="fi/pay", parameter="terms", entity="payment term"),
        *(ShapeUse(shape=kind, tool="fi/pay", parameter="x", entity="x") for kind in KIND_SHAPES.values()),
    )
    write_value_shapes(folder, uses, {"crm/close": 0, "fi/pay": 1})
    return ValueShapes(folder, 2)


UNITS: list[str] = [
    *"\"'`“/.1#a \n«é;",
    "a@",
    "a/",
    "1.",
    "1 ",
    "+1 ",
    "a.b.",
    "@a",
    "A_",
    "x1-",
    "$1,",
    "1,",
    "a-",
    "~/",
    "0-",
    "() ",
    "my ",
    "the ",
    "I am ",
    "next ",
    ", ",
    ":. ",
    " and ",
    "\t ",
    "C-21066 ",
    "http://",
    "1:00 ",
    "DE89 ",
    "arn:",
    "jan 1 ",
    "12345678",
    "+1 1 1 1 ",
    "AB12 3456 7890 ",
    "a@b.c",
    "GB00AAAA",
]


def test_the_work_is_linear_in_the_length_of_a_hostile_text(tmp_path: Path, subtests: pytest.Subtests) -> None:
    shapes = _shapes(tmp_path)
    for unit in UNITS:
        with subtests.test(ascii(unit)):
            text = unit * (MAX_QUERY_CHARS // len(unit))
            with bounded_work():
                find_values(text, shapes)
                find_values(f"order {text} x", None)
                assert decompose(f"order {text} items")


# -- tools that values speak for ---------------------------------------------------------------------------------------


def _id(name: str, example: str = "") -> Parameter:
    return Parameter(name=name, required=True, example=example)


CASES = (
    Tool(id="crm/close_case", name="close_case", description="Done.", parameters=(_id("case_id", "C-21066"),)),
    Tool(id="desk/rate_case", name="rate_case", description="Stars.", parameters=(_id("case_id"),)),
    Tool(id="crm/open_case", name="open_case", description="New.", returns=(_id("number", "C-21066"),)),
    Tool(id="crm/list_rooms", name="list_rooms", description="Rooms.", parameters=(_id("building", "BLD/77-2"),)),
    Tool(id="hr/getMyProfile", name="getMyProfile", description="Who is asking.", returns=(_id("employee_id"),)),
    Tool(id="hr/get_current_user", name="get_current_user", parameters=(_id("tenant"),)),
    Tool(id="hr/get_payslips", name="get_payslips", parameters=(_id("employee_id"),)),
)
REQUEST = "that is done with, C-21066"


@pytest.fixture(scope="module")
def cases(engine_of: EngineOf) -> Snapshot:
    return engine_of(CASES).snapshot


def _support(snapshot: Snapshot, text: str) -> dict[str, float]:
    support = support_by_values(snapshot, find_values(text, snapshot.value_shapes))
    return {snapshot.tool_id(tool): strength for tool, strength in support.items()}


def test_tools_that_take_the_entity_are_supported_whether_they_show_the_shape_or_not(cases: Snapshot) -> None:
    support = _support(cases, REQUEST)
    assert 1 >= support["crm/close_case"] >= support["desk/rate_case"] > 0
    assert "crm/list_rooms" not in support and "hr/get_payslips" not in support


def test_a_filter_holds_for_what_values_bring_too(cases: Snapshot) -> None:
    request = Request(query=REQUEST, k=10, filters={"id": ["hr/*"]})
    assert all(tool.id.startswith("hr/") for tool in GraphRetriever(cases, HashingEncoder()).retrieve(request).tools)


# -- tools that a request names ----------------------------------------------------------------------------------------


NAMED = {
    "get_order(42)": ("get_order",),
    "Use crm.get_order, please.": ("crm.get_order",),
    "use getOrder": ("getOrder",),
    "use users.messages.list.": ("users.messages.list",),
    "list-open-issues": ("list-open-issues",),
    "with add#190 or get_rate#2, as in C#": ("add#190", "get_rate#2"),  # ids of tools that share a name
    "run the `pay` function": ("pay",),
    'call "get_order"': ("get_order",),
    'pay the order of customer "search"': (),
}


def test_names_are_found_as_they_are_written(subtests: pytest.Subtests) -> None:
    for text in NAMED:
        with subtests.test(ascii(text)):
            assert tool_names(text) == NAMED[text]


def test_every_tool_is_found_by_each_of_its_names_and_stands_first(engine: Engine) -> None:
    for number, tool in enumerate(engine.snapshot.tools):
        forms = (tool.id, tool.name, call_name(tool), f"{tool.namespace}.{tool.name}", f"`{tool.name}`")
        for name in forms:
            text = f"the amount of purchase orders of supplier Acme, by {name}"
            assert named_tools(engine.snapshot, text, None) == ((number,),), text
            assert engine.retriever().retrieve(Request(query=text, k=1)).tools[0].id == tool.id


def test_a_tool_that_the_caller_may_not_see_or_that_is_done_has_no_name(engine: Engine) -> None:
    hidden, text = "hr/get_employee", "use hr/get_employee or get_employee"
    asked = (
        (engine.restricted({"namespace": ["procurement"]}), Request(query=text)),
        (engine, Request(query=text, filters={"namespace": ["procurement"]})),
        (engine, Request(query=text, done=[hidden])),
    )
    for each, request in asked:
        assert hidden not in {tool.id for tool in each.retriever().retrieve(request).tools}


# -- tools that share a name -------------------------------------------------------------------------------------------


BEARERS = 20
"""More tools of one name than are looked up."""

LONGER = 40
"""Tools with further words in their names: more than are looked up, and before the others in the order of ids."""

REST = "give a spot award to an employee of the department"


def _bearer(namespace: str, name: str, description: str) -> Tool:
    return Tool(
        id=f"{namespace}/{name}",
        name=name,
        description=description,
        parameters=(Parameter(name="number", required=True),),
        metadata={"namespace": namespace},
    )


@pytest.fixture(scope="module")
def sharing(engine_of: EngineOf) -> Engine:
    """Twenty services that each have a tool ``ping``, and tools that fit another request far better."""
    tools = [
        *(_bearer(f"s{number:02}", "ping", f"Ask service {number} whether it runs.") for number in range(BEARERS)),
        *(_bearer(f"a{number:02}", "ping_printer", "Ask a printer whether it runs.") for number in range(LONGER)),
        *(_bearer(f"hr{number}", "give_spot_award", "Give a spot award to an employee.") for number in range(5)),
        _bearer("rare", "list_departments", "List the departments."),
        *(_bearer(f"b{number:02}", "list_departments_of_printer", "") for number in range(LONGER)),
    ]
    return engine_of(tools)


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
