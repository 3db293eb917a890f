"""Claims that a tool must be called first: only where they are likely true and of use."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from inference import HashingEncoder
from ingest.linking.edges import DerivedEdge
from ontology import Ontology, Parameter, Tool
from retrieval.engine import Engine
from retrieval.query.request import Request
from retrieval.snapshot.reader import open_snapshot
from tests.retrieval.conftest import content_of, published


def _tool(name: str, inputs: tuple[str, ...], outputs: tuple[str, ...], description: str = "") -> Tool:
    return Tool(
        id=f"shop/{name}",
        name=name,
        description=description or name.replace("_", " "),
        parameters=tuple(Parameter(name=each, required=True) for each in inputs),
        returns=tuple(Parameter(name=each) for each in outputs),
        metadata={"namespace": "shop"},
    )


TOOLS = (
    _tool("refund_payment", ("payment_ref",), ("refund_ref",)),
    _tool("list_payments", (), ("payments[].ref",)),
    _tool("make_payment", (), ("ref",)),
    _tool("create_report", ("report_name",), ()),
    _tool("list_reports", (), ("reports[].name",)),
)


def _engine(folder: Path, ontology: Ontology, edges: Mapping[tuple[str, str, str, str], float]) -> Engine:
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
    published(folder, content_of(TOOLS, ontology, derived))
    return Engine(open_snapshot(folder), HashingEncoder())


LIST = ("list_payments", "payments[].ref", "refund_payment", "payment_ref")
MAKE = ("make_payment", "ref", "refund_payment", "payment_ref")
CLAIM = "call shop/list_payments first for payment_ref"


def _line(engine: Engine, query: str, tool: str, k: int = 5, **others: object) -> str:
    request = Request(query=query, k=k, explain=False, explanation=True, **others)  # type: ignore[arg-type]
    return {each.id: each.explanation for each in engine.retriever().retrieve(request).tools}[f"shop/{tool}"]


@pytest.mark.parametrize(("confidence", "claimed"), [(0.95, True), (0.85, False)])
def test_only_of_an_edge_that_is_likely_true(
    tmp_path: Path, ontology: Ontology, confidence: float, claimed: bool
) -> None:
    engine = _engine(tmp_path, ontology, {LIST: confidence})
    assert (CLAIM in _line(engine, "refund the payment", "refund_payment")) == claimed


def test_a_tool_that_makes_the_object_is_not_named(tmp_path: Path, ontology: Ontology) -> None:
    engine = _engine(tmp_path, ontology, {MAKE: 0.97})
    assert "make_payment first" not in _line(engine, "make payment and refund", "refund_payment")


def test_an_executed_supplier_is_used_and_not_called_again(tmp_path: Path, ontology: Ontology) -> None:
    engine = _engine(tmp_path, ontology, {LIST: 0.97})
    line = _line(engine, "refund the payment", "refund_payment", done=("shop/list_payments",))
    assert "use the result of shop/list_payments for payment_ref" in line and "first" not in line


@pytest.mark.parametrize(("confidence", "said"), [(0.97, "gives"), (0.7, "can give")])
def test_a_supporting_tool_says_what_it_gives_to_which_tool(
    tmp_path: Path, ontology: Ontology, confidence: float, said: str
) -> None:
    engine = _engine(tmp_path, ontology, {LIST: confidence})
    line = _line(engine, "refund the payment", "list_payments")
    assert f"{said} payment_ref to shop/refund_payment" in line


def test_a_supporting_tool_does_not_give_what_the_request_gives(tmp_path: Path, ontology: Ontology) -> None:
    engine = _engine(tmp_path, ontology, {LIST: 0.97})
    asked = "refund the payment with ref PAY-9"
    assert "payment_ref is PAY-9" in _line(engine, asked, "refund_payment")
    assert "payment_ref" not in _line(engine, asked, "list_payments")
