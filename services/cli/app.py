"""The command ``egotools``: its subcommands, and those that need no file of their own."""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

import typer
from rich.markup import escape
from typer.core import TyperGroup

from ontology.errors import InvalidArgumentError
from ontology.redaction import RedactingFormatter
from services.cli.admin_commands import admin_app
from services.cli.ask_command import ask
from services.cli.build import build
from services.cli.call_options import NO_CALL_OPTIONS, CallOptions
from services.cli.call_tool import call
from services.cli.catalog_command import catalog_app
from services.cli.company import company_app
from services.cli.console import print_json, show_error, stderr, stdout
from services.cli.datagen import datagen
from services.cli.demo import demo
from services.cli.diff import diff
from services.cli.evaluate import eval_app
from services.cli.findings import findings_app
from services.cli.health_command import health
from services.cli.keys import keys_app
from services.cli.learn import learn
from services.cli.mcp_command import mcp
from services.cli.operators_command import operators_app
from services.cli.options import Json, On, Store, command
from services.cli.plan_command import plan
from services.cli.plan_tools import plan_tools
from services.cli.rest_command import rest
from services.cli.search import search
from services.cli.serve_page import NO_PAGE, PageOptions, page_beside
from services.cli.show import show
from services.cli.snapshots import rollback, snapshots
from services.cli.solve_command import solve
from services.cli.sync import sync
from services.cli.tokens import tokens_app
from services.cli.tune import tune
from services.cli.validate import validate
from services.cluster.ray_cluster import on_ray
from services.jobs.plans import DEFAULT_RERANKER, DEFAULT_STORE, AllowedModels, Reranker
from services.threads import pin_threads

__all__ = ["REMOVED", "app", "main"]

_NO_RULES = "A model takes the steps: name one with --llm-url and --llm-model"
_WRITES = "With --generator llm a model writes the whole request, and another call reads it back"
REMOVED: Mapping[str, str] = MappingProxyType(
    {
        "audit": "The audit log is JSON lines without a chain: read it with any tool, and ship it to a store that only appends",
        "rest --cors-origin": "Let a proxy in front of the gateway answer pages of other origins",
        "mcp --append-only": "A found tool is called by its id or name, listed or not; egotools mcp --pin ID lists one always",
        "company serve --seed": "The company has one set of records, services/company/records.jsonl; change them by its operations",
        "serve --processes": "One server is one process: run replicas, and name all to the client: ipv4:HOST:PORT,HOST:PORT",
        "solve --write": _NO_RULES,
        "solve --domain": _NO_RULES,
        "solve --today": _NO_RULES,
        "tune --report": "The report is kept in the store, as reports/SNAPSHOT.tuning.json, and printed with --json",
        "solve --tool-call-votes": "The model defines the calls of a step once: leave it out",
        "solve --prompts": "Prompts are XML: leave it out",
        "solve --speech-model": "Recordings are not read: write one down, and give the text with --file",
        "solve --speech-url": "Recordings are not read: write one down, and give the text with --file",
        "solve --wiki-url": "A model reads articles by their address, and finds them with --search-url",
        "solve --graph ladybug": "The graph of a task stands in memory (the default), rdf or neo4j:bolt://USER:PASSWORD@HOST:PORT; "
        "egotools ask --graph ladybug:PATH asks a file",
        "learn --half-life": "The newest 20,000 sessions count alike: give fewer with --log to forget older ones",
        "datagen --llm-steps": _WRITES,
        "datagen --reworded-only": _WRITES,
        "serve --web-runs": "A recorded run is told again by egotools solve --replay --journal FILE",
    }
)
"""Command, with its option and the value of that where one is meant, without ``egotools`` → what to do in its place."""


class RefusingGroup(TyperGroup):
    """The command ``egotools``, which says what took the place of what is gone."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Refuse what is gone, and parse the rest."""
        for gone, remedy in REMOVED.items():
            if _has(gone.split(), args):
                error = InvalidArgumentError("it was removed", subject=gone, remedy=remedy)
                show_error(error, as_json="--json" in args)
                raise typer.Exit(error.exit_code)
        return super().parse_args(ctx, args)


def _has(gone: Sequence[str], args: Sequence[str]) -> bool:
    """Whether a command line begins with the words of a command, and has its option and value, if they are named.

    A value is also meant by what begins with it and a colon (``ladybug:PATH``).
    """
    at = next((at for at, word in enumerate(gone) if word.startswith("-")), len(gone))
    words, option = list(gone[:at]), gone[at:]
    given = [each for each in args if each not in ("-v", "--verbose")]
    if given[:at] != words or not option:
        return given[:at] == words
    for name, after in zip(given[at:], [*given[at + 1 :], ""], strict=False):
        name, equals, value = name.partition("=")
        if name == option[0] and (not option[1:] or (value if equals else after).partition(":")[0] == option[1]):
            return True
    return False


app = typer.Typer(
    name="egotools",
    cls=RefusingGroup,
    help="Build a tool graph from tool documents, and retrieve the complete set of tools that a request needs.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
graph_app = typer.Typer(help="Export the tool graph.", no_args_is_help=True)
app.add_typer(graph_app, name="graph")
app.add_typer(eval_app, name="eval")
app.add_typer(admin_app, name="admin")
app.add_typer(keys_app, name="keys")
app.add_typer(tokens_app, name="tokens")
app.add_typer(findings_app, name="findings")
app.add_typer(company_app, name="company")
app.add_typer(catalog_app, name="catalog")
app.add_typer(operators_app, name="operators")
command(app)(build)
command(app)(demo)
_INTERRUPTED = 130  # the exit code of typer at Ctrl-C


def _print_version(wanted: bool) -> None:
    if wanted:
        stdout.print(f"egotools {version('egotools')}", highlight=False)
        raise typer.Exit


@app.callback()
def _setup(
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Log progress to the error channel.")] = False,
    _version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(RedactingFormatter("%(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.INFO if verbose else logging.WARNING, handlers=[handler])


@command(app)
def serve(
    store: Store = DEFAULT_STORE,
    catalogs: Annotated[
        Path | None,
        typer.Option(help="Serve several catalogues: a YAML file with the tenants and their stores. Replaces --store."),
    ] = None,
    host: Annotated[
        str | None, typer.Option(help="Address to listen on. Default: EGOTOOLS_HOST, or 127.0.0.1.")
    ] = None,
    port: Annotated[
        int | None, typer.Option(help="Port to listen on; 0: any free port. Default: EGOTOOLS_PORT, or 50051.")
    ] = None,
    reranker: Reranker = DEFAULT_RERANKER,
    allowed_models: AllowedModels = (),
    ready_file: Annotated[
        Path | None, typer.Option(help="Write the address to this file (JSON) when the server is ready.")
    ] = None,
    admin_port: Annotated[
        int | None,
        typer.Option(
            help="Port of the admin service, on loopback; 0: any free port. Default: EGOTOOLS_ADMIN_PORT, or none."
        ),
    ] = None,
    baselines: Annotated[
        bool,
        typer.Option("--baselines", help="Let requests name the presets to compare with. Default: EGOTOOLS_BASELINES."),
    ] = False,
    insecure: Annotated[
        bool,
        typer.Option("--insecure", help="Listen beyond loopback without TLS and access control: a proxy does both."),
    ] = False,
    query_model: Annotated[
        str | None,
        typer.Option(
            help="Chat model that writes the needs of requests without needs: openai:MODEL@http://HOST:PORT/v1. Default: EGOTOOLS_QUERY_MODEL, or none."
        ),
    ] = None,
    on: On = "local",
    page: PageOptions = NO_PAGE,
    calling: CallOptions = NO_CALL_OPTIONS,
) -> None:
    """Serve snapshots over gRPC until SIGTERM. What a store publishes later is swapped in; SIGHUP does it at once."""
    pin_threads()  # before a numeric library is imported
    from services.server.process import serve_catalogs
    from services.server.settings import CatalogEntry, ServerSettings, read_catalogs

    settings = ServerSettings.from_env(
        host=host,
        port=port,
        ready_file=ready_file,
        admin_port=admin_port,
        baselines=baselines or None,
        insecure=insecure or None,
        query_model=query_model,
    )
    single = CatalogEntry(store=store, reranker=reranker, allowed_models=allowed_models)
    if on_ray(on):
        from services.cluster.serve_on_ray import serve_on_ray

        if page.web:
            raise InvalidArgumentError("the page is served by one server", subject="--web", remedy="Leave --on out")
        return serve_on_ray(settings, store=single, catalogs=catalogs)
    served = {"": single} if catalogs is None else read_catalogs(catalogs)
    beside = page_beside(page, {tenant: entry.store for tenant, entry in served.items()}, calling)
    serve_catalogs(served, settings, beside=beside)


command(app)(health)
command(app)(search)
command(app, "plan-tools")(plan_tools)
command(app)(show)
command(app)(diff)
command(app)(snapshots)
command(app)(rollback)


@command(graph_app, "export")
def graph_export(
    out: Annotated[Path, typer.Argument(help="File to write.")],
    store: Store = DEFAULT_STORE,
    form: Annotated[
        str,
        typer.Option(
            "--format", "-f", help="graphml, json, cypher or turtle. Default: by the ending of the file name."
        ),
    ] = "",
    as_json: Json = False,
) -> None:
    """Write the tool graph to a file for other programs."""
    from ingest.export import export_graph
    from retrieval.snapshot.graph_views import snapshot_graph
    from retrieval.snapshot.reader import open_snapshot

    endings = {".graphml": "graphml", ".json": "json", ".cypher": "cypher", ".cql": "cypher", ".ttl": "turtle"}
    form = form or endings.get(out.suffix.lower(), "")
    if not form:
        raise InvalidArgumentError(
            f"the ending {out.suffix!r} names no format",
            subject=str(out),
            remedy=f"Use one of {', '.join(endings)}, or --format",
        )
    graph = snapshot_graph(open_snapshot(store))
    export_graph(graph, out, form)
    written = {"file": str(out), "nodes": graph.number_of_nodes(), "edges": graph.number_of_edges()}
    if as_json:
        print_json(written)
    else:
        stdout.print(f"Wrote {written['nodes']:,} nodes and {written['edges']:,} edges to {escape(str(out))}")


command(app)(call)
command(app)(mcp)
command(app)(rest)
command(app)(plan)
command(app)(solve)
command(app)(ask)
command(app)(validate)
command(app)(datagen)
command(app)(tune)
command(app)(learn)
command(app)(sync)


def main() -> None:
    """Run the command."""
    try:
        app()
    except (SystemExit, KeyboardInterrupt) as stop:  # KeyboardInterrupt: Ctrl-C while typer cleans up
        code = _INTERRUPTED if isinstance(stop, KeyboardInterrupt) else stop.code
        if code == _INTERRUPTED:
            stderr.print("Interrupted. Results that were finished before are kept.")
        sys.exit(code)
    except BrokenPipeError:
        sys.exit(0)
