"""The command ``egotools``: build, serve, search, show, graph export, validate, eval, datagen."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from ontology.errors import CatalogError, EgotoolsError, InvalidArgumentError, OntologyError
from services.cli.console import counts_table, print_json, progress_bars, show_error, stderr, stdout, table
from services.cli.datagen import datagen
from services.cli.evaluate import eval_app
from services.cli.tune import tune

__all__ = ["app", "main"]

app = typer.Typer(
    name="egotools",
    help="Tool documents in, the complete set of tools a request needs out.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
graph_app = typer.Typer(help="Look at the tool graph.", no_args_is_help=True)
app.add_typer(graph_app, name="graph")
app.add_typer(eval_app, name="eval")
app.command()(tune)
app.command("datagen")(datagen)

Store = Annotated[
    Path, typer.Option("--store", "-s", help="Folder with the published snapshot.", envvar="EGOTOOLS_STORE")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines instead of tables.")]
_DEFAULT_STORE = Path("egotools-store")
_DEFAULT_ENCODER = "minilm-l6-int8.v1"
_SHOWN = 12
_INTERRUPTED = 130  # what typer ends with at Ctrl-C


@app.callback()
def _setup(verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Log what happens.")] = False) -> None:
    logging.basicConfig(
        level=logging.INFO if verbose else logging.WARNING, format="%(levelname)s %(name)s: %(message)s"
    )


@app.command()
def build(
    paths: Annotated[
        list[str],
        typer.Argument(
            help="Files, folders, globs, or live addresses (python:MODULE, mcp:COMMAND, mcp+http://…, aws:SERVICE, google-discovery:API)."
        ),
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Folder to publish the snapshot in.", envvar="EGOTOOLS_STORE")
    ] = _DEFAULT_STORE,
    ontology: Annotated[Path | None, typer.Option(help="Ontology file; the shipped one by default.")] = None,
    extractor: Annotated[str, typer.Option(help="Who reads the triples: rules or llm.")] = "rules",
    encoder: Annotated[str, typer.Option(help="Sentence encoder.")] = _DEFAULT_ENCODER,
    store: Annotated[
        str, typer.Option(help="Also fill a graph database: ladybug:PATH or neo4j:bolt://user:password@host:port.")
    ] = "",
    strict: Annotated[bool, typer.Option("--strict", help="Fail when anything is refused.")] = False,
    cache: Annotated[bool, typer.Option(help="Reuse what did not change since the last build.")] = True,
    workers: Annotated[int, typer.Option(min=1, help="Processes that read documents.")] = 2,
    llm_url: Annotated[
        str, typer.Option(help="Base URL of an OpenAI-compatible endpoint (extractor llm).", envvar="OPENAI_BASE_URL")
    ] = "",
    llm_model: Annotated[str, typer.Option(help="Model name (extractor llm).")] = "",
    llm_max_tokens: Annotated[int, typer.Option(help="Stop after this many tokens; 0 for no cap.")] = 0,
    llm_max_usd: Annotated[float, typer.Option(help="Stop after this much money; 0 for no cap.")] = 0.0,
    llm_usd_per_1k: Annotated[float, typer.Option(help="Price of 1,000 tokens, for the cap.")] = 0.0,
    as_json: Json = False,
) -> None:
    """Read tool documents, build the tool graph and publish a snapshot."""
    from inference import load_encoder
    from ontology import load_ontology
    from services.jobs.build import build_snapshot

    language = load_ontology(ontology)
    reader = None
    if extractor == "llm":
        from services.jobs.model_factory import llm_extractor

        reader = llm_extractor(
            language,
            base_url=llm_url,
            model=llm_model,
            max_tokens=llm_max_tokens,
            max_usd=llm_max_usd,
            usd_per_1k=llm_usd_per_1k,
            cache_file=out / "cache.sqlite" if cache else None,
        )
    elif extractor != "rules":
        raise InvalidArgumentError(
            f"there is no extractor {extractor!r}", subject="--extractor", remedy="Known: rules, llm"
        )
    graph_store = None
    if store:
        from ingest.stores import open_store

        graph_store = open_store(store)
    with progress_bars(hidden=as_json or not stderr.is_terminal) as progress:
        report = build_snapshot(
            paths,
            out,
            encoder=load_encoder(encoder, workers=workers),
            extractor=reader,
            ontology=language,
            graph_store=graph_store,
            strict=strict,
            cached=cache,
            workers=workers,
            progress=progress,
        )
    if as_json:
        print_json(report.to_json())
    else:
        _show_build(report.to_json())


def _show_build(report: dict[str, Any]) -> None:
    rows = [(d["address"], d["format"], d["tools"], d["refused"]) for d in report["documents"]]
    if len(rows) > _SHOWN:
        rest = rows[_SHOWN:]
        rows = [*rows[:_SHOWN], (f"… {len(rest)} more", "", sum(r[2] for r in rest), sum(r[3] for r in rest))]
    stdout.print(table("Documents", ("document", "format", "tools", "refused"), rows))
    for subject, reason, detail in report["refused_tools"]["all"][:_SHOWN]:
        stdout.print(f"[yellow]refused[/] {escape(subject)} ({escape(reason)}): {escape(detail)}", soft_wrap=True)
    refused = sum(report["refused_tools"]["by_reason"].values())
    if refused > _SHOWN:
        stdout.print(f"… {refused - _SHOWN} more refusals are in the report")
    stdout.print(counts_table("Triples kept", report["triples"]["kept"]))
    if report["triples"]["refused_by_predicate_and_reason"]:
        rows = report["triples"]["refused_by_predicate_and_reason"]
        stdout.print(table("Triples refused", ("predicate", "reason", "count"), rows))
    if report["merges"]["by_kind"]:
        stdout.print(counts_table("Names merged", report["merges"]["by_kind"]))
    for warning in report["merges"]["warnings"][:_SHOWN]:
        stdout.print(f"[yellow]note[/] {escape(warning)}", soft_wrap=True)
    reused, seconds = report["reused"], report["seconds"]
    stdout.print(
        f"Reused {reused['extractions']:,} of {reused['of_extractions']:,} extractions and "
        f"{reused['vectors']:,} of {reused['of_vectors']:,} vectors. "
        + ", ".join(f"{stage} {spent:.1f} s" for stage, spent in seconds.items())
    )
    stdout.print(
        f"[bold green]Published[/] snapshot [bold]{report['snapshot_id']}[/]: {report['tools']:,} tools, "
        f"{report['graph']['nodes']:,} nodes, {report['graph']['edges']:,} edges"
    )


@app.command()
def serve(
    store: Store = _DEFAULT_STORE,
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on; 0 takes a free one.")] = None,
    reranker: Annotated[
        str, typer.Option(help="fusion.v2, egotools-reranker-int8.v1, cross-encoder:PATH or http:URL.")
    ] = "fusion.v2",
    ready_file: Annotated[Path | None, typer.Option(help="Write the address here once the service answers.")] = None,
) -> None:
    """Serve a snapshot over gRPC until SIGTERM."""
    from services.threads import pin_threads

    pin_threads()  # before anything numeric is imported
    from services.server.server import serve_snapshot
    from services.server.settings import ServerSettings

    settings = ServerSettings.from_env(host=host, port=port, ready_file=ready_file)
    serve_snapshot(store, settings, reranker=reranker)


@app.command()
def search(
    query: Annotated[str, typer.Argument(help="The request in plain words.")],
    store: Store = _DEFAULT_STORE,
    address: Annotated[str, typer.Option(help="Ask a running server (host:port) instead of a local snapshot.")] = "",
    k: Annotated[
        str, typer.Option("-k", "--k", help="How many tools; auto: as few as are enough, none where no tool fits.")
    ] = "10",
    preset: Annotated[str, typer.Option(help="default, paper, semantic, hybrid, bm25-regex-title, …")] = "",
    filters: Annotated[
        list[str] | None, typer.Option("--filter", help="KEY=VALUE over metadata; repeat to widen or narrow.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Find the tools that a request needs, with reasons."""
    from services.cli.search import read_filters, read_k, search_local, search_remote, share

    wanted = read_filters(filters or [])
    most, auto_k = read_k(k)
    if address:
        answer = search_remote(address, query, k=most, preset=preset, filters=wanted, auto_k=auto_k)
    else:
        answer = search_local(store, query, k=most, preset=preset, filters=wanted, auto_k=auto_k)
    if as_json:
        print_json(answer)
        return
    rows = [(t["rank"], t["id"], f"{t['score']:.3f}", share(t["probability"]), t["why"]) for t in answer["tools"]]
    title = f"{answer['preset']} · snapshot {answer['snapshot_id']}"
    stdout.print(table(title, ("#", "tool", "score", "needed", "why"), rows))
    if answer["unanswerable"]:
        stdout.print(
            f"[yellow]No tool seems to fit[/] (probability that one does: {share(answer['answerable_probability'])})"
        )
    for reason in answer["fallbacks"]:
        stdout.print(f"[yellow]fallback[/]: {escape(reason)}")


@app.command()
def show(
    entity: Annotated[str, typer.Argument(help="A tool id, a node key (type:name), or a name in any of its forms.")],
    store: Store = _DEFAULT_STORE,
    limit: Annotated[int, typer.Option(min=1, help="How many edges at most.")] = 40,
    as_json: Json = False,
) -> None:
    """Show an entity or tool: its surface forms and its ego graph."""
    from services.cli.show import look_up

    found = look_up(store, entity, limit=limit)
    if as_json:
        print_json(found)
        return
    for node in found["nodes"]:
        stdout.print(f"[bold]{escape(node['key'])}[/] ({escape(node['type'])}), degree {node['degree']}")
        if node["forms"]:
            stdout.print("  surface forms: " + escape(", ".join(f"{form} ({count})" for form, count in node["forms"])))
        if node.get("description"):
            stdout.print("  " + escape(node["description"]))
        rows = [(e["head"], e["predicate"], e["tail"], f"{e['confidence']:.2f}", e["evidence"]) for e in node["edges"]]
        stdout.print(table("Ego graph", ("head", "predicate", "tail", "confidence", "evidence"), rows))
        if node["hidden_edges"]:
            stdout.print(f"… {node['hidden_edges']} more edges (--limit)")


@graph_app.command("export")
def graph_export(
    out: Annotated[Path, typer.Argument(help="File to write.")],
    store: Store = _DEFAULT_STORE,
    form: Annotated[
        str,
        typer.Option("--format", "-f", help="graphml, json, cypher or turtle; by the file's ending where left out."),
    ] = "",
    as_json: Json = False,
) -> None:
    """Write the tool graph for other programs."""
    from ingest.export import export_graph
    from retrieval.snapshot.reader import open_snapshot
    from retrieval.snapshot.to_networkx import snapshot_graph

    endings = {".graphml": "graphml", ".json": "json", ".cypher": "cypher", ".cql": "cypher", ".ttl": "turtle"}
    graph = snapshot_graph(open_snapshot(store))
    export_graph(graph, out, form or endings.get(out.suffix.lower(), ""))
    said = {"file": str(out), "nodes": graph.number_of_nodes(), "edges": graph.number_of_edges()}
    if as_json:
        print_json(said)
    else:
        stdout.print(f"Wrote {said['nodes']:,} nodes and {said['edges']:,} edges to {escape(str(out))}")


@app.command()
def validate(
    paths: Annotated[list[str] | None, typer.Argument(help="Tool documents to check without building.")] = None,
    ontology: Annotated[Path | None, typer.Option(help="Ontology file to check.")] = None,
    store: Annotated[
        Path | None, typer.Option("--store", "-s", help="Snapshot to check: every file against its hash.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Check an ontology, tool documents or a snapshot, and explain every fault."""
    if not (paths or ontology or store):
        raise InvalidArgumentError(
            "there is nothing to check", subject="validate", remedy="Name documents, --ontology FILE or --store FOLDER"
        )
    from services.cli.validate import check_documents, check_ontology_file, check_store

    findings: list[dict[str, Any]] = []
    said: dict[str, Any] = {}
    if ontology is not None:
        findings += (faults := check_ontology_file(ontology))
        said["ontology"] = {"file": str(ontology), "faults": len(faults)}
    if paths:
        summary, refusals = check_documents(paths)
        findings += refusals
        said["documents"] = summary
    if store is not None:
        said["snapshot"] = check_store(store)
    if as_json:
        print_json({**said, "findings": findings})
    else:
        for finding in findings:
            stdout.print(f"[yellow]{escape(finding['where'])}[/]: {escape(finding['problem'])}", soft_wrap=True)
        for what, value in said.items():
            stdout.print(f"{what}: " + escape(", ".join(f"{key} {number}" for key, number in value.items())))
    if ontology is not None and said["ontology"]["faults"]:
        raise typer.Exit(OntologyError.exit_code)
    if paths and findings:
        raise typer.Exit(CatalogError.exit_code)


def main() -> None:
    """Run the command; errors of egotools become one sentence and their exit code."""
    as_json = "--json" in sys.argv
    try:
        app()
    except EgotoolsError as error:
        show_error(error, as_json=as_json)
        sys.exit(error.exit_code)
    except (SystemExit, KeyboardInterrupt) as stop:  # the latter when Ctrl-C comes while typer is cleaning up
        code = _INTERRUPTED if isinstance(stop, KeyboardInterrupt) else stop.code
        if code == _INTERRUPTED:
            stderr.print("Interrupted; what was finished before is kept.")
        sys.exit(code)
    except BrokenPipeError:
        sys.exit(0)
