"""Graph accuracy of a parser over the shipped requests, by number of edges: ``python -m benchmarks.planners.accuracy --split test``.

A request is right when its graph is that of the set up to names and order; one that is refused is wrong. Losses are listed first, of
``dev`` by request, of ``test`` by number alone, so that nobody writes rules in view of them. ``--endpoint URL --model NAME`` measures
``llm.v1``.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any

import networkx as nx
import typer
from networkx.algorithms.isomorphism import categorical_edge_match, categorical_node_match

from benchmarks.command import run_command
from ontology.errors import EgotoolsError
from planners.query import load_parser
from planners.query.domain import read_domain
from planners.query.query_graph import GoldRequest, Parser, QueryGraph, request_set

_TODAY = date(2026, 2, 15)
_LEAD = re.compile(r"^(?:(?:in|on|at|during|from|over|since|after|before|prior to|the)\s+)+")


def same_graph(first: QueryGraph, second: QueryGraph) -> bool:
    """Whether two graphs are equal but for names and order.

    Texts are compared without case; of a filter with a date word, the preposition at its start does not count, since the operator says
    the same.
    """
    if (first.action, first.return_mode) != (second.action, second.return_mode):
        return False
    return bool(
        nx.is_isomorphic(
            _graph(first),
            _graph(second),
            node_match=categorical_node_match("label", None),
            edge_match=categorical_edge_match("label", None),
        )
    )


def _graph(graph: QueryGraph) -> Any:
    """Variables are nodes with their type, filters and whether they are returned; an edge is a node too, so that several may join two."""
    found: Any = nx.DiGraph()
    for var, kind in graph.vars.items():
        filters = sorted(
            (each.field, each.op, *(_value(each.field, value) for value in each.values))
            for each in graph.filters_of(var)
        )
        found.add_node(var, label=("variable", kind, var == graph.return_var, tuple(filters)))
    for number, edge in enumerate(graph.edges):
        found.add_node(number, label=("edge", edge.edge, edge.negated, edge.only, edge.max_hops))
        found.add_edge(edge.source, number, label="source")
        found.add_edge(number, edge.target, label="target")
    return found


def _value(field: str, value: object) -> str:
    text = " ".join(str(value).casefold().split())
    return _LEAD.sub("", text) if field == "value" else text


@dataclass(frozen=True, slots=True)
class ParsedGold:
    """What became of one request: its graph, or None where the parser refused, and why."""

    graph: QueryGraph | None
    seconds: float
    said: str = ""

    def is_right(self, gold: GoldRequest) -> bool:
        """Whether the graph is that of the set."""
        return self.graph is not None and same_graph(self.graph, gold.graph)


def sampled(domain: str, split: str) -> list[GoldRequest]:
    """Return the requests of a half."""
    return [each for each in request_set(domain) if each.split == split]


def measure(parser: Parser, requests: Sequence[GoldRequest]) -> Iterator[ParsedGold]:
    """Yield what becomes of each request."""
    for gold in requests:
        start = time.perf_counter()
        graph, said = None, ""
        try:
            graph = parser.parse(gold.request, read_domain(gold.domain), _TODAY).graph
        except EgotoolsError as error:
            said = str(error)
        yield ParsedGold(graph, time.perf_counter() - start, said)


def table(requests: Sequence[GoldRequest], outcomes: Sequence[ParsedGold]) -> list[str]:
    """The accuracy by number of edges, as lines."""
    both = list(zip(requests, outcomes, strict=True))
    right = Counter(gold.hops for gold, each in both if each.is_right(gold))
    total = Counter(gold.hops for gold in requests)
    rows = [f"{hops} edges: {right[hops]} of {total[hops]}" for hops in sorted(total)]
    seconds = sum(each.seconds for each in outcomes) / len(outcomes)
    share = 100 * right.total() / total.total()
    refused = sum(each.graph is None for each in outcomes)
    last = f"all: {right.total()} of {total.total()} = {share:.1f} %, {refused} refused, {seconds:.3f} s a request"
    return [*rows, last]


def main(
    domain: Annotated[str, typer.Option(help="personal or enterprise")] = "personal",
    split: Annotated[str, typer.Option(help="dev or test")] = "dev",
    endpoint: Annotated[str, typer.Option(help="Base URL of a chat model for the parser llm.v1.")] = "",
    model: Annotated[str, typer.Option(help="Its name.")] = "",
) -> None:
    """Print the losses and the table."""
    parser = load_parser("rules.v1")
    if endpoint:
        from inference.openai_client import OpenAIChat

        parser = load_parser("llm.v1", OpenAIChat(model, base_url=endpoint, timeout_s=1_800.0))
    requests = sampled(domain, split)
    outcomes = list(measure(parser, requests))
    print(f"{parser.name}, {domain}, {split}")
    for gold, each in zip(requests, outcomes, strict=True):
        if not each.is_right(gold):
            print(f"wrong: {gold.id} {f'{gold.request} {each.said}' if gold.split == 'dev' else ''}".rstrip())
    print(*table(requests, outcomes), sep="\n")


if __name__ == "__main__":
    run_command(main)
