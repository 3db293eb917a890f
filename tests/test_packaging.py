"""The wheel holds every import package with its data and its type marker, and nothing else of the tree."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.conftest import ROOT

PACKAGES = ("datagen", "egotools", "eval", "inference", "ingest", "ontology", "planners", "retrieval", "services")
PROJECT_FILES = ("pyproject.toml", "README.md", "LICENSE", "NOTICE")
DATA = (".yaml", ".json", ".onnx", ".npy", ".pyi", ".txt", ".jsonl", ".js", ".css", ".html", ".svg", ".woff2")


@pytest.mark.parametrize("package", PACKAGES)
def test_every_import_package_is_marked_as_typed(package: str) -> None:
    assert (ROOT / package / "py.typed").is_file()


def test_the_client_is_found_beside_a_folder_that_is_called_like_the_package(tmp_path: Path) -> None:
    (tmp_path / "egotools").mkdir()  # a clone has no __init__.py
    (tmp_path / "client.py").write_text("from egotools import Client", encoding="utf-8")
    subprocess.run([sys.executable, "client.py"], cwd=tmp_path, check=True)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The names of the files in a wheel built from a copy of the packages."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    ignored = shutil.ignore_patterns("__pycache__")
    for name in (*PACKAGES, "benchmarks", "research", "scripts", "tests"):
        shutil.copytree(ROOT / name, source / name, ignore=ignored)
    for name in PROJECT_FILES:
        shutil.copy(ROOT / name, source / name)
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--disable-pip-version-check",
        "--no-deps",
        "--no-index",
    ]
    uncompressed = "--config-settings=--build-option=--compression=stored"  # only the names are read
    subprocess.run(
        [*command, uncompressed, "--no-build-isolation", "--wheel-dir", str(folder), str(source)], check=True
    )
    (made,) = folder.glob("egotools-*.whl")
    with zipfile.ZipFile(made) as archive:
        return set(archive.namelist())


@pytest.mark.slow
def test_the_wheel_holds_modules_data_and_markers(wheel: set[str]) -> None:
    files = {path.relative_to(ROOT).as_posix() for package in PACKAGES for path in (ROOT / package).rglob("*.*")}
    wanted = {name for name in files if name.endswith((".py", *DATA)) or Path(name).name == "py.typed"}
    assert sorted(wanted - wheel) == []
    assert {f"{package}/py.typed" for package in PACKAGES} <= wheel


@pytest.mark.slow
def test_the_wheel_holds_nothing_that_only_a_checkout_needs(wheel: set[str]) -> None:
    tops = {name.partition("/")[0] for name in wheel}
    assert {top for top in tops if not top.startswith("egotools-")} == set(PACKAGES)
