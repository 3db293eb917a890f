"""The command ``egotools catalog``: what the types of a property graph mean, drafted, checked, and accepted by a person."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ontology.errors import InvalidArgumentError, OntologyError
from services.cli.console import plain, print_json, stderr, stdout
from services.cli.options import Json, command
from services.jobs.plans import ChatEndpoint

if TYPE_CHECKING:
    from planners.graphseek.catalog import CatalogFinding
    from planners.stores.graph_schema import GraphSchema

__all__ = ["catalog_app"]

catalog_app = typer.Typer(
    help="Semantic catalogs: what the types and properties of a property graph mean.", no_args_is_help=True
)
_NO_ENDPOINT = ChatEndpoint()
_BY = ("rules", "llm")
_Graph = Annotated[
    str,
    typer.Option(
        "--graph",
        help="Graph whose types are described: ladybug:PATH, neo4j:bolt://USER:PASSWORD@HOST:PORT, csv:FOLDER, graphml:FILE or store:PATH.",
    ),
]
_File = Annotated[Path, typer.Argument(metavar="FILE", help="Catalog file (YAML).")]


@command(catalog_app, "draft")
def draft(
    graph: _Graph,
    by: Annotated[
        str,
        typer.Option("--by", help="Who writes the descriptions: rules, or llm (a model; rules add ranges and roles)."),
    ] = "rules",
    glossary: Annotated[
        Path | None, typer.Option(help="What terms of the business mean: YAML (term: meaning).")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="New file for the draft. Default: it is printed.")
    ] = None,
    endpoint: ChatEndpoint = _NO_ENDPOINT,
    as_json: Json = False,
) -> None:
    """Draft the catalog of a graph. It serves no question before a person has read it, and `egotools catalog accept` was run."""
    from ontology.ontology import load_ontology
    from planners.graphseek.catalog import read_glossary, write_catalog, yaml_of_catalog
    from planners.graphseek.draft import LlmDraft, draft_by_llm, draft_by_rules
    from services.jobs.model_factory import open_chat

    if by not in _BY:
        raise InvalidArgumentError(f"{by!r} writes no drafts", subject="--by", remedy=f"Use {' or '.join(_BY)}")
    if out is not None and out.exists():
        remedy = "Name another file, or delete it: it may be one that a person has changed"
        raise InvalidArgumentError("there is such a file", subject=str(out), remedy=remedy)
    terms = read_glossary(glossary) if glossary else {}
    model = open_chat(endpoint, needed_by="--by llm") if by == "llm" else None
    census, ontology = _census(graph), load_ontology()
    if model is None:
        made = LlmDraft(catalog=draft_by_rules(census, ontology, terms))
    else:
        made = draft_by_llm(census, model, ontology=ontology, glossary=terms)
    for problem in made.problems:
        stderr.print(plain(problem), soft_wrap=True, highlight=False)
    text = yaml_of_catalog(made.catalog)
    if out is not None:
        write_catalog(out, made.catalog)
    if as_json:
        types = {"nodes": len(made.catalog.nodes), "relationships": len(made.catalog.relationships)}
        shown = {"file": str(out)} if out else {"catalog": text}
        print_json({**shown, **types, "problems": list(made.problems)})
    elif out is None:
        stdout.file.write(text)
    else:
        stdout.print(
            plain(f"Wrote {out}. Read it, correct it, and run `egotools catalog accept {out}`"), soft_wrap=True
        )


@command(catalog_app, "check")
def check(file: _File, graph: _Graph, as_json: Json = False) -> None:
    """Compare a catalog with a graph, and read its texts as a model would. The exit code is 5 where something must be corrected."""
    from planners.graphseek.catalog import check_catalog, read_catalog

    catalog = read_catalog(file)
    found = check_catalog(catalog, _census(graph))
    if as_json:
        print_json({"accepted": catalog.accepted, "findings": [asdict(each) for each in found]})
    else:
        _show(found, "accepted" if catalog.accepted else "a draft")
    if any(each.severity == "error" for each in found):
        raise typer.Exit(OntologyError.exit_code)


@command(catalog_app, "accept")
def accept(file: _File, as_json: Json = False) -> None:
    """Mark a catalog as read by a person, so that questions use it. Texts that must not stand in a prompt are refused."""
    from planners.graphseek.catalog import accept_file

    catalog = accept_file(file)
    if as_json:
        print_json({"file": str(file), "accepted": True, "nodes": len(catalog.nodes)})
    else:
        stdout.print(plain(f"Accepted {file}"), soft_wrap=True, highlight=False)


def _show(found: Sequence[CatalogFinding], state: str) -> None:
    for each in found:
        place = f"{each.place}: " if each.place else ""
        stdout.print(plain(f"{each.severity}: {place}{each.problem} ({each.kind})"), soft_wrap=True, highlight=False)
    errors = sum(each.severity == "error" for each in found)
    stdout.print(f"{errors} errors, {len(found) - errors} warnings; the catalog is {state}.", highlight=False)


def _census(address: str) -> GraphSchema:
    """The types of a graph, with counts and samples."""
    from services.jobs.question_graph import open_question_graph

    async def asked() -> GraphSchema:
        with tempfile.TemporaryDirectory() as cache:
            async with open_question_graph(address, Path(cache)) as graph:
                return await graph.census()

    return asyncio.run(asked())
