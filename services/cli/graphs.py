"""The commands ``egotools admin catalog`` and ``egotools admin operators``: what a person accepts before questions use it."""

from __future__ import annotations

import asyncio
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer
from typer import Argument, Option

from ontology.errors import InvalidArgumentError, NotFoundError, OntologyError
from services.cli.console import plain, print_json, say, stdout, tell
from services.cli.options import Json, command
from services.jobs.plans import ChatEndpoint

if TYPE_CHECKING:
    from planners.graphseek.adapt import OperatorVersion, VersionFolder
    from planners.stores.graph_schema import GraphSchema

__all__ = ["catalog_app", "operators_app"]

catalog_app = typer.Typer(
    help="What the types and properties of a property graph mean.",
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
)
_NO_ENDPOINT = ChatEndpoint()
_BY = ("rules", "llm")
_Graph: TypeAlias = Annotated[str, Option("--graph", help="Graph that is described, as of egotools ask.")]
_File: TypeAlias = Annotated[Path, Argument(metavar="FILE", help="Catalog file (YAML).")]


@command(catalog_app)
def draft(
    graph: _Graph,
    by: Annotated[str, Option("--by", help="Who writes the descriptions: rules, or llm (a model).")] = "rules",
    glossary: Annotated[Path | None, Option(help="Terms of the business: YAML (term: meaning) or CSV.")] = None,
    out: Annotated[Path | None, Option("--out", "-o", help="New file for the draft. Default: it is printed.")] = None,
    endpoint: ChatEndpoint = _NO_ENDPOINT,
    as_json: Json = False,
) -> None:
    """Draft the catalog of a graph. It serves no question before a person has read it, and accepts it."""
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
        tell(plain(problem))
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
        say(plain(f"Wrote {out}. Read it, correct it, and run `egotools admin catalog accept {out}`"))


@command(catalog_app)
def check(file: _File, graph: _Graph, as_json: Json = False) -> None:
    """Compare a catalog with a graph, and read its texts as a model would. The exit code is 5 where something must be corrected."""
    from planners.graphseek.catalog import check_catalog, read_catalog

    catalog = read_catalog(file)
    found = check_catalog(catalog, _census(graph))
    errors = sum(each.severity == "error" for each in found)
    if as_json:
        print_json({"accepted": catalog.accepted, "findings": [asdict(each) for each in found]})
    else:
        for each in found:
            place = f"{each.place}: " if each.place else ""
            say(plain(f"{each.severity}: {place}{each.problem} ({each.kind})"))
        state = "accepted" if catalog.accepted else "a draft"
        say(f"{errors} errors, {len(found) - errors} warnings; the catalog is {state}.")
    if errors:
        raise typer.Exit(OntologyError.exit_code)


@command(catalog_app)
def accept(file: _File, as_json: Json = False) -> None:
    """Mark a catalog as read by a person, so that questions use it. Texts that must not stand in a prompt are refused."""
    from planners.graphseek.catalog import accept_file

    catalog = accept_file(file)
    if as_json:
        print_json({"file": str(file), "accepted": True, "nodes": len(catalog.nodes)})
    else:
        say(plain(f"Accepted {file}"))


def _census(address: str) -> GraphSchema:
    """The types of a graph, with counts and samples."""
    from services.jobs.ask_parts import open_question_graph

    async def asked() -> GraphSchema:
        with tempfile.TemporaryDirectory() as cache:
            async with open_question_graph(address, Path(cache)) as graph:
                return await graph.census()

    return asyncio.run(asked())


operators_app = typer.Typer(
    help="Versions of operators that a model proposed for a changed graph.", no_args_is_help=True
)
_Folder: TypeAlias = Annotated[
    Path | None,
    Option(
        "--folder",
        file_okay=False,
        envvar="EGOTOOLS_OPERATORS",
        help="Folder of the versions. Default: ~/.local/state/egotools/operators.",
    ),
]
_Name: TypeAlias = Annotated[str, Argument(metavar="VERSION", help="A version: OPERATOR.NUMBER, as list prints it.")]


@command(operators_app, "list")
def list_(folder: _Folder = None, as_json: Json = False) -> None:
    """List the versions. An unverified one serves the question that it was made for alone; the newest approved one serves all."""
    versions = _opened(folder)
    known = versions.versions()
    if as_json:
        print_json({"versions": [_short(each) for each in known], "problems": list(versions.problems)})
        return
    for each in known:
        say(plain(f"{each.name}  {each.status}  {each.dialect}, schema {each.schema[:12]}"))
    for problem in versions.problems:
        tell(plain(f"left out: {problem}"))
    if not known:
        say("There are no versions.")


@command(operators_app)
def show(name: _Name, folder: _Folder = None, as_json: Json = False) -> None:
    """Print a version: its query, its arguments, its code."""
    _print(_opened(folder).get(name), as_json=as_json)


@command(operators_app)
def approve(name: _Name, folder: _Folder = None, as_json: Json = False) -> None:
    """Let a version serve all questions of graphs with its schema. Read it first: it is printed again."""
    from planners.stores.statements import allowed_cypher

    versions = _opened(folder)
    allowed_cypher(versions.get(name).template)  # names of a schema are checked whenever the version is to serve
    _print(versions.mark(name, "approved"), as_json=as_json)
    if not as_json:
        say(plain(f"Approved {name}"))


@command(operators_app)
def rollback(
    operator: Annotated[str, Argument(help="Name of the operator.")], folder: _Folder = None, as_json: Json = False
) -> None:
    """Take the newest approval of an operator back: the version approved before it serves again, or the operator as it is shipped."""
    versions = _opened(folder)
    approved = [each for each in versions.versions() if each.operator == operator and each.status == "approved"]
    if not approved:
        remedy = "See `egotools admin operators list`"
        raise NotFoundError("no version of it is approved", subject=operator, remedy=remedy)
    taken = versions.mark(approved[-1].name, "unverified")
    before = next((each.name for each in reversed(approved[:-1]) if each.is_for(taken.dialect, taken.schema)), None)
    if as_json:
        print_json({"taken_back": taken.name, "serves": before})
    else:
        say(plain(f"Took {taken.name} back; {before or 'the operator as it is shipped'} serves"))


def _opened(folder: Path | None) -> VersionFolder:
    from planners.graphseek.adapt import VersionFolder
    from services.jobs.cached_store import versions_folder

    return VersionFolder(folder or versions_folder())


def _print(version: OperatorVersion, *, as_json: bool) -> None:
    from planners.graphseek.adapt import VERSION, version_lines

    if as_json:
        shown: dict[str, Any] = VERSION.dump_python(version, mode="json")
        print_json({**_short(version), **shown})
        return
    for line in (f"{version.name} ({version.status})", *version_lines(version)):
        say(plain(line))


def _short(version: OperatorVersion) -> dict[str, Any]:
    return {name: getattr(version, name) for name in ("name", "status", "dialect", "schema", "digest")}
