"""Python over a NetworkX graph: what goes into the sandbox, the program there, and what comes back."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ontology.errors import StatementError
from planners.stores.property_graph import Properties, Value
from planners.stores.property_rows import EdgeRow, NodeRow, PropertyRows
from planners.stores.property_values import checked_name, checked_properties

__all__ = ["graph_request", "networkx_program", "node_names", "rows_of_reply"]

_PROGRAM = """\
import json, sys, traceback
import networkx as nx
request = json.load(sys.stdin)
G = nx.MultiDiGraph()
for name, attributes in request["nodes"]:
    G.add_node(name, **attributes)
for source, target, attributes in request["edges"]:
    G.add_edge(source, target, **attributes)
space = {"G": G, "nx": nx, "networkx": nx, "parameters": request["parameters"], "__name__": "__main__"}
out, sys.stdout = sys.stdout, sys.stderr
try:
    exec(compile(request["code"], "code", "exec"), space)
    if request["mode"] == "read":
        if "result" not in space:
            raise NameError("the code sets no variable named result")
        result = space["result"]
        if isinstance(result, (set, frozenset, type({}.keys()), type({}.values()), type({}.items()))) or hasattr(result, "__next__"):
            result = sorted(result, key=repr) if isinstance(result, (set, frozenset)) else list(result)
        if hasattr(result, "data") and not isinstance(result, (str, dict, list, tuple)):
            result = list(result)
        if isinstance(result, (list, tuple)):
            result = list(result)[: request["most"] + 1]
        reply = {"result": result}
    else:
        G = space["G"]
        number = {name: at for at, name in enumerate(G.nodes)}
        reply = {
            "nodes": [[str(name), dict(attributes)] for name, attributes in G.nodes(data=True)],
            "edges": [[number[s], number[t], dict(attributes)] for s, t, attributes in G.edges(data=True)],
        }
    text = json.dumps(reply, default=lambda value: sorted(value, key=repr) if isinstance(value, (set, frozenset)) else str(value))
except BaseException:
    text = json.dumps({"fault": traceback.format_exc(limit=-3)})
out.write(text)
out.flush()
"""


def networkx_program() -> str:
    """Return the program that runs the code of a request; it reads the request from stdin and writes one JSON object."""
    return _PROGRAM


def graph_request(
    rows: PropertyRows, code: str, parameters: Mapping[str, Value], mode: str, most: int
) -> dict[str, Any]:
    """Return what the program reads.

    :param mode: ``read`` or ``write``.
    :param most: rows of a result.
    """
    names = dict(zip(rows.nodes, node_names(rows), strict=True))
    return {
        "code": code,
        "mode": mode,
        "most": most,
        "parameters": dict(parameters),
        "nodes": [[names[key], _attributes("label", row.label, row.properties)] for key, row in rows.nodes.items()],
        "edges": [
            [names[row.source], names[row.target], _attributes("type", row.type, row.properties)]
            for row in rows.edges.values()
        ],
    }


def node_names(rows: PropertyRows) -> list[str]:
    """Return the names that the nodes have in ``G``, in their order."""
    return [f"n{at + 1}" for at in range(len(rows.nodes))]


def rows_of_reply(reply: Mapping[str, Any]) -> PropertyRows:
    """Return the graph that a statement left.

    :raises StatementError: when it is none, holds what stores do not keep, or is too large.
    """
    rows = PropertyRows()
    try:
        keys = [rows.add_node(_node(name, attributes)) for name, attributes in reply["nodes"]]
        for source, target, attributes in reply["edges"]:
            kind, properties = _taken_apart("type", attributes, "an edge")
            rows.add_edge(EdgeRow(type=kind, source=keys[source], target=keys[target], properties=properties))
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, RecursionError) as error:
        raise StatementError(f"the code leaves no graph: {error!r}", remedy="Change G, and leave it a graph") from error
    return rows


def _node(name: object, attributes: Mapping[str, object]) -> NodeRow:
    if not isinstance(name, str):
        raise TypeError("the name of a node is no text")
    label, properties = _taken_apart("label", attributes, f"the node {name[:40]!r}")
    return NodeRow(label=label, properties=properties)


def _attributes(own: str, name: str, properties: Properties) -> dict[str, object]:
    return {own: name} | {
        f"{key}_" if re.fullmatch(f"{own}_*", key) else key: list(value) if isinstance(value, tuple) else value
        for key, value in properties.items()
    }


def _taken_apart(own: str, attributes: Mapping[str, object], what: str) -> tuple[str, Properties]:
    if own not in attributes:
        raise StatementError(
            f"{what} has no attribute {own}", subject=own, remedy=f"Set {own} on all that is added to G"
        )
    properties = {
        key[:-1] if re.fullmatch(f"{own}_+", key) else key: value for key, value in attributes.items() if key != own
    }
    return checked_name(attributes[own], f"the {own} of {what}"), checked_properties(properties)
