"""The command ``egotools operators``: versions of operators that models proposed, read and approved by a person."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ontology.errors import NotFoundError
from services.cli.console import plain, print_json, stderr, stdout
from services.cli.options import Json, command

if TYPE_CHECKING:
    from planners.graphseek.adapt import OperatorVersion, VersionFolder

__all__ = ["operators_app"]

operators_app = typer.Typer(
    help="Versions of operators: what a model proposed when an operator failed on a changed graph.",
    no_args_is_help=True,
)
_Folder = Annotated[
    Path | None,
    typer.Option(
        "--folder",
        file_okay=False,
        envvar="EGOTOOLS_OPERATORS",
        help="Folder of the versions. Default: $XDG_STATE_HOME/egotools/operators (~/.local/state/egotools/operators).",
    ),
]
_Name = Annotated[str, typer.Argument(metavar="VERSION", help="A version: OPERATOR.NUMBER, as `list` prints it.")]


@command(operators_app, "list")
def list_(folder: _Folder = None, as_json: Json = False) -> None:
    """List the versions. An unverified one serves the question that it was made for alone; the newest approved one serves all."""
    versions = _opened(folder)
    known = versions.versions()
    if as_json:
        print_json({"versions": [_short(each) for each in known], "problems": list(versions.problems)})
        return
    for each in known:
        line = f"{each.name}  {each.status}  {each.dialect}, schema {each.schema[:12]}"
        stdout.print(plain(line), soft_wrap=True, highlight=False)
    for problem in versions.problems:
        stderr.print(plain(f"left out: {problem}"), soft_wrap=True, highlight=False)
    if not known:
        stdout.print("There are no versions.", highlight=False)


@command(operators_app, "show")
def show_version(name: _Name, folder: _Folder = None, as_json: Json = False) -> None:
    """Print a version: its query, its arguments, its code."""
    _print(_opened(folder).get(name), as_json=as_json)


@command(operators_app, "diff")
def diff_versions(
    name: _Name,
    other: Annotated[
        str, typer.Argument(metavar="[OTHER]", help="The version to compare with. Default: the approved one before it.")
    ] = "",
    folder: _Folder = None,
    as_json: Json = False,
) -> None:
    """Print what a version changes."""
    from planners.graphseek.adapt import version_lines

    versions = _opened(folder)
    new = versions.get(name)
    old = versions.get(other) if other else _approved_before(new, versions)
    lines = list(
        difflib.unified_diff(
            list(version_lines(old)) if old else [],
            list(version_lines(new)),
            old.name if old else "none approved before",
            new.name,
            lineterm="",
        )
    )
    if as_json:
        print_json({"version": new.name, "other": old.name if old else None, "diff": lines})
        return
    for line in lines:
        stdout.print(plain(line), soft_wrap=True, highlight=False)


@command(operators_app, "approve")
def approve(name: _Name, folder: _Folder = None, as_json: Json = False) -> None:
    """Let a version serve all questions of graphs with its schema. Read it first: it is printed again."""
    versions = _opened(folder)
    _check(versions.get(name))
    _print(versions.mark(name, "approved"), as_json=as_json)
    if not as_json:
        stdout.print(plain(f"Approved {name}"), highlight=False)


@command(operators_app, "rollback")
def rollback_version(
    operator: Annotated[str, typer.Argument(help="Name of the operator.")],
    folder: _Folder = None,
    as_json: Json = False,
) -> None:
    """Take the newest approval of an operator back: the version approved before it serves again, or the operator as it is shipped."""
    versions = _opened(folder)
    approved = _approved(operator, versions)
    if not approved:
        remedy = "See `egotools operators list`"
        raise NotFoundError("no version of it is approved", subject=operator, remedy=remedy)
    taken = versions.mark(approved[-1].name, "unverified")
    before = next((each.name for each in reversed(approved[:-1]) if each.is_for(taken.dialect, taken.schema)), None)
    if as_json:
        print_json({"taken_back": taken.name, "serves": before})
    else:
        serves = before or "the operator as it is shipped"
        stdout.print(plain(f"Took {taken.name} back; {serves} serves"), soft_wrap=True, highlight=False)


def _opened(folder: Path | None) -> VersionFolder:
    from planners.graphseek.adapt import VersionFolder
    from services.jobs.cached_store import versions_folder

    return VersionFolder(folder or versions_folder())


def _approved(operator: str, versions: VersionFolder) -> list[OperatorVersion]:
    """Return the approved versions of an operator, the newest last."""
    return [each for each in versions.versions() if each.operator == operator and each.status == "approved"]


def _approved_before(new: OperatorVersion, versions: VersionFolder) -> OperatorVersion | None:
    return next((each for each in reversed(_approved(new.operator, versions)) if each.number < new.number), None)


def _check(version: OperatorVersion) -> None:
    """Check what needs no graph; the names of a schema are checked whenever the version is to serve.

    :raises StatementError: when the template is no query that only reads.
    """
    from planners.stores.statements import allowed_cypher

    allowed_cypher(version.template, write=False)


def _print(version: OperatorVersion, *, as_json: bool) -> None:
    from planners.graphseek.adapt import VERSION, version_lines

    if as_json:
        shown: dict[str, Any] = VERSION.dump_python(version, mode="json")
        print_json({**_short(version), **shown})
        return
    stdout.print(plain(f"{version.name} ({version.status})"), highlight=False)
    for line in version_lines(version):
        stdout.print(plain(line), soft_wrap=True, highlight=False)


def _short(version: OperatorVersion) -> dict[str, Any]:
    return {
        "name": version.name,
        "status": version.status,
        "dialect": version.dialect,
        "schema": version.schema,
        "digest": version.digest,
    }
