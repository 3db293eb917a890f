"""The commands ``egotools build``, ``sync``, ``show``, ``export``, ``diff``, ``validate``: documents in, a snapshot out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from contextlib import nullcontext
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from egotools.values import EgoGraph, GraphEdge
from ontology.errors import CatalogError, InvalidArgumentError, NotFoundError, OntologyError
from ontology.names import canonical_name
from ontology.tool import PHRASES
from services.cli.console import (
    ProgressDisplay,
    counted,
    plain,
    print_json,
    say,
    show_facts,
    show_lines,
    show_result,
    table,
)
from services.cli.options import Json, On, Store
from services.cluster.ray_cluster import on_ray, ray_pool
from services.jobs.plans import DEFAULT_KEEP, DEFAULT_STORE, AllowedModels, BuildPlan, SigningKey

if TYPE_CHECKING:
    from ingest.build_report import BuildReport
    from ingest.trust.examine import Finding
    from ingest.trust.quarantine import FindingsReport
    from retrieval.index.value_shapes import ShapeMatch
    from retrieval.snapshot.reader import Snapshot
    from retrieval.snapshot.snapshot_diff import SnapshotDiff
    from services.jobs.source_sync import SyncReport

_EXAMPLES = 3
_SHOWN = 20  # lines of a kind of change
_UNREAD = 4  # the exit code of a catalogue error


def build(plan: BuildPlan, on: On = "local", as_json: Json = False) -> None:
    """Read tool documents, build the tool graph and publish a snapshot.

    Give credentials by reference, in a sources file (docs/sources.md): arguments of a command can be read by others.
    """
    from ingest.build_report import report_file
    from services.jobs.build import build as run

    cluster = ray_pool() if on_ray(on) else nullcontext(None)
    with ProgressDisplay(as_json=as_json) as progress, cluster as pool:
        report = run(plan, progress, pool=pool)
    if as_json:
        return print_json(report.to_json())
    file = report_file(plan.store, f"{report.snapshot_id}.json")
    _show_build(report, plan, str(file) if file.is_file() else "")


def _show_build(report: BuildReport, plan: BuildPlan, file: str) -> None:
    """Print what a person must know, at most twelve lines; the report has the rest."""
    from ingest.sources.sanitize import is_example

    secrets = [f"{document.address}: {place}" for document in report.documents for place in document.secrets]
    reused = report.reused
    show_facts(
        {
            "Documents": f"{len(report.documents):,} with {counted(report.tools, 'tool')}",
            "[yellow]Rejected[/]": _some([f"{subject} ({why})" for subject, why, _ in report.rejected_tools.all]),
            "[yellow]Secrets taken out, revoke them[/]": _some([each for each in secrets if not is_example(each)]),
            "Overlay": "; ".join(report.overlay.warnings[:_EXAMPLES]) if report.overlay else "",
            "Phrases": _phrases(report),
            **_findings(report.findings, plan.store),
            "Ranking weights": report.weights,
            "Time": f"{sum(report.seconds.values()):.1f} s; {reused.extractions:,} of {reused.of_extractions:,} extractions "
            f"and {reused.vectors:,} of {reused.of_vectors:,} vectors were there already",
            "Report": file,
        }
    )
    outcome = "[bold green]Published[/]" if plan.published else "[bold yellow]Not published[/]:"
    sizes = f"{report.tools:,} tools, {report.graph.nodes:,} nodes, {report.graph.edges:,} edges"
    say(f"{outcome} snapshot [bold]{report.snapshot_id}[/]: {sizes}")


def _some(values: Sequence[str]) -> str:
    """The first values, and how many more there are."""
    if not values:
        return ""
    more = f", … {len(values) - _EXAMPLES:,} more" if len(values) > _EXAMPLES else ""
    return f"{len(values):,}: {', '.join(values[:_EXAMPLES])}{more}"


def _phrases(report: BuildReport) -> str:
    """How many phrases there are, which rows and phrases were dropped, and what a model did not write."""
    found = report.phrases
    if found is None:
        return ""
    told = f"{found.phrases:,} of {counted(found.tools, 'tool')}"
    if found.dropped:
        told += "; dropped, see the report: " + ", ".join(f"{count:,} {why}" for why, count in found.dropped.items())
    if not (found.failed or found.stopped):
        return told
    why = f": {found.stopped}" if found.stopped else ""
    return f"{told}; {counted(found.failed, 'tool')} without an answer of the model{why}; the next build asks for them again"


def _findings(found: FindingsReport, store: Path) -> dict[str, str]:
    """How many tools have findings, and which were held back or released."""
    held = found.quarantined
    left_out = [f"{tool} ({held[tool]})" for tool in held if tool not in found.kept]
    outcome = f"{len(held):,} held back" if held else "none held back"
    look = f"{found.tools:,} tools ({found.severe:,} severe), {outcome}; see `egotools admin findings list --store {store}`"
    return {
        "Findings": look if found.tools else "",
        "[yellow]Quarantined[/], not in the snapshot": _some(left_out),
        "[yellow]Quarantined[/], in the snapshot as published before": _some(list(found.kept)),
        "Released by approvals": _some(list(found.approved)),
    }


def sync(
    addresses: Annotated[list[str], Argument(metavar="ADDRESS", help="Sources files, or NAME=ADDRESS.")],
    store: Store = DEFAULT_STORE,
    strict: Annotated[bool, Option("--strict", help="Publish nothing when a record cannot be read.")] = False,
    findings: Annotated[str | None, Option("--findings", help="As of build.")] = None,
    keep: Annotated[int, Option(min=0, envvar="EGOTOOLS_KEEP", help="Snapshots that stay; 0: all.")] = DEFAULT_KEEP,
    signing_key: SigningKey = None,
    allowed_models: AllowedModels = (),
    workers: Annotated[int, Option(min=1, help="As of build.")] = 2,
    as_json: Json = False,
) -> None:
    """Read the sources again, build what changed, and publish it as one snapshot.

    The snapshot has the tools of these sources and no others. A source that cannot be read keeps its published tools; the exit code is then 4.
    """
    from ingest.trust.quarantine import read_record
    from services.jobs.source_sync import sync_sources

    plan = BuildPlan(
        addresses=tuple(addresses),
        store=store,
        strict=strict,
        keep=keep,
        signing_key=signing_key,
        workers=workers,
        findings=findings or read_record(store).policy,
    )
    report = sync_sources(plan, allowed_models=allowed_models)
    _show_sync(report, store, as_json=as_json)
    if report.kept:
        raise typer.Exit(_UNREAD)


def _show_sync(report: SyncReport, store: Path, *, as_json: bool) -> None:
    told = report.to_json()
    if as_json:
        return print_json(told)
    outcome = "Unchanged" if report.snapshot_id == report.previous_id else "[bold green]Published[/]"
    counts = f"{len(report.added):,} added, {len(report.changed):,} changed, {len(report.removed):,} removed"
    say(f"{outcome}: snapshot [bold]{plain(report.snapshot_id)}[/]: {report.tools:,} tools, {counts}")
    show_result({name: told[name] for name in ("added", "changed", "removed", "kept")}, _SHOWN)
    show_facts(_findings(report.build.findings, store))


_DESCRIPTION_CHARS = 300
_MAX_ALTERNATIVES = 3
_MAX_PLACES = 3  # maximum number of places shown as evidence of an edge
_SCREEN, _JSON, _ALL = 15, 40, 1_000_000  # edges


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
        _show_node(row, ego, every=every)
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


def _show_node(row: dict[str, Any], ego: EgoGraph, *, every: bool) -> None:
    say(f"[bold]{plain(row['key'])}[/] ({plain(row['type'])}), degree {row['degree']}")
    for title in ("forms", "aliases"):
        show_lines(title, [f"{name} ({known})" for name, known in row[title]], _ALL if every else _SCREEN)
    if row.get("description"):
        say("  " + plain(" ".join(row["description"].split())))
    show_result({"phrases": row.get("phrases", {})})
    if every:
        names = ("head", "predicate", "tail", "confidence", "evidence")
        return table("Ego graph", names, [[edge[name] for name in names] for edge in row["edges"]])
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
    as_json: Json = False,
) -> None:
    """Write the tool graph to a JSON file for other programs, or into a Neo4j database, in place of the graph that is there."""
    from ingest.export import export_graph
    from ingest.neo4j import parse_bolt_address, write_neo4j
    from retrieval.snapshot.graph_views import snapshot_graph
    from retrieval.snapshot.reader import open_snapshot

    if not out.strip():
        remedy = "A variable of the shell may not be set; name a file"
        raise InvalidArgumentError("it is empty", subject="OUT", remedy=remedy)
    kind, _, address = out.partition(":")
    database = parse_bolt_address(address, feature="egotools export") if kind == "neo4j" else None
    if database is None and Path(out).suffix.lower() != ".json":
        problem, remedy = f"the ending {Path(out).suffix!r} is not .json", "A database is neo4j:bolt://HOST:PORT"
        raise InvalidArgumentError(problem, subject=out, remedy=remedy)
    graph = snapshot_graph(open_snapshot(store))
    if database is not None:
        write_neo4j(database, graph)
        out = database.shown
    else:
        export_graph(graph, Path(out))
    written = {"file": out, "nodes": graph.number_of_nodes(), "edges": graph.number_of_edges()}
    if as_json:
        return print_json(written)
    say(f"Wrote {written['nodes']:,} nodes and {written['edges']:,} edges to {plain(out)}")


DIFFERENT = 17
"""The exit code when the snapshots differ. 1 and 2 are those of errors."""
_KNOWN = 10


def diff(
    old: Annotated[str, Argument(help="Before: a store, the folder of a snapshot, or its id in the store.")],
    new: Annotated[str | None, Argument(help="After. Without: OLD, after the published one.")] = None,
    store: Store = DEFAULT_STORE,
    limit: Annotated[int, Option(min=1, help="Lines for each kind of change.")] = 20,
    as_json: Json = False,
) -> None:
    """Show what changes from one snapshot to another: tools, edges between them, entities, settings.

    The exit code is 0 when the snapshots are equal, and 17 when they differ.
    """
    from retrieval.snapshot.reader import open_snapshot
    from retrieval.snapshot.snapshot_diff import diff_snapshots

    if not old.strip() or (new is not None and not new.strip()):
        remedy = "A variable of the shell may not be set; name a store, the folder of a snapshot, or an id"
        raise InvalidArgumentError("the name of a snapshot is empty", subject="OLD and NEW", remedy=remedy)
    before = open_snapshot(store) if new is None else _open(old, store)
    after = _open(old if new is None else new, store)
    found = diff_snapshots(before, after)
    findings = _new_findings(before, after, found)
    told = {**found.to_json(), "findings": [finding.to_json() for finding in findings]}
    if as_json:
        print_json(told)
    elif found.same:
        say("The snapshots are equal.")
    else:
        show_result(told, limit)
    if not found.same:
        raise typer.Exit(DIFFERENT)


def _new_findings(before: Snapshot, after: Snapshot, found: SnapshotDiff) -> list[Finding]:
    """The findings in tools that were added or changed, compared with the snapshot before: of documents, as a build examines them."""
    from ingest.trust.examine import findings_of
    from services.jobs.build import as_read

    ids = {*found.tools.added, *(tool.id for tool in found.tools.changed)}
    if not ids:
        return []
    tools = [as_read(after.tool(number)) for number in range(after.tool_count)]
    old = (as_read(before.tool(number)) for number in range(before.tool_count))
    new = [tool for tool in tools if tool.id in ids]
    return findings_of(new, {tool.id: tool for tool in old if tool.id in ids}, beside=tools)


def _open(name: str, store: Path) -> Snapshot:
    """Open a snapshot by the path of a store or of its folder, or by the beginning of its id in the store.

    :raises NotFoundError: when there is none; InvalidArgumentError when several ids begin so.
    """
    from retrieval.snapshot.publish import SNAPSHOTS
    from retrieval.snapshot.reader import open_snapshot

    if Path(name).is_dir():
        return open_snapshot(Path(name))
    ids = sorted(path.name for path in (store / SNAPSHOTS).glob("*") if path.is_dir())
    found = [id_ for id_ in ids if id_.startswith(name)]
    if not found:
        known = f"It has {', '.join(ids[-_KNOWN:])}" if ids else "Name a store or the folder of a snapshot"
        raise NotFoundError(f"no folder, and no snapshot of the store {store}", subject=name, remedy=known)
    if len(found) > 1:
        problem = f"{len(found)} snapshots of the store {store} begin so"
        remedy = f"Write more of the id: {', '.join(found[:_KNOWN])}"
        raise InvalidArgumentError(problem, subject=name, remedy=remedy)
    return open_snapshot(store / SNAPSHOTS / found[0])


_KEYS = {
    "entity_types": "ontology",
    "predicates": "ontology",
    "rules": "server",
    "catalogs": "server",
}
"""Key at the left margin of a YAML file that neither is a sources file nor an overlay → what the file is."""


def validate(
    paths: Annotated[
        list[str],
        typer.Argument(
            help="Documents, sources, overlay and ontology files, access policies, catalogues files; a store or the folder of one snapshot."
        ),
    ],
    as_json: Json = False,
) -> None:
    """Check documents, files of settings or a snapshot, and list every fault. Nothing that a file names is read.

    The exit code is 5 for faults of a file of settings, 4 for rejected records of documents, 6 for a damaged snapshot.
    """
    named: defaultdict[str, list[str]] = defaultdict(list)
    for path in paths:
        named[_kind(Path(path))].append(path)
    summaries: dict[str, Any] = {}
    faults: list[tuple[str, str]] = []
    for kind in ("ontology", "sources", "overlays", "server"):
        if files := named[kind]:
            found = [fault for file in files for fault in _faults(kind, Path(file))]
            summaries[kind] = {"files": len(files), "faults": len(found)}
            faults += found
    rejected: list[tuple[str, str]] = []
    if named["documents"]:
        summaries["documents"], rejected = _check_documents(named["documents"])
    for store in named["snapshot"]:
        summaries["snapshot"] = _check_snapshot(Path(store))
    if as_json:
        findings = [{"where": where, "problem": problem} for where, problem in (*faults, *rejected)]
        print_json({**summaries, "findings": findings})
    else:
        for where, problem in (*faults, *rejected):
            say(f"[yellow]{plain(where)}[/]: {plain(problem)}")
        for name, summary in summaries.items():
            say(plain(f"{name}: " + ", ".join(f"{key} {value}" for key, value in summary.items())))
    if faults or rejected:
        raise typer.Exit(OntologyError.exit_code if faults else CatalogError.exit_code)


def _kind(path: Path) -> str:
    """What a path is."""
    from ingest.overlay.overlay_file import is_overlay_file
    from ingest.sources.sources_file import is_sources_file
    from retrieval.snapshot.manifest import MANIFEST

    if (path / "CURRENT").is_file() or (path / MANIFEST).is_file():
        return "snapshot"
    if is_sources_file(path):
        return "sources"
    if is_overlay_file(path):
        return "overlays"
    return _KEYS.get(_key(path), "documents")


def _key(path: Path) -> str:
    """The first key at the left margin of a YAML file that tells what it is; empty for other files."""
    if path.suffix not in (".yaml", ".yml") or not path.is_file():
        return ""
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    return next((key for key in (line.partition(":")[0] for line in lines) if key in _KEYS), "")


def _faults(kind: str, path: Path) -> list[tuple[str, str]]:
    """The faults of a file of settings: where, and what."""
    if kind == "server":
        from services.server.access.policy import read_policy
        from services.server.settings import read_catalogs

        try:
            _ = read_policy(path) if _key(path) == "rules" else read_catalogs(path)
        except InvalidArgumentError as error:
            return [(str(path), f"{error.problem}. {error.remedy}".strip(" ."))]
        return []
    from ingest.overlay.overlay_file import check_overlay
    from ingest.sources.sources_file import check_sources
    from ontology.ontology import check_ontology

    _, found = {"ontology": check_ontology, "sources": check_sources, "overlays": check_overlay}[kind](path)
    return [(f"{path}:{each.line}", f"{each.problem}. {each.remedy}".strip(" .")) for each in found]


def _check_documents(addresses: Sequence[str]) -> tuple[dict[str, int], list[tuple[str, str]]]:
    """The counts of a catalogue, and its rejected records.

    :raises CatalogError: when no tool can be read at all.
    """
    from ingest.sources import read_catalog

    catalog = read_catalog(addresses)
    summary = {"tools": len(catalog.tools), "rejected": len(catalog.rejected), **catalog.rejected_by_reason()}
    return summary, [(each.subject, f"{each.reason}: {each.detail}") for each in catalog.rejected]


def _check_snapshot(store: Path) -> dict[str, str | int]:
    """Open a snapshot and check every hash.

    :raises SnapshotError: for a file that differs, with its name.
    """
    from retrieval.ranking.weights import weights_of
    from retrieval.snapshot.reader import open_snapshot

    snapshot = open_snapshot(store, verify=True)
    weights_of(snapshot)  # names and ranges; the manifest itself is checked for its form only
    return {"snapshot_id": snapshot.id, "files": len(snapshot.manifest.files), "tools": snapshot.tool_count}
