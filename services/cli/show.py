"""The commands ``egotools show`` and ``egotools export``: a node and its ego graph, what a value looks like, the whole graph."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from egotools.values import EgoGraph, GraphEdge
from ontology.errors import InvalidArgumentError, NotFoundError
from ontology.names import canonical_name
from ontology.tool import PHRASES
from services.cli.console import plain, print_json, say, show_result, table
from services.cli.options import Json, Store
from services.jobs.plans import DEFAULT_STORE

if TYPE_CHECKING:
    from retrieval.index.value_shapes import ShapeMatch
    from retrieval.snapshot.reader import Snapshot

__all__ = ["export", "show"]

_DESCRIPTION_CHARS = 300
_MAX_ALTERNATIVES = 3
_MAX_PLACES = 3  # maximum number of places shown as evidence of an edge
_SCREEN, _JSON, _ALL = 15, 40, 1_000_000  # edges
_ENDINGS = {".graphml": "graphml", ".json": "json", ".cypher": "cypher", ".cql": "cypher", ".ttl": "turtle"}


def show(
    entity: Annotated[str, Argument(help="A tool id, a node key (type:name), a name, or a value.")],
    store: Store = DEFAULT_STORE,
    every: Annotated[bool, Option("--all", help="All edges, and where each was read.")] = False,
    as_json: Json = False,
) -> None:
    """Show an entity or a tool and its edges. Of a value (INC0012345): which parameters have such values."""
    from inference.encoder import HashingEncoder
    from retrieval.engine import Engine
    from retrieval.snapshot.reader import open_snapshot

    snapshot = open_snapshot(store)
    keys, text = _keys(snapshot, entity), entity.strip()
    matches = [match for match in snapshot.value_shapes.match(text) if match.text == text]
    if not keys and not matches:
        problem = "the graph has no node with this name"
        raise NotFoundError(problem, subject=entity, remedy=_alternatives(snapshot, entity))
    engine = Engine(snapshot, HashingEncoder())  # nothing is encoded here, so no model is loaded
    most = _ALL if every else _JSON if as_json else _SCREEN
    nodes = [(_to_json(snapshot, ego), ego) for ego in (engine.neighbors(key, limit=most) for key in keys)]
    values = [_match_to_json(snapshot, match) for match in matches]
    if as_json:
        return print_json({"snapshot_id": snapshot.id, "nodes": [row for row, _ in nodes], "values": values})
    for row, ego in nodes:
        _show(row, ego, every=every)
    for value in values[:most]:
        show_result(value, most)


def _keys(snapshot: Snapshot, entity: str) -> list[str]:
    """The keys of every node that a tool id, a node key, or a name in any of its forms may mean."""
    for key in (entity, f"tool:{entity}"):
        if snapshot.find_node(key) is not None:
            return [key]
    name = canonical_name(entity, snapshot.abbreviations)
    keyed = [f"{kind}:{name}" for kind in snapshot.manifest.counts.nodes if kind != "tool"]
    found = [key for key in keyed if snapshot.find_node(key) is not None]
    named = [snapshot.node_key(int(number)) for number in snapshot.ngrams[name]]  # also by a synonym or an alias
    return list(dict.fromkeys((*found, *named)))


def _alternatives(snapshot: Snapshot, entity: str) -> str:
    """The remedy for a name that no node has: names that differ by a few letters."""
    count = sum(snapshot.manifest.counts.nodes.values())
    names = {snapshot.node_key(number).partition(":")[2] for number in range(count)}
    near = get_close_matches(canonical_name(entity, snapshot.abbreviations), sorted(names), n=_MAX_ALTERNATIVES)
    return f"Is it {' or '.join(map(repr, near))}" if near else "Try `egotools search` with the same words"


def _show(row: dict[str, Any], ego: EgoGraph, *, every: bool) -> None:
    say(f"[bold]{plain(row['key'])}[/] ({plain(row['type'])}), degree {row['degree']}")
    for title, values in (("surface forms", row["forms"]), ("aliases", row["aliases"])):
        if values:
            more = f", … {len(values) - _SCREEN:,} more" if len(values) > _SCREEN and not every else ""
            said = ", ".join(f"{name} ({known})" for name, known in values[: None if every else _SCREEN])
            say(f"  {title}: {plain(said + more)}")
    if row.get("description"):
        say("  " + plain(" ".join(row["description"].split())))
    if phrases := row.get("phrases"):
        by, not_for = phrases.get("by", ""), phrases.get("not_for", "")
        told = f"{'; '.join(phrases['texts'])}{f'. Not for: {not_for}' if not_for else ''}{f' ({by})' if by else ''}"
        say(f"  phrases: {plain(told)}")
    if every:
        rows = [(e.head, e.predicate, e.tail, f"{e.confidence:.2f}", _evidence(e)) for e in ego.edges]
        table("Ego graph", ("head", "predicate", "tail", "confidence", "evidence"), rows)
        return
    for edge in ego.edges:
        say(plain(f"  {edge.head} {edge.predicate} {edge.tail}"))
    if ego.truncated:
        say(f"  … {ego.total_degree - len(ego.edges):,} more edges (--all)")


def _to_json(snapshot: Snapshot, ego: EgoGraph) -> dict[str, Any]:
    center = ego.center
    number = snapshot.find_node(center.key)
    node = snapshot.nodes[number] if number is not None else None
    names = ("head", "predicate", "tail", "confidence")
    row: dict[str, Any] = {
        "key": center.key,
        "type": center.type,
        "name": center.name,
        "degree": center.degree,
        "forms": node.surface_forms if node else (),
        "aliases": node.aliases if node else (),
        "edges": [
            {**{name: getattr(each, name) for name in names}, "evidence": _evidence(each), "phrase": each.phrase}
            for each in ego.edges
        ],
        "hidden_edges": ego.total_degree - len(ego.edges),
    }
    if center.tool_id:
        tool = snapshot.tool(snapshot.tool_number(center.tool_id))
        row["description"] = tool.description[:_DESCRIPTION_CHARS]
        if PHRASES in tool.metadata:
            row["phrases"] = tool.metadata[PHRASES]
    return row


def _evidence(edge: GraphEdge) -> str:
    return ", ".join(sorted({f"{place.tool_id} {place.field}" for place in edge.provenance})[:_MAX_PLACES])


def _match_to_json(snapshot: Snapshot, match: ShapeMatch) -> dict[str, Any]:
    names = ("parameter", "output", "entity", "source")
    return {
        "value": match.text,
        "pattern": match.shape.pattern,
        "kind": match.shape.kind,
        "specificity": match.specificity,
        "entities": list(match.entities),
        "parameters": [
            {"tool_id": snapshot.tool_id(use.tool), **{name: getattr(use, name) for name in names}}
            for use in match.uses
        ],
    }


def export(
    out: Annotated[str, Argument(help="File to write, or neo4j:bolt://USER:PASSWORD@HOST:PORT.")],
    store: Store = DEFAULT_STORE,
    form: Annotated[str, Option("--format", "-f", help="graphml, json, cypher or turtle.")] = "",
    as_json: Json = False,
) -> None:
    """Write the tool graph to a file for other programs, or into a Neo4j database, in place of the graph that is there."""
    from ingest.export import export_graph
    from ingest.neo4j import parse_bolt_address, write_neo4j
    from retrieval.snapshot.graph_views import snapshot_graph
    from retrieval.snapshot.reader import open_snapshot

    if not out.strip():
        remedy = "A variable of the shell may not be set; name a file"
        raise InvalidArgumentError("it is empty", subject="OUT", remedy=remedy)
    kind, _, address = out.partition(":")
    database = parse_bolt_address(address, feature="egotools export") if kind == "neo4j" else None
    form = form or _ENDINGS.get(Path(out).suffix.lower(), "")
    if database is None and not form:
        problem, remedy = (
            f"the ending {Path(out).suffix!r} names no format",
            f"Use one of {', '.join(_ENDINGS)}, or --format",
        )
        raise InvalidArgumentError(problem, subject=out, remedy=remedy)
    graph = snapshot_graph(open_snapshot(store))
    if database is not None:
        write_neo4j(database, graph)
        out = database.shown
    else:
        export_graph(graph, Path(out), form)
    written = {"file": out, "nodes": graph.number_of_nodes(), "edges": graph.number_of_edges()}
    if as_json:
        return print_json(written)
    say(f"Wrote {written['nodes']:,} nodes and {written['edges']:,} edges to {plain(out)}")
