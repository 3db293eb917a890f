"""The stores that the conformance suite runs over: one more is one more entry of ``STORES``, and its language in ``texts.yaml``."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TypeAlias

import pytest
import yaml

from planners.calls.sandbox import Sandbox, SandboxLimits
from planners.stores import open_graph
from planners.stores.property_graph import GraphState, Properties, PropertyGraph
from tests.harness.waiting import LIMIT_S

Opened: TypeAlias = AbstractAsyncContextManager[PropertyGraph]


def _memory(request: pytest.FixtureRequest) -> Opened:
    request.getfixturevalue("needs_sandbox")
    return open_graph("memory", Sandbox(SandboxLimits(seconds=LIMIT_S)))


def _rdf(request: pytest.FixtureRequest) -> Opened:
    pytest.importorskip("pyoxigraph", reason="the extra `rdf` is not installed")
    request.getfixturevalue("needs_sandbox")
    return open_graph("rdf", Sandbox(SandboxLimits(seconds=LIMIT_S)))


def _neo4j(request: pytest.FixtureRequest) -> Opened:
    pytest.importorskip("neo4j", reason="the extra `neo4j` is not installed")
    return open_graph(f"neo4j:{request.getfixturevalue('neo4j_address')}")


STORES: dict[str, Callable[[pytest.FixtureRequest], Opened]] = {"memory": _memory, "rdf": _rdf, "neo4j": _neo4j}
SLOW = {"neo4j"}
PARAMS = [pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else [], id=name) for name in STORES]

TEXTS: dict[str, dict[str, str]] = yaml.safe_load(Path(__file__).with_name("texts.yaml").read_text("utf-8"))


def contents(state: GraphState) -> tuple[list[object], list[object]]:
    """Return what stands in a state whatever the order of its nodes: values with their types."""
    nodes = {node.id: (node.label, typed(node.properties)) for node in state.nodes}
    edges = [(edge.type, nodes[edge.source], nodes[edge.target], typed(edge.properties)) for edge in state.edges]
    return sorted(nodes.values(), key=repr), sorted(edges, key=repr)


def typed(properties: Properties) -> list[tuple[str, str]]:
    """Return properties such that 1, 1.0 and true differ."""
    return [(name, repr(value)) for name, value in sorted(properties.items())]
