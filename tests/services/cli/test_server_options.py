"""The options of a server are the same for each command, and an error of a server shows no password of its address."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from ontology.errors import StorageError
from services.cli.app import app
from tests.harness.commands import Run


def test_the_command_says_what_they_are() -> None:
    shown = " ".join(CliRunner().invoke(app, ["mcp", "--help"], env={"COLUMNS": "300"}).output.split())
    assert "File with the bearer token for the server." in shown
    assert "Certificates that the server's must come from; makes it TLS." in shown


@pytest.mark.parametrize("option", ["--token-file", "--ca-file"])
def test_a_file_that_cannot_be_read_is_named(run: Run, tmp_path: Path, option: str) -> None:
    code, _, err = run("mcp", "--server", "127.0.0.1:1", option, tmp_path / "none")
    assert code == StorageError.exit_code and "Name a file that can be read" in " ".join(err.split())


def test_the_password_of_an_address_is_not_repeated(run: Run, tmp_path: Path) -> None:
    code, out, err = run("call", "a/b", "--server", "http://user:s3cret@127.0.0.1:1")
    assert code != 0 and "s3cret" not in out + err
