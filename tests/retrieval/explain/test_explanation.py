"""The line of each returned tool: what it says, that it is true, and that it never has more than 25 words."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inference import HashingEncoder
from ontology import Ontology, Parameter, Tool
from retrieval.engine import Engine
from retrieval.explain.explanation import MAX_WORDS
from retrieval.query.request import Request
from retrieval.snapshot.reader import open_snapshot
from tests.retrieval.conftest import content_of, published

LONG = "a very long name of forty words " * 12


def _odd_tools() -> list[Tool]:
    """Tools with names, inputs and descriptions that documents should not have."""
    names = [
        "list of \n many  words in one name",
        "x" * 400,
        "删除订单",
        "delete🎉order",
        "a",
        LONG.strip(),
        "get_id",
        "ALL CAPS",
    ]
    inputs = [
        "order id of the customer",
        "a.b[].c d e",
        "заказ_id",
        LONG.strip(),
        "id",
        "x" * 300,
        "order_id",
        "Query  string",
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
def odd(tmp_path_factory: pytest.TempPathFactory, ontology: Ontology) -> Engine:
    folder = tmp_path_factory.mktemp("odd")
    published(folder, content_of(_odd_tools(), ontology))
    return Engine(open_snapshot(folder), HashingEncoder())


_PIECES = st.sampled_from(
    [
        "delete order",
        "ORD-10482",
        "customer 4500118277",
        "'two words'",
        "删除订单",
        "get rid of",
        LONG,
        "a@b.co",
        "\n",
        "—",
        "заказ",
        "x" * 90,
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


def _line(engine: Engine, query: str, tool: str, **others: object) -> str:
    request = Request(query=query, k=6, explain=False, explanation=True, **others)  # type: ignore[arg-type]
    lines = {each.id: each.explanation for each in engine.retriever().retrieve(request).tools}
    return lines[tool]


AWARD, ORDER = "hr/give_spot_award", "procurement/create_purchase_order"


def test_it_says_which_other_inputs_the_tool_takes(engine: Engine) -> None:
    assert "takes supplier_id, amount" in _line(engine, "create a purchase order with the supplier Acme", ORDER)


def test_a_value_beside_its_noun_fills_the_input_and_needs_no_supplier(engine: Engine) -> None:
    line = _line(engine, "give employee 48812 a spot award", AWARD)
    assert "employee_id is 48812" in line and "first for employee_id" not in line


def test_what_the_caller_has_is_neither_open_nor_looked_up(engine: Engine) -> None:
    asked = "create a purchase order with the supplier Acme"
    assert "supplier_id" in _line(engine, asked, ORDER)
    assert "supplier_id is S-17" in _line(engine, asked, ORDER, have={"supplier": "S-17"})
    assert "supplier_id" not in _line(engine, asked, ORDER, have={"supplierId": ""})
