"""The house: budgets that only fall, imports that lead down, private names that stay private."""

import graphlib
import subprocess
import sys
from itertools import permutations
from pathlib import Path

import pytest

from tests.house import COUNTED, MODULE_LINES, ROOT, ceilings, counts, files_of, module_of, private_uses, wide_folders

FLOORS = {
    "ontology": 1,
    "inference": 2,
    "ingest": 3,
    "retrieval": 4,
    "eval": 5,
    "datagen": 5,
    "planners": 5,
    "services": 6,
}
CLIENT = "egotools"  # the public contract: whoever talks to a server imports it
NOT_INSTALLED = ("scripts", "benchmarks", "tests")
PLANNERS = ("dfs", "kgot", "graphseek")
STRANGERS = [
    ("retrieval", "ingest"),
    ("ingest", "retrieval"),
    *((f"planners/{one}", f"planners.{other}") for one, other in permutations(PLANNERS, 2)),
]


def _targets(path: Path) -> set[str]:
    """The modules that a file imports; ``package.name`` for a name imported from a package."""
    return {f"{module}.{name}" if name else module for module, name, _ in module_of(path).imports}


@pytest.mark.parametrize("package", ceilings())
def test_a_package_is_within_its_budget(package: str) -> None:
    row, found = ceilings()[package], counts(package)
    above = {name: f"{found[name]:,}, ceiling {row[name]:,}" for name in COUNTED if found[name] > row[name]}
    told = []
    if "private" in above:
        told += [use for path in files_of(package) for use in private_uses(path)]
    if "wide" in above:
        told += [f"more than a dozen modules: {folder}" for folder in wide_folders(package)]
    assert above == {}, "\n".join(told)


@pytest.mark.parametrize("package", ceilings())
def test_no_module_is_too_long(package: str) -> None:
    long = {str(path): lines for path in files_of(package) if (lines := module_of(path).lines) > MODULE_LINES}
    assert long == {}


def test_every_folder_with_code_has_a_budget() -> None:
    folders = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert folders <= ceilings().keys()


@pytest.mark.parametrize("package", [*FLOORS, CLIENT])
def test_imports_only_lead_down(package: str) -> None:
    floor = FLOORS.get(package, 0)
    files = files_of(package)
    wrong = [
        f"{path} imports {module}"
        for path in files
        for module, _, _ in module_of(path).imports
        if (top := module.partition(".")[0]) != package
        and (FLOORS.get(top, 0) >= max(floor, 1) or top in NOT_INSTALLED)
    ]
    assert files
    assert wrong == []


@pytest.mark.parametrize(("folder", "other"), STRANGERS)
def test_strangers_import_nothing_of_each_other(folder: str, other: str) -> None:
    wrong = [
        f"{path} imports {target}"
        for path in files_of(folder)
        for target in _targets(path)
        if f"{target}.".startswith(f"{other}.")
    ]
    assert wrong == []


def test_the_server_loads_nothing_that_reads_documents() -> None:
    code = "import sys, services.server.server; print([name for name in sys.modules if name.split('.')[0] == 'ingest'])"
    loaded = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert loaded.stdout.strip() == "[]"


def test_no_module_imports_itself_through_others() -> None:
    modules = {
        ".".join(path.parent.parts if path.stem == "__init__" else path.with_suffix("").parts): path
        for package in ceilings()
        if package != "tests"
        for path in files_of(package)
    }
    graph = {}
    for name, path in modules.items():
        targets = _targets(path)
        graph[name] = {
            target if target in modules else target.rpartition(".")[0] for target in targets
        } & modules.keys() - {name}
    assert len(graph) > 100
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        pytest.fail(f"import circle: {' → '.join(error.args[1])}")
