"""Questions on the tool graph of the shipped catalogue, with truths by NetworkX over the snapshot's graph.

What tools do was read in the catalogue's documents by hand, and not by the function that fills the graph's property ``effect``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from typing import TYPE_CHECKING

from retrieval.snapshot.graph_views import snapshot_graph
from retrieval.snapshot.reader import Snapshot
from scripts.graphseek.question import Question, Truth

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["tool_graph_questions"]

_IMPACT = "dependency and impact"
_SELECT = "selection and neighbours"
_COUNTED = "neighbourhood aggregation"
_EFFECTS = "effects"
_READING = (
    "support/get_case",
    "events/find_events",
    "facilities/listRoomBookings",
    "finance/getBudget",
    "hr/getEmployee",
    "itsm/find_user",
    "legal/get_retention_rule",
    "procurement/searchSuppliers",
    "projects/get_project",
    "sales/getCustomer",
    "warehouse/trackShipment",
    "travel/getTrip",
)
"""A tool of each line of business that only reads, by hand."""
_FINANCE_WRITES = (
    "createPayment",
    "recordSupplierInvoice",
    "releaseSupplierInvoice",
    "sendDunningNotice",
    "transferBudget",
    "postJournalEntry",
    "reverseJournalEntry",
)
"""The tools of Finance that change something, by hand."""
_READING_TOPICS = (
    "Asset Accounting",
    "Catalog",
    "Organisation",
    "Policy",
    "Products",
    "Supplier performance",
    "Treasury",
    "Working time",
    "bill of material",
    "invoice receipt",
    "master data",
    "operation",
    "plant",
    "work center",
)
"""All of whose tools only read, by hand."""
_WRITING_TOPICS = ("Safety", "inventory")
"""All of whose tools change something, by hand."""


def tool_graph_questions(snapshot: Snapshot) -> list[Question]:
    """Return the questions with their truths.

    :param snapshot: of ``examples/enterprise/catalog``.
    :raises KeyError: when a tool or parameter that a question names is not there.
    """
    truths = _Truths(snapshot)
    asked = [*_impacts(truths), *_selections(truths), *_counts(truths), *_effects(truths)]
    return [
        Question(id=f"tools-{number:02}", graph="tool_graph", family=family, text=text, truth=truth)
        for number, (family, text, truth) in enumerate(asked, start=1)
    ]


class _Truths:
    """The graph, asked by names of nodes."""

    def __init__(self, snapshot: Snapshot) -> None:

        self.graph: nx.MultiDiGraph[str] = snapshot_graph(snapshot)
        self._by_name = {(each["type"], each["name"]): node for node, each in self.graph.nodes(data=True)}

    def node(self, node_type: str, name: str) -> str:
        return self._by_name[(node_type, name)]

    def of_type(self, node_type: str) -> list[str]:
        return [node for node, each in self.graph.nodes(data=True) if each["type"] == node_type]

    def after(self, node: str, *predicates: str) -> set[str]:
        return {tail for _, tail, each in self.graph.out_edges(node, data=True) if each["predicate"] in predicates}

    def before(self, node: str, *predicates: str) -> set[str]:
        return {head for head, _, each in self.graph.in_edges(node, data=True) if each["predicate"] in predicates}

    def part(self, predicate: str) -> nx.DiGraph[str]:
        """Return the graph of one predicate."""
        import networkx as nx

        return nx.DiGraph((u, v) for u, v, each in self.graph.edges(data=True) if each["predicate"] == predicate)

    def names(self, nodes: Iterable[str]) -> Truth:
        return Truth(kind="names", parts=(tuple(sorted({str(self.graph.nodes[node]["name"]) for node in nodes})),))

    def ranking(self, node_type: str, size: Callable[[str], int], first: int) -> Truth:
        """Return the nodes of greatest size; the sizes of the first ones and of the next one differ."""
        ordered = sorted(self.of_type(node_type), key=size, reverse=True)
        sizes = [size(node) for node in ordered[: first + 1]]
        if len(set(sizes)) != len(sizes):
            raise ValueError(f"places of {node_type} are shared: {sizes}")
        return Truth(kind="ranking", parts=(tuple(str(self.graph.nodes[node]["name"]) for node in ordered[:first]),))

    def pairs(self, counts: Mapping[str, int]) -> Truth:
        rows = sorted((str(self.graph.nodes[node]["name"]), count) for node, count in counts.items())
        return Truth(kind="pairs", parts=(tuple(chain.from_iterable(rows)),))


def _number(value: int) -> Truth:
    return Truth(kind="number", parts=((float(value),),))


_Asked = tuple[str, str, Truth]


def _impacts(truths: _Truths) -> Iterable[_Asked]:
    import networkx as nx

    supplier, customer = truths.node("parameter", "supplierId"), truths.node("parameter", "customerId")
    takes_or_returns = truths.before(supplier, "has_parameter", "returns")
    supplies = truths.part("supplies")
    search = truths.node("tool", "Supplier search")
    reached = nx.single_source_shortest_path_length(supplies, search, cutoff=2)
    target = truths.node("tool", "Pay supplier invoice")
    reaching = nx.single_source_shortest_path_length(supplies.reverse(), target, cutoff=2)
    free = [node for node in truths.of_type("tool") if not truths.before(node, "depends_on")]
    yield _IMPACT, "Which tools break if supplier_id changes?", truths.names(takes_or_returns)
    yield (
        _IMPACT,
        "Which systems have tools that take the parameter customerId?",
        truths.names(
            chain.from_iterable(truths.after(tool, "has_system") for tool in truths.before(customer, "has_parameter"))
        ),
    )
    yield (
        _IMPACT,
        "Which tools does the tool 'Supplier search' supply within two steps?",
        truths.names(set(reached) - {search}),
    )
    yield (
        _IMPACT,
        "Which tools reach the tool 'Pay supplier invoice' within two steps of supplies?",
        truths.names(set(reaching) - {target}),
    )
    yield _IMPACT, "How many tools are there that no tool depends on?", _number(len(free))
    yield (
        _IMPACT,
        "Which tools depend on the tool 'Read purchase order item'?",
        truths.names(truths.before(truths.node("tool", "Read purchase order item"), "depends_on")),
    )
    yield (
        _IMPACT,
        "Which tools are resolved by the tool 'Buildings'?",
        truths.names(truths.before(truths.node("tool", "Buildings"), "resolved_by")),
    )


def _selections(truths: _Truths) -> Iterable[_Asked]:
    booking = truths.node("tool", "Book room")
    supplier = truths.node("parameter", "supplierId")
    taking, returning = truths.before(supplier, "has_parameter"), truths.before(supplier, "returns")
    legal = truths.before(truths.node("line_of_business", "Legal"), "has_line_of_business")
    yield _SELECT, "Which tools belong to the line of business Legal?", truths.names(legal)
    yield (
        _SELECT,
        "Which parameters does the tool 'Book room' take?",
        truths.names(truths.after(booking, "has_parameter")),
    )
    yield _SELECT, "Which tools take the parameter supplierId?", truths.names(taking)
    yield _SELECT, "Which tools both take and return the parameter supplierId?", truths.names(taking & returning)
    yield _SELECT, "Which tools take the parameter supplierId but do not return it?", truths.names(taking - returning)
    yield (
        _SELECT,
        "Which parameters identify a supplier?",
        truths.names(truths.before(truths.node("business_object", "supplier"), "identifies")),
    )
    yield (
        _SELECT,
        "Which values may the parameter priority have?",
        truths.names(truths.after(truths.node("parameter", "priority"), "has_value")),
    )
    yield (
        _SELECT,
        "Which topics do the tools of the system 'Sales Hub' have?",
        truths.names(
            chain.from_iterable(
                truths.after(tool, "has_topic")
                for tool in truths.before(truths.node("system", "Sales Hub"), "has_system")
            )
        ),
    )
    yield (
        _SELECT,
        "Which user roles use tools of the line of business Projects?",
        truths.names(
            chain.from_iterable(
                truths.after(tool, "has_user_role")
                for tool in truths.before(truths.node("line_of_business", "Projects"), "has_line_of_business")
            )
        ),
    )


def _counts(truths: _Truths) -> Iterable[_Asked]:
    lines, topics = truths.of_type("line_of_business"), truths.of_type("topic")
    yield (
        _COUNTED,
        "How many tools does each line of business have?",
        truths.pairs({line: len(truths.before(line, "has_line_of_business")) for line in lines}),
    )
    yield (
        _COUNTED,
        "Which parameter is taken by the most tools?",
        truths.ranking("parameter", lambda node: len(truths.before(node, "has_parameter")), 1),
    )
    yield (
        _COUNTED,
        "Which three tools supply the most tools?",
        truths.ranking("tool", lambda node: len(truths.after(node, "supplies")), 3),
    )
    yield (
        _COUNTED,
        "Which tools take at least 15 parameters?",
        truths.names(tool for tool in truths.of_type("tool") if len(truths.after(tool, "has_parameter")) >= 15),
    )
    yield (
        _COUNTED,
        "Which topics have only one tool?",
        truths.names(topic for topic in topics if len(truths.before(topic, "has_topic")) == 1),
    )
    yield _COUNTED, "How many parameters are there?", _number(len(truths.of_type("parameter")))


def _effects(truths: _Truths) -> Iterable[_Asked]:
    finance = truths.before(truths.node("line_of_business", "Finance"), "has_line_of_business")
    reading = {line for name in _READING for line in truths.after(f"tool:{name}", "has_line_of_business")}
    yield (
        _EFFECTS,
        "Which lines of business only write?",
        truths.names(line for line in truths.of_type("line_of_business") if line not in reading),
    )
    yield (
        _EFFECTS,
        "Which topics have only tools that read?",
        truths.names(truths.node("topic", name) for name in _READING_TOPICS),
    )
    yield (
        _EFFECTS,
        "Which tools of the line of business Finance only read?",
        truths.names(finance - {f"tool:finance/{name}" for name in _FINANCE_WRITES}),
    )
    yield (
        _EFFECTS,
        "Which topics only write?",
        truths.names(truths.node("topic", name) for name in _WRITING_TOPICS),
    )
