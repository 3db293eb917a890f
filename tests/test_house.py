"""The house: a folder imports the folders below it, never one above or beside it; the client imports none."""

from __future__ import annotations

import ast
import graphlib
import importlib
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Set
from functools import cache
from pathlib import Path

import pytest

from tests.conftest import ROOT

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


@cache
def _imports(path: Path) -> tuple[ast.Import | ast.ImportFrom, ...]:
    """What a file imports, inside functions too; most tests here look at all files."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return tuple(node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom))


def _imported(path: Path) -> Iterator[str]:
    for node in _imports(path):
        if isinstance(node, ast.Import):
            yield from (name.name.split(".")[0] for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.split(".")[0]


@pytest.mark.parametrize("folder", [*FLOORS, CLIENT])
def test_imports_only_lead_down(folder: str) -> None:
    floor = FLOORS.get(folder, 0)
    files = sorted((ROOT / folder).rglob("*.py"))
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in files
        for name in _imported(path)
        if name != folder and (FLOORS.get(name, 0) >= max(floor, 1) or name in ("scripts", "research", "tests"))
    ]
    assert files
    assert wrong == []


# The rooms of a folder (packages, and modules that rooms import), lowest first. A room imports rooms of lower rows only; what
# is in no row stands above them all.
ROOMS = {
    "retrieval": (
        ("index",),
        ("snapshot",),
        ("query",),
        ("candidates", "ranking"),
        ("completion", "task_state"),
        ("learned_edges", "learned_ranking"),
        ("explain",),
        ("response",),
        ("baselines",),
    ),
    "ingest": (
        ("sources", "word_lists", "graph_rows"),
        ("extract", "linking", "export", "trust"),
        ("graph", "stores", "usage"),
        ("canonical",),
        ("overlay",),
    ),
    "eval": (
        ("gold_slots", "row_files"),
        ("answers", "bootstrap", "queries", "rank_measures", "system"),
        ("graph_quality", "metrics", "run", "systems"),
        ("measured_set", "request_groups"),
        ("abstention_rates",),
        ("analysis", "summary"),
        ("report",),
        ("learning", "tuning"),
    ),
    "datagen": (
        ("default_value", "ev_graph", "kgot_tasks", "measures", "parameter_index", "patterns", "personal", "tool_path"),
        ("composed_names", "extended_profiles", "named_outputs", "output_kinds", "synthetic_request", "tool_links"),
        ("interfaces", "profiled_catalogue"),
        ("generation", "paths"),
        ("validation",),
        ("llm", "long_tasks", "unanswerable"),
        ("run",),
        ("report",),
    ),
    "planners": (("calling", "personal"), ("finding", "graphs"), ("runs", "steps"), ("dfs", "graphseek", "kgot")),
    "services": (
        ("company", "outcomes", "schemas"),
        ("jobs",),
        ("server",),
        ("http",),
        ("cluster", "mcp", "rest", "web"),
        ("cli",),
    ),
}
BESIDE_ROOMS = {
    # modules that every room may import
    "retrieval": {"config"},
    "services": {"threads", "audited"},
}


def _modules(path: Path) -> Iterator[str]:
    for node in _imports(path):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module


@pytest.mark.parametrize("folder", ROOMS)
def test_rooms_import_only_lower_rooms(folder: str) -> None:
    level = {room: at for at, row in enumerate(ROOMS[folder]) for room in row}
    packages = {path.parent.name for path in (ROOT / folder).glob("*/__init__.py")}
    assert packages <= set(level), "a package without a row"
    wrong = []
    for room in level:
        files = sorted((ROOT / folder / room).rglob("*.py")) or [ROOT / folder / f"{room}.py"]
        for path in files:
            for module in _modules(path):
                top, _, rest = module.partition(".")
                other = rest.partition(".")[0]
                if top != folder or other in {room, *BESIDE_ROOMS.get(folder, ())}:
                    continue
                if other not in level or level[other] >= level[room]:
                    wrong.append(f"{path.relative_to(ROOT)} imports {module}")
    assert wrong == []


@pytest.mark.parametrize(("account", "other"), [("kgot", "graphseek"), ("graphseek", "kgot")])
def test_the_accounts_of_two_planners_import_nothing_of_each_other(account: str, other: str) -> None:
    """What they share is in ``scripts/account``."""
    scripts = ROOT / "scripts"
    files = [
        *sorted((scripts / account).rglob("*.py")),
        *sorted(scripts.glob(f"*{account}*.py")),
        *sorted((scripts / "account").glob("*.py")),
    ]
    wrong = [
        f"{path.relative_to(ROOT)} imports {module}"
        for path in files
        for module in _modules(path)
        if module.startswith((f"scripts.{other}", f"planners.{other}"))
    ]
    assert len(files) > 10
    assert wrong == []


@pytest.mark.parametrize(("folder", "other"), [("retrieval", "ingest"), ("ingest", "retrieval")])
def test_offline_and_online_import_nothing_of_each_other(folder: str, other: str) -> None:
    files = sorted((ROOT / folder).rglob("*.py"))
    assert [str(path) for path in files if other in _imported(path)] == []


def test_the_server_loads_nothing_that_reads_documents() -> None:
    code = "import sys, services.server.server; print([name for name in sys.modules if name.split('.')[0] == 'ingest'])"
    loaded = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert loaded.stdout.strip() == "[]"


def _project_modules() -> dict[str, Path]:
    """Name → file of every module of the project but the generated ones."""
    found = {}
    for folder in [*FLOORS, CLIENT, "scripts", "research"]:
        for path in sorted((ROOT / folder).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            if "v1" not in parts:
                found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def _targets(path: Path, known: Set[str]) -> set[str]:
    """The modules of the project that a file imports."""
    found = set()
    for node in _imports(path):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            inner = {f"{node.module}.{name.name}" for name in node.names}
            found |= inner if inner <= known else inner | {node.module}
    return found & known


def test_no_module_imports_itself_through_others() -> None:
    modules = _project_modules()
    graph = {name: _targets(path, modules.keys()) - {name} for name, path in modules.items()}
    assert len(graph) > 300
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        pytest.fail(f"import circle: {' → '.join(error.args[1])}")


@pytest.mark.parametrize("folder", ["planners.graphseek"])
def test_no_package_imports_itself_through_others(folder: str) -> None:
    modules = {name: path for name, path in _project_modules().items() if name.startswith(f"{folder}.")}
    packages = {name: ".".join(path.parent.relative_to(ROOT).parts) for name, path in modules.items()}
    graph: dict[str, set[str]] = defaultdict(set)
    for name, path in modules.items():
        graph[packages[name]] |= {packages[each] for each in _targets(path, modules.keys())} - {packages[name]}
    assert len(graph) > 5
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        pytest.fail(f"import circle: {' → '.join(error.args[1])}")


def _packages() -> list[str]:
    return sorted(
        ".".join(path.parent.relative_to(ROOT).parts)
        for folder in [*FLOORS, CLIENT]
        for path in (ROOT / folder).rglob("__init__.py")
        if path.parent.name != "v1"
    )


def _handed_on(package: str, tree: ast.Module) -> set[str]:
    """The public names that an ``__init__`` imports from its own modules, or defines."""
    names = {
        name.asname or name.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith(f"{package}.")
        for name in node.names
    }
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {target.id for target in targets if isinstance(target, ast.Name)}
    return {name for name in names if not name.startswith("_")}


@pytest.fixture(scope="module")
def imported_from() -> Mapping[str, set[str]]:
    """``package.name`` → the files that import the name through the package."""
    found: dict[str, set[str]] = defaultdict(set)
    for folder in [*FLOORS, CLIENT, "scripts", "research", "examples", "tests"]:
        for path in (ROOT / folder).rglob("*.py"):
            for node in _imports(path):
                if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                    for name in node.names:
                        found[f"{node.module}.{name.name}"].add(str(path.relative_to(ROOT)))
    return found


def _documented() -> set[str]:
    """The packages and modules whose names the documentation shows as public."""
    pages = (ROOT / "docs" / "api").glob("*.md")
    return {line.removeprefix("::: ") for page in pages for line in page.read_text().splitlines() if line[:4] == "::: "}


@pytest.mark.parametrize("package", _packages())
def test_a_folder_explains_itself_and_exports_what_it_hands_on(package: str) -> None:
    module = importlib.import_module(package)
    tree = ast.parse((ROOT.joinpath(*package.split(".")) / "__init__.py").read_text(encoding="utf-8"))
    exported = set(getattr(module, "__all__", ()))
    assert module.__doc__ and len(module.__doc__.split()) >= 5
    assert exported == _handed_on(package, tree)
    assert [name for name in exported if not hasattr(module, name)] == []


@pytest.mark.parametrize("package", _packages())
def test_a_folder_hands_on_only_names_that_are_imported_through_it(
    package: str, imported_from: Mapping[str, set[str]]
) -> None:
    exported = () if package in _documented() else getattr(importlib.import_module(package), "__all__", ())
    inside = f"{package.replace('.', '/')}/"
    unused = [
        name for name in exported if all(file.startswith(inside) for file in imported_from.get(f"{package}.{name}", ()))
    ]
    assert unused == []


def test_the_documented_names_are_modules() -> None:
    assert _documented()
    assert _documented() <= set(_project_modules())
