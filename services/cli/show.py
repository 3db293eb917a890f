"""The commands ``egotools show`` and ``egotools export``: a node and its ego graph, what a value looks like, the whole graph as a file."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from egotools.values import EgoGraph, GraphEdge
from ontology.errors import InvalidArgumentError, NotFoundError
from ontology.names import canonical_name
from ontology.tool import PHRASES
from services.cli.console import plain, print_json, say, table
from services.cli.options import Json, Rare, Store
from services.jobs.plans import DEFAULT_STORE

if TYPE_CHECKING:
    from retrieval.index.value_shapes import ShapeMatch
    from retrieval.snapshot.reader import Snapshot

__all__ = ["export", "show"]

_DESCRIPTION_CHARS = 300
_MAX_ALTERNATIVES = 3
_MAX_PLACES = 3  # maximum number of places shown as evidence of an edge
_SCREEN, _MOST_EDGES = 15, 1_000_000


def show(
    entity: Annotated[
        str, typer.Argument(help="A tool id, a node key (type:name), a name in any of its forms, or a value.")
    ],
    store: Store = DEFAULT_STORE,
    every: Annotated[
        bool, typer.Option("--all", help="All edges and where each was read. Default: one screen.")
    ] = False,
    limit: Annotated[int | None, Rare(min=1, help="Number of edges. Default: 15, in JSON 40.")] = None,
    as_json: Json = False,
) -> None:
    """Show an entity or a tool and its edges. Of a value (INC0012345): which parameters have such values."""
    from inference.encoder import HashingEncoder
    from retrieval.engine import SnapshotEngine
    from retrieval.snapshot.reader import open_snapshot

    snapshot = open_snapshot(store)
    keys, text = _keys(snapshot, entity), entity.strip()
    matches = [match for match in snapshot.value_shapes.match(text) if match.text == text]
    if not keys and not matches:
        problem = "the graph has no node with this name"
        raise NotFoundError(problem, subject=entity, remedy=_alternatives(snapshot, entity))
    engine = SnapshotEngine(snapshot, HashingEncoder())  # nothing is encoded here, so no model is loaded
    most = _MOST_EDGES if every else limit or (40 if as_json else _SCREEN)
    egos = [engine.neighbors(key, limit=most) for key in keys]
    if as_json:
        nodes = [_to_json(snapshot, ego) for ego in egos]
        values = [_match_to_json(snapshot, match) for match in matches]
        print_json({"snapshot_id": snapshot.id, "nodes": nodes, "values": values})
        return
    for ego in egos:
        _show(snapshot, ego, every=every)
    for match in matches[:most]:
        _show_match(snapshot, match, most)


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


def _show(snapshot: Snapshot, ego: EgoGraph, *, every: bool) -> None:
    row = _to_json(snapshot, ego)
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
    edges = [
        {
            "head": edge.head,
            "predicate": edge.predicate,
            "tail": edge.tail,
            "confidence": edge.confidence,
            "evidence": _evidence(edge),
            "phrase": edge.phrase,
        }
        for edge in ego.edges
    ]
    row: dict[str, Any] = {
        "key": center.key,
        "type": center.type,
        "name": center.name,
        "degree": center.degree,
        "forms": node.surface_forms if node else (),
        "aliases": node.aliases if node else (),
        "edges": edges,
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


def _show_match(snapshot: Snapshot, match: ShapeMatch, most: int) -> None:
    named = f" ({match.shape.kind})" if match.shape.kind else ""
    say(f"[bold]{plain(match.text)}[/] looks like [bold]{plain(match.shape.pattern)}[/]{plain(named)}")
    say("  entities: " + plain(", ".join(match.entities) or "unknown"))
    rows: Sequence[dict[str, Any]] = _match_to_json(snapshot, match)["parameters"]
    shown = [(r["tool_id"], r["parameter"], "output" if r["output"] else "input", r["entity"]) for r in rows[:most]]
    table("Parameters", ("tool", "parameter", "", "entity"), shown)
    if len(rows) > most:
        say(f"… {len(rows) - most:,} more parameters (--all)")


def _match_to_json(snapshot: Snapshot, match: ShapeMatch) -> dict[str, Any]:
    parameters = [
        {
            "tool_id": snapshot.tool_id(use.tool),
            "parameter": use.parameter,
            "output": use.output,
            "entity": use.entity,
            "source": use.source,
        }
        for use in match.uses
    ]
    return {
        "value": match.text,
        "pattern": match.shape.pattern,
        "kind": match.shape.kind,
        "specificity": match.specificity,
        "entities": list(match.entities),
        "parameters": parameters,
    }


_ENDINGS = {".graphml": "graphml", ".json": "json", ".cypher": "cypher", ".cql": "cypher", ".ttl": "turtle"}


def export(
    out: Annotated[Path, typer.Argument(help="File to write.")],
    store: Store = DEFAULT_STORE,
    form: Annotated[
        str,
        typer.Option("--format", "-f", help="graphml, json, cypher or turtle. Default: by the ending of the file."),
    ] = "",
    as_json: Json = False,
) -> None:
    """Write the tool graph to a file for other programs."""
    from ingest.export import export_graph
    from retrieval.snapshot.graph_views import snapshot_graph
    from retrieval.snapshot.reader import open_snapshot

    form = form or _ENDINGS.get(out.suffix.lower(), "")
    if not form:
        problem, remedy = f"the ending {out.suffix!r} names no format", f"Use one of {', '.join(_ENDINGS)}, or --format"
        raise InvalidArgumentError(problem, subject=str(out), remedy=remedy)
    graph = snapshot_graph(open_snapshot(store))
    export_graph(graph, out, form)
    written = {"file": str(out), "nodes": graph.number_of_nodes(), "edges": graph.number_of_edges()}
    if as_json:
        print_json(written)
    else:
        say(f"Wrote {written['nodes']:,} nodes and {written['edges']:,} edges to {plain(out)}")
