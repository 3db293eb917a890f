"""The one tree of errors: every error has one gRPC code, one exit code, a subject and a remedy."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import grpc
import pytest

from ontology import errors
from ontology.errors import DocumentError, EgotoolsError, MissingExtraError, UnknownFormatError, error_from_status


def _tree(root: type[EgotoolsError]) -> list[type[EgotoolsError]]:
    return [root, *(below for child in root.__subclasses__() for below in _tree(child))]


TREE = [error for error in _tree(EgotoolsError) if error.__module__ == errors.__name__]


@pytest.mark.parametrize("error", TREE, ids=lambda error: error.__name__)
def test_every_error_is_in_the_drawing_with_its_codes(error: type[EgotoolsError]) -> None:
    assert errors.__doc__ is not None
    (row,) = [line for line in errors.__doc__.splitlines() if re.search(rf"\b{error.__name__}\b", line)]
    assert error.grpc_code in row.split()
    assert str(error.exit_code) in row.split()
    assert error.__name__ in errors.__all__


@pytest.mark.parametrize("error", TREE, ids=lambda error: error.__name__)
def test_every_code_is_one_that_grpc_knows(error: type[EgotoolsError]) -> None:
    assert hasattr(grpc.StatusCode, error.grpc_code)
    assert 1 <= error.exit_code < 64


@pytest.mark.parametrize("code", [code.name for code in grpc.StatusCode])
def test_a_status_becomes_an_error_of_its_code_or_the_root(code: str) -> None:
    error = error_from_status(code, "It went wrong.", subject="there", remedy="Look.")
    known = {kind.grpc_code for kind in TREE}
    assert error.grpc_code == (code if code in known else "INTERNAL")
    assert str(error) == "there: It went wrong. Look."


def test_an_error_is_one_sentence_of_what_where_and_what_to_do() -> None:
    error = EgotoolsError("the file is empty", subject="a.json:3", remedy="Put tools into it")
    assert str(error) == "a.json:3: the file is empty. Put tools into it."
    assert str(EgotoolsError("it broke")) == "it broke."


def test_a_missing_extra_names_how_to_get_it() -> None:
    assert "pip install -r requirements/mcp.txt" in str(MissingExtraError("a live MCP server", extra="mcp"))


def _installed(folder: Path, *, with_pip: bool) -> str:
    """What an installed wheel says of a missing extra: packages without a clone around them, and their metadata."""
    root = Path(__file__).parents[2]
    for package in ("ontology", "egotools"):
        shutil.copytree(root / package, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needs = [
        f'Requires-Dist: {each}; extra == "{extra}"'
        for extra, packages in project["optional-dependencies"].items()
        for each in packages
    ]
    metadata = ["Metadata-Version: 2.4", "Name: egotools", "Version: 0.1.0", "Requires-Dist: numpy>=2.0", *needs, ""]
    (folder / "egotools-0.1.0.dist-info").mkdir()
    (folder / "egotools-0.1.0.dist-info" / "METADATA").write_text("\n".join(metadata), encoding="utf-8")
    program = "from ontology.errors import MissingExtraError as E; print(E('a page', extra='web'), E('all', extra='default'), sep='\\n')"
    if not with_pip:
        program = f"import sys; sys.modules['pip'] = None; {program}"
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_an_installed_wheel_says_how_to_get_an_extra_into_its_own_environment(tmp_path: Path) -> None:
    said, of_none = _installed(tmp_path, with_pip=True).splitlines()
    start, _, command = said.rstrip(".").partition("Run: ")
    assert start == "a page: an optional dependency is not installed. "
    assert shlex.split(command)[:4] == [sys.executable, "-m", "pip", "install"]
    assert [re.split("[>=<]", each)[0] for each in shlex.split(command)[4:]] == ["starlette", "uvicorn"]
    assert of_none.endswith("'numpy>=2.0'.")
    done = subprocess.run(  # what is there already needs no network
        [*shlex.split(command), "--dry-run", "--no-index"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_an_environment_without_pip_is_filled_by_uv(tmp_path: Path) -> None:
    said = _installed(tmp_path, with_pip=False).splitlines()[0]
    assert f"Run: uv pip install --python {sys.executable} 'starlette" in said


def test_every_extra_that_an_error_names_has_a_lock_file_in_the_clone() -> None:
    root = Path(__file__).parents[2]
    code = (path for path in root.glob("[a-z]*/**/*.py") if path.relative_to(root).parts[0] != "tests")
    missing = re.compile(r'MissingExtraError\([^)]*extra="([\w-]+)"')
    named = {extra for path in code for extra in missing.findall(path.read_text(encoding="utf-8"))}
    assert len(named) > 5
    assert named <= {file.stem for file in (root / "requirements").glob("*.txt")}


def test_an_error_of_a_document_has_the_kind_of_its_fault() -> None:
    assert DocumentError("the file cannot be read").reason == "unreadable"
    assert DocumentError("invalid JSON", reason="invalid-json").reason == "invalid-json"
    assert UnknownFormatError("no reader knows this document").reason == "unknown-format"
