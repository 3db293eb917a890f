"""The wheel holds every import package with its data and its type marker, and nothing else of the tree."""

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


def test_the_client_is_found_beside_a_folder_that_is_called_like_the_package(tmp_path: Path) -> None:
    (tmp_path / "egotools").mkdir()  # a clone has no __init__.py
    (tmp_path / "client.py").write_text("from egotools import Client", encoding="utf-8")
    subprocess.run([sys.executable, "client.py"], cwd=tmp_path, check=True)


_EXTRAS = (
    "agents anthropic bs4 botocore haystack icalendar ladybug langchain_core langgraph llama_index markitdown"
    " mcp neo4j openai opentelemetry pydantic_ai pyoxigraph rapidocr ray sentence_transformers starlette torch transformers"
    " uvicorn vobject"
)
_WITHOUT_EXTRAS = f"""
import sys
sys.modules.update(dict.fromkeys({_EXTRAS!r}.split()))
import typer
from typer.testing import CliRunner
from services.cli.app import app

for name in typer.main.get_command(app).commands:
    done = CliRunner().invoke(app, [name, "--help"])
    assert done.exit_code == 0, (name, done.output, done.exception)

from ontology.errors import MissingExtraError
from planners.stores.ladybug import check_ladybug

for extra, use in {{"personal": lambda: __import__("planners.personal"), "ladybug": lambda: check_ladybug("graphs")}}.items():
    try:
        use()
    except MissingExtraError as error:
        assert error.extra == extra and f"requirements/{{extra}}.txt" in str(error.remedy), error
    else:
        raise AssertionError(extra)
"""


def test_every_command_says_what_it_does_without_the_extras_and_names_those_it_needs() -> None:
    done = subprocess.run([sys.executable, "-c", _WITHOUT_EXTRAS], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2_000:]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The names of the files in a wheel built from a copy of the packages."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    ignored = shutil.ignore_patterns("__pycache__")
    for name in (*PACKAGES, "benchmarks", "scripts", "tests"):
        shutil.copytree(ROOT / name, source / name, ignore=ignored)
    shutil.copytree(ROOT / "examples" / "company", source / "examples" / "company", ignore=ignored)
    for name in PROJECT_FILES:
        shutil.copy(ROOT / name, source / name)
    options = "--quiet --disable-pip-version-check --no-deps --no-index --no-build-isolation"
    uncompressed = "--config-settings=--build-option=--compression=stored"  # only the names are read
    command = [sys.executable, "-m", "pip", "wheel", *options.split(), uncompressed, "--wheel-dir", str(folder)]
    subprocess.run([*command, str(source)], check=True)
    (made,) = folder.glob("egotools-*.whl")
    with zipfile.ZipFile(made) as archive:
        return set(archive.namelist())


@pytest.mark.slow
def test_the_wheel_holds_modules_data_and_markers(wheel: set[str]) -> None:
    files = {path.relative_to(ROOT).as_posix() for package in PACKAGES for path in (ROOT / package).rglob("*.*")}
    wanted = {name for name in files if name.endswith((".py", *DATA)) or Path(name).name == "py.typed"}
    company = {f"examples/company/{path.name}" for path in (ROOT / "examples" / "company").glob("*.*")}
    assert sorted((wanted | company) - wheel) == []
    assert {f"{package}/py.typed" for package in PACKAGES} <= wheel


@pytest.mark.slow
def test_the_wheel_holds_nothing_that_only_a_checkout_needs(wheel: set[str]) -> None:
    tops = {name.partition("/")[0] for name in wheel}
    assert {top for top in tops if not top.startswith("egotools-")} == {*PACKAGES, "examples"}
