"""The worked changes of CONTRIBUTING apply to the tree as it is, and their tests pass."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
CHANGES = PAGE[PAGE.index("## Worked changes") :]
_FILE = re.compile(r"^`([^`\n]+)`:\n\n```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_DIFF = re.compile(r"^```diff\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_LARGE = ("inference/weights",)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the tree with every worked change; large folders are links."""
    copy = tmp_path_factory.mktemp("contributing") / "tree"
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    for name in names:
        if name and (ROOT / name).is_file() and not name.startswith(_LARGE):
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, copy / name)
    for name in _LARGE:
        (copy / name).symlink_to(ROOT / name)
    for path, text in _FILE.findall(CHANGES):
        assert not (copy / path).exists(), path
        (copy / path).write_text(text, encoding="utf-8")
    for diff in _DIFF.findall(CHANGES):
        applied = subprocess.run(
            ["git", "apply", "--unsafe-paths", "-"], cwd=copy, input=diff, capture_output=True, text=True, check=False
        )
        assert applied.returncode == 0, f"{applied.stderr}\n{diff}"
    return copy


def _run(tree: Path, *command: str) -> None:
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=tree, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def _changed(tree: Path) -> list[str]:
    named = [path for path, _ in _FILE.findall(CHANGES)] + re.findall(r"^\+\+\+ b/(\S+)$", CHANGES, re.MULTILINE)
    assert all((tree / path).exists() for path in named)
    return named


@pytest.mark.slow
def test_the_tests_of_the_worked_changes_pass(tree: Path) -> None:
    tests = [path for path in _changed(tree) if path.startswith("tests/")]
    assert len(tests) == 5
    _run(tree, "pytest", "-q", "-p", "no:cacheprovider", *tests)


def test_the_worked_changes_are_formatted_and_linted(tree: Path) -> None:
    _run(tree, "ruff", "check", "--no-cache", *_changed(tree))
    _run(tree, "ruff", "format", "--no-cache", "--check", *_changed(tree))
