"""The command ``egotools keys``: keys that sign snapshots."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from services.cli.console import plain, print_json, stdout
from services.cli.options import Json, command

__all__ = ["keys_app"]

keys_app = typer.Typer(help="Keys that sign snapshots.", no_args_is_help=True)


@command(keys_app)
def create(
    file: Annotated[Path, typer.Argument(help="File for the new private key. The public key is written to FILE.pub.")],
    as_json: Json = False,
) -> None:
    """Create an Ed25519 key: a private one, which signs, and a public one, which servers trust.

    Build with --signing-key FILE; serve with EGOTOOLS_TRUSTED_KEYS=FILE.pub.
    """
    from retrieval.snapshot.signing import create_key

    public, key_id = create_key(file)
    if as_json:
        print_json({"private_key": str(file), "public_key": str(public), "key_id": key_id})
        return
    stdout.print(plain(f"Wrote the private key {file} and the public key {public} (key id {key_id})"), soft_wrap=True)


@command(keys_app)
def show(
    files: Annotated[list[Path], typer.Argument(metavar="FILE…", help="Files of public keys.")], as_json: Json = False
) -> None:
    """Print the ids of public keys, as signatures name them: ``manifest.ID.sig``."""
    from retrieval.snapshot.signing import load_trusted_keys

    found = sorted(load_trusted_keys(files) or ())
    if as_json:
        print_json(found)
        return
    for key_id in found:
        stdout.print(key_id, highlight=False)
