"""The commands ``egotools build``, ``sync``, ``show``, ``export``, ``diff``, ``validate``: documents in, a snapshot out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from egotools.values import EgoGraph
from ontology.errors import CatalogError, EgotoolsError, InvalidArgumentError, NotFoundError, OntologyError
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
from services.cli.options import Json, On, Store, near_names
from services.cluster.ray_cluster import on_ray, ray_pool
from services.jobs.plans import DEFAULT_KEEP, DEFAULT_STORE, AllowedModels, BuildPlan, SigningKey

if TYPE_CHECKING:
    from ingest.trust.examine import Finding
    from ingest.trust.quarantine import FindingsReport
    from retrieval.snapshot.reader import Snapshot

_EXAMPLES = 3
_SHOWN = 20  # lines of a kind of change
_UNREAD = 4  # the exit code of a catalogue error


def build(plan: BuildPlan, on: On = "local", as_json: Json = False) -> None:
    """Read tool documents, build the tool graph and publish a snapshot.

    Give credentials by reference, in a sources file (docs/sources.md): arguments of a command can be read by others.
    """
    from ingest.build_report import report_file
    from ingest.sources.sanitize import is_example
    from retrieval.snapshot.history import history
    from services.jobs.build import build as run

    before: list[str] = []
    with suppress(EgotoolsError):  # of a store that is damaged the build says so
        before = [each.snapshot_id for each in history(plan.store)]
    cluster = ray_pool() if on_ray(on) else nullcontext(None)
    with ProgressDisplay(as_json=as_json) as progress, cluster as pool:
        report = run(plan, progress, pool=pool)
    if as_json:
        return print_json(report.to_json())
    file = report_file(plan.store, f"{report.snapshot_id}.json")
    secrets = [f"{document.address}: {place}" for document in report.documents for place in document.secrets]
    reused, phrases, told = report.reused, report.phrases, ""
    if phrases is not None:
        told = f"{phrases.phrases:,} of {counted(phrases.tools, 'tool')}"
        if phrases.dropped:
            left_out = ", ".join(f"{count:,} {why}" for why, count in phrases.dropped.items())
            told += f"; dropped, see the report: {left_out}"
        if phrases.failed or phrases.stopped:
            why = f": {phrases.stopped}" if phrases.stopped else ""
            told += f"; {counted(phrases.failed, 'tool')} without an answer of the model{why}"
            told += "; the next build asks for them again"
    show_facts(
        {
            "Documents": f"{len(report.documents):,} with {counted(report.tools, 'tool')}",
            "[yellow]Rejected[/]": _some([f"{subject} ({why})" for subject, why, _ in report.rejected_tools.all]),
            "[yellow]Secrets taken out, revoke them[/]": _some([each for each in secrets if not is_example(each)]),
            "Overlay": "; ".join(report.overlay.warnings[:_EXAMPLES]) if report.overlay else "",
            "Phrases": told,
            **_findings(report.findings, plan.store),
            "Ranking weights": report.weights,
            "Time": f"{sum(report.seconds.values()):.1f} s; {reused.extractions:,} of {reused.of_extractions:,} extractions "
            f"and {reused.vectors:,} of {reused.of_vectors:,} vectors were there already",
            "Report": str(file) if file.is_file() else "",
        }
    )
    outcome = "[bold green]Published[/]" if plan.published else "[bold yellow]Not published[/]:"
    if not plan.published and before[-1:] == [report.snapshot_id]:
        outcome = "Nothing changed; published is"
    sizes = f"{report.tools:,} tools, {report.graph.nodes:,} nodes, {report.graph.edges:,} edges"
    say(f"{outcome} snapshot [bold]{report.snapshot_id}[/]: {sizes}")
    replaced = [each.previous_id for each in history(plan.store)][len(before) :][-1:] if plan.published else []
    if replaced and replaced[0] not in ("", *before[-1:]):
        say(f"[yellow]It replaces[/] {replaced[0]}, which another build published while this one ran.")


def _some(values: Sequence[str]) -> str:
    """The first values, and how many more there are."""
    if not values:
        return ""
    more = f", … {len(values) - _EXAMPLES:,} more" if len(values) > _EXAMPLES else ""
    return f"{len(values):,}: {', '.join(values[:_EXAMPLES])}{more}"


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
    from services.jobs.build import sync_sources

    plan = BuildPlan(
        addresses=tuple(addresses),
        store=store,
        strict=strict,
        keep=keep,
        signing_key=signing_key,
        workers=workers,
        findings=findings or read_record(store).policy,
    )
    report, told = sync_sources(plan, allowed_models=allowed_models)
    if as_json:
        print_json(told)
    else:
        outcome = "Unchanged" if told["snapshot_id"] == told["previous_id"] else "[bold green]Published[/]"
        counts = ", ".join(f"{len(told[name]):,} {name}" for name in ("added", "changed", "removed"))
        say(f"{outcome}: snapshot [bold]{plain(told['snapshot_id'])}[/]: {told['tools']:,} tools, {counts}")
        show_result({name: told[name] for name in ("added", "changed", "removed", "kept")}, _SHOWN)
        show_facts(_findings(report.findings, store))
    if told["kept"]:
        raise typer.Exit(_UNREAD)


_DESCRIPTION_CHARS = 300
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
    keys, text = [key for key in (entity, f"tool:{entity}") if snapshot.find_node(key) is not None][:1], entity.strip()
    kinds, name = snapshot.manifest.counts.nodes, canonical_name(entity, snapshot.abbreviations)
    if not keys:
        keyed = (f"{kind}:{name}" for kind in kinds if kind != "tool")
        found = [key for key in keyed if snapshot.find_node(key) is not None]
        named = [snapshot.node_key(int(number)) for number in snapshot.ngrams[name]]  # also by an alias
        keys = list(dict.fromkeys((*_of_local_name(snapshot, text), *found, *named)))
    matches = [match for match in snapshot.value_shapes.match(text) if match.text == text]
    if not keys and not matches:
        near = near_names(name, {snapshot.node_key(number).partition(":")[2] for number in range(sum(kinds.values()))})
        problem, remedy = "the graph has no node with this name", "Try `egotools search` with the same words"
        if near:
            remedy = f"Perhaps it is {' or '.join(map(repr, near))}"
        raise NotFoundError(problem, subject=entity, remedy=remedy)
    engine = Engine(snapshot, HashingEncoder())  # nothing is encoded here, so no model is loaded
    most = _ALL if every else _JSON if as_json else _SCREEN
    nodes = [(_to_json(snapshot, ego), ego) for ego in (engine.neighbors(key, limit=most) for key in keys)]
    names_of_use = ("parameter", "output", "entity", "source")
    values = [
        {
            "value": match.text,
            "pattern": match.shape.pattern,
            "kind": match.shape.kind,
            "specificity": match.specificity,
            "entities": list(match.entities),
            "parameters": [
                {"tool_id": snapshot.tool_id(use.tool), **{each: getattr(use, each) for each in names_of_use}}
                for use in match.uses
            ],
        }
        for match in matches
    ]
    if as_json:
        return print_json({"snapshot_id": snapshot.id, "nodes": [row for row, _ in nodes], "values": values})
    for row, ego in nodes:
        _show_node(row, ego, every=every)
    for value in values[:most]:
        show_result(value, most)


def _of_local_name(snapshot: Snapshot, name: str) -> Iterator[str]:
    """The node keys of the tools that have this name in some namespace."""
    ids = map(snapshot.tool_id, range(snapshot.tool_count))
    return (f"tool:{each}" for each in ids if each.partition("/")[2] == name)


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
    edges = []
    for each in ego.edges:
        places = sorted({f"{place.tool_id} {place.field}" for place in each.provenance})
        ends = {"head": each.head, "predicate": each.predicate, "tail": each.tail, "confidence": each.confidence}
        edges.append({**ends, "evidence": ", ".join(places[:_MAX_PLACES]), "phrase": each.phrase})
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


def export(
    out: Annotated[str, Argument(help="File to write, or neo4j:bolt://USER:PASSWORD@HOST:PORT.")],
    store: Store = DEFAULT_STORE,
    as_json: Json = False,
) -> None:
    """Write the tool graph to a JSON file for other programs, or into a Neo4j database, in place of the graph that is there."""
    from ingest.neo4j import parse_bolt_address, write_neo4j
    from retrieval.snapshot.graph_views import snapshot_graph
    from retrieval.snapshot.reader import open_snapshot
    from services.jobs.tool_graph_file import export_graph

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


# The exit code when the snapshots differ. 1 and 2 are those of errors.
DIFFERENT = 17
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
    from ingest.trust.examine import findings_of
    from retrieval.snapshot.reader import open_snapshot
    from retrieval.snapshot.snapshot_diff import diff_snapshots
    from services.jobs.build import as_read

    if not old.strip() or (new is not None and not new.strip()):
        remedy = "A variable of the shell may not be set; name a store, the folder of a snapshot, or an id"
        raise InvalidArgumentError("the name of a snapshot is empty", subject="OLD and NEW", remedy=remedy)
    before = open_snapshot(store) if new is None else _open(old, store)
    after = _open(old if new is None else new, store)
    found = diff_snapshots(before, after)
    # As a build examines documents: what was added or changed, compared with the snapshot before.
    ids = {*found.tools.added, *(tool.id for tool in found.tools.changed)}
    findings: list[Finding] = []
    if ids:
        tools = [as_read(after.tool(number)) for number in range(after.tool_count)]
        earlier = (as_read(before.tool(number)) for number in range(before.tool_count))
        known = {tool.id: tool for tool in earlier if tool.id in ids}
        findings = findings_of([tool for tool in tools if tool.id in ids], known, beside=tools)
    told = {**found.to_json(), "findings": [finding.to_json() for finding in findings]}
    if as_json:
        print_json(told)
    elif found.same:
        say("The snapshots are equal.")
    else:
        show_result(told, limit)
    if not found.same:
        raise typer.Exit(DIFFERENT)


def _open(name: str, store: Path) -> Snapshot:
    """Open a snapshot by the path of a store or of its folder, or by the beginning of its id in the store."""
    from retrieval.snapshot.publish import SNAPSHOTS
    from retrieval.snapshot.reader import open_snapshot

    if Path(name).is_dir():
        return open_snapshot(Path(name))
    ids = sorted(path.name for path in (store / SNAPSHOTS).glob("*") if path.is_dir())
    found = [id_ for id_ in ids if id_.startswith(name)]
    if not found:
        known = f"It has {', '.join(ids[-_KNOWN:])}" if ids else "Name a store or the folder of a snapshot"
        raise NotFoundError(f"no such folder, and no such snapshot in {store}", subject=name, remedy=known)
    if len(found) > 1:
        problem = f"{len(found)} snapshots in {store} begin so"
        remedy = f"Write more of the id: {', '.join(found[:_KNOWN])}"
        raise InvalidArgumentError(problem, subject=name, remedy=remedy)
    return open_snapshot(store / SNAPSHOTS / found[0])


# What a YAML file with one of these keys at its left margin is
_KINDS = {
    "ontology": ("entity_types", "predicates"),
    "sources": ("sources",),
    "overlays": ("namespaces", "systems"),
    "server": ("rules", "catalogs"),
}


def validate(
    paths: Annotated[
        list[str],
        typer.Argument(
            help="Documents, sources, overlay and ontology files, policies of access and of calls, catalogues files, files of phrases; a store or the folder of one snapshot."
        ),
    ],
    as_json: Json = False,
) -> None:
    """Check documents, files of settings or a snapshot, and list every fault. Nothing that a file names is read.

    The exit code is 5 for faults of a file of settings, 4 for rejected records of documents, 6 for a damaged snapshot.
    """
    from ingest.phrases import has_phrases
    from ingest.sources import read_catalog
    from ontology.yaml_file import has_top_key
    from retrieval.ranking.weights import weights_of
    from retrieval.snapshot.manifest import MANIFEST
    from retrieval.snapshot.reader import open_snapshot

    named: defaultdict[str, list[str]] = defaultdict(list)
    for name in paths:
        path = Path(name)
        if (path / "CURRENT").is_file() or (path / MANIFEST).is_file():
            kind = "snapshot"
        else:
            kind = "phrases" if has_phrases(path) else "documents"
            kind = next((kind for kind, keys in _KINDS.items() if has_top_key(path, *keys)), kind)
        named[kind].append(name)
    summaries: dict[str, Any] = {}
    faults: list[tuple[str, str]] = []
    for kind in (*_KINDS, "phrases"):
        if files := named[kind]:
            found = [fault for file in files for fault in _faults(kind, Path(file))]
            summaries[kind] = {"files": len(files), "faults": len(found)}
            faults += found
    rejected: list[tuple[str, str]] = []
    if named["documents"]:
        catalog = read_catalog(named["documents"])
        counts = {"tools": len(catalog.tools), "rejected": len(catalog.rejected)}
        summaries["documents"] = {**counts, **catalog.rejected_by_reason()}
        rejected = [(each.subject, f"{each.reason}: {each.detail}") for each in catalog.rejected]
    for store in named["snapshot"]:
        snapshot = open_snapshot(Path(store), verify=True)  # every hash
        weights_of(snapshot)  # names and ranges; the manifest itself is checked for its form only
        count = len(snapshot.manifest.files)
        summaries["snapshot"] = {"snapshot_id": snapshot.id, "files": count, "tools": snapshot.tool_count}
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


def _faults(kind: str, path: Path) -> list[tuple[str, str]]:
    """The faults of a file of settings: where, and what."""
    if kind == "phrases":
        from ingest.phrases import phrase_rows

        return [(f"{path}:{line}", row) for line, row in phrase_rows(path) if isinstance(row, str)]
    if kind == "server":
        from ontology.yaml_file import has_top_key
        from planners.calls.tool_access import read_policy as read_call_policy
        from services.server.access.policy import read_policy as read_access_policy
        from services.server.settings import read_catalogs

        try:
            if not has_top_key(path, "rules"):
                read_catalogs(path)
            elif has_top_key(path, "version"):
                read_access_policy(path)
            else:
                read_call_policy(path)
        except InvalidArgumentError as error:
            return [(str(path), f"{error.problem}. {error.remedy}".strip(" ."))]
        return []
    from ingest.overlay.overlay_file import check_overlay
    from ingest.sources.sources_file import check_sources
    from ontology.ontology import check_ontology

    _, found = {"ontology": check_ontology, "sources": check_sources, "overlays": check_overlay}[kind](path)
    return [(f"{path}:{each.line}", f"{each.problem}. {each.remedy}".strip(" .")) for each in found]
