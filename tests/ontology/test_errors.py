"""The one tree of errors: every error has one gRPC code, one exit code, a subject and a remedy."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import grpc
import pytest

from ontology import errors
from ontology.errors import EgotoolsError, error_from_status


def _tree(root: type[EgotoolsError]) -> list[type[EgotoolsError]]:
    return [root, *(below for child in root.__subclasses__() for below in _tree(child))]


TREE = [error for error in _tree(EgotoolsError) if error.__module__ == errors.__name__]


@pytest.mark.parametrize("code", [code.name for code in grpc.StatusCode])
def test_a_status_becomes_an_error_of_its_code_or_the_root(code: str) -> None:
    error = error_from_status(code, "It went wrong.", subject="there", remedy="Look.")
    assert error.grpc_code == (code if code in {kind.grpc_code for kind in TREE} else "INTERNAL")
    assert str(error) == "there: It went wrong. Look."


def test_without_a_clone_the_packages_of_an_extra_are_named(tmp_path: Path) -> None:
    shutil.copytree(Path(__file__).parents[2] / "ontology", tmp_path / "ontology")
    code = "from ontology.errors import how_to_install as how; print(how('mcp')); print(how('no-such-extra'))"
    run = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    found, unknown = run.stdout.splitlines()
    assert found.startswith("Run: ") and "pip install" in found and "mcp>=" in found
    assert unknown == "Install egotools with its extra 'no-such-extra'"


def test_every_extra_that_an_error_names_has_a_lock_file_in_the_clone() -> None:
    root = Path(__file__).parents[2]
    code = (path for path in root.glob("[a-z]*/**/*.py") if path.relative_to(root).parts[0] != "tests")
    missing = re.compile(r'MissingExtraError\([^)]*extra="([\w-]+)"')
    named = {extra for path in code for extra in missing.findall(path.read_text(encoding="utf-8"))}
    assert len(named) > 5
    assert named <= {file.stem for file in (root / "requirements").glob("*.txt")}
