"""The commands ``egotools tokens``: static bearer tokens of a server."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer
from rich.markup import escape

from ontology.errors import InvalidArgumentError
from services.cli.console import print_json, stderr, stdout, table
from services.cli.options import Json, command

__all__ = ["tokens_app"]

tokens_app = typer.Typer(help="Make, list and revoke the static tokens of a server.", no_args_is_help=True)
_File: TypeAlias = Annotated[
    Path, typer.Option("--file", "-f", help="File of the tokens' hashes.", envvar="EGOTOOLS_TOKENS_FILE")
]
_Name: TypeAlias = Annotated[str, typer.Argument(help="Name of the token, which the access policy names too.")]


@command(tokens_app)
def create(
    name: _Name,
    file: _File,
    days: Annotated[float | None, typer.Option(help="Days until it expires. Default: it does not.")] = None,
    as_json: Json = False,
) -> None:
    """Make a token and print it. The file keeps its hash only: the token cannot be shown again."""
    from services.server.access.tokens import create_token

    if days is not None and not 0 < days <= 3_650:
        raise InvalidArgumentError(f"days must be more than 0 and at most 3,650, not {days}", subject="--days")
    token = create_token(file, name, days=days)
    if as_json:
        print_json({"name": name, "token": token})
        return
    stderr.print(f"Added the token {escape(name)} to {escape(str(file))}. It is shown only now:", soft_wrap=True)
    stdout.print(token, highlight=False, soft_wrap=True, markup=False)


@command(tokens_app, "list")
def list_(file: _File, as_json: Json = False) -> None:
    """List the tokens of a file, without their secrets."""
    from services.server.access.tokens import list_tokens

    tokens = list_tokens(file)
    if as_json:
        print_json([each.model_dump(mode="json", exclude={"sha256"}) for each in tokens])
        return
    rows = [
        [each.name, each.id, f"{each.created:%Y-%m-%d}", "" if each.expires is None else f"{each.expires:%Y-%m-%d}"]
        for each in tokens
    ]
    stdout.print(table(f"{len(tokens)} tokens", ["name", "id", "made", "expires"], rows))


@command(tokens_app)
def revoke(name: Annotated[str, typer.Argument(help="Name or id of the token.")], file: _File) -> None:
    """Remove a token. Running servers refuse it within two seconds."""
    from services.server.access.tokens import revoke_token

    revoke_token(file, name)
    stderr.print(f"Revoked {escape(name)}.", soft_wrap=True)
