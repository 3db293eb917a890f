"""What ``tests/house.yaml`` limits, counted: ``python -m tests.house`` shows it, ``python -m tests.house lower`` lowers the ceilings.

Ceilings only fall. Lower them on the main line, after a merge: branches that each lower one would meet in the same row.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "tests" / "house.yaml"
MODULE_LINES = 900
PACKAGE_MODULES = 12
COUNTED = ("lines", "statements", "private", "wide")
Row = Mapping[str, int]


@cache
def ceilings() -> dict[str, Row]:
    """Package → its row of the table."""
    table: dict[str, Row] = yaml.safe_load(TABLE.read_text(encoding="utf-8"))
    return table


def files_of(package: str) -> list[Path]:
    """Its modules but the generated ones, relative to the project's folder."""
    found = (path.relative_to(ROOT) for path in sorted((ROOT / package).rglob("*.py")))
    return [path for path in found if path.parts[:2] != ("egotools", "v1")]


@dataclass(frozen=True, slots=True)
class Module:
    """What one file has.

    :param imports: Module, name in it (or nothing) and name here, of each import; inside functions too.
    :param taken: Line, owner and name of each use of a private name of something else than ``self`` or ``cls``.
    """

    lines: int
    statements: int
    imports: tuple[tuple[str, str, str], ...]
    taken: tuple[tuple[int, str, str], ...]


def is_private(name: str) -> bool:
    """Whether a name begins with one underscore; ``_replace`` and its like of a named tuple are public."""
    return name.startswith("_") and not name.startswith("__") and name not in ("_replace", "_asdict", "_fields")


def _imports(node: ast.AST) -> Iterator[tuple[str, str, str]]:
    if isinstance(node, ast.Import):
        yield from ((name.name, "", name.asname or name.name.partition(".")[0]) for name in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
        yield from ((node.module, name.name, name.asname or name.name) for name in node.names)


def _taken(node: ast.AST) -> Iterator[tuple[int, str, str]]:
    if isinstance(node, ast.Attribute) and is_private(node.attr):
        owner = ast.unparse(node.value)
        if owner not in ("self", "cls", "super()", "os"):  # ``os._exit`` is a documented name
            yield node.lineno, owner, node.attr
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "setattr":
        names = [arg.value for arg in node.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
        yield from ((node.lineno, "setattr", name) for name in names if any(map(is_private, name.split("."))))


def nodes_of(path: Path) -> list[ast.AST]:
    """The syntax tree of a file."""
    text = (ROOT / path).read_text(encoding="utf-8")
    try:
        return list(ast.walk(ast.parse(text)))
    except SystemError:  # Python 3.11 loses count of the depth where a thread of another test compiles meanwhile
        return list(ast.walk(ast.parse(text)))


@cache
def module_of(path: Path) -> Module:
    """Read a file."""
    text, nodes = (ROOT / path).read_text(encoding="utf-8"), nodes_of(path)
    return Module(
        lines=len(text.splitlines()),
        statements=sum(isinstance(node, ast.stmt) for node in nodes),
        imports=tuple(each for node in nodes for each in _imports(node)),
        taken=tuple(each for node in nodes for each in _taken(node)),
    )


def private_uses(path: Path) -> list[str]:
    """Private names of another folder that a file imports or takes from what it imports; of a test, those of any object."""
    found = []
    foreign = set()
    for module, name, here in module_of(path).imports:
        words = module.split(".")
        home = ROOT.joinpath(*words)
        if words[0] in ceilings() and (home if home.is_dir() else home.parent) != ROOT / path.parent:
            foreign.add(here)
            if any(map(is_private, (*words, name))):
                found.append(f"{path} imports {module} {name}".rstrip())
    for line, owner, name in module_of(path).taken:
        if owner in foreign or path.parts[0] == "tests":
            found.append(f"{path}:{line} takes {owner} {name}")
    return found


def wide_folders(package: str) -> list[Path]:
    """Its folders with more modules than a dozen; of tests none counts."""
    modules = [path.parent for path in files_of(package) if path.name != "__init__.py"]
    return sorted(folder for folder in set(modules) if package != "tests" and modules.count(folder) > PACKAGE_MODULES)


def counts(package: str) -> Row:
    """What the table limits, of one package."""
    files = files_of(package)
    return {
        "lines": sum(module_of(path).lines for path in files),
        "statements": sum(module_of(path).statements for path in files),
        "private": sum(len(private_uses(path)) for path in files),
        "wide": len(wide_folders(package)),
    }


def lower() -> None:
    """Lower each ceiling to the count; of lines and statements to the next hundred, so that a mend of some lines fits."""
    text = TABLE.read_text(encoding="utf-8")
    comment = text[: text.index("\n\n") + 2]
    rows = {}
    for package, row in ceilings().items():
        found = dict(counts(package))
        found |= {name: -(-found[name] // 100) * 100 for name in ("lines", "statements")}
        if found["lines"] <= row["target"]:  # it has arrived, and may still be filled
            found |= {"lines": row["target"], "statements": row["statements"]}
        rows[package] = {name: min(found[name], row[name]) for name in COUNTED} | {"target": row["target"]}
    lines = [f"{name}: {{{', '.join(f'{key}: {value}' for key, value in row.items())}}}" for name, row in rows.items()]
    TABLE.write_text(comment + "\n".join(lines) + "\n", encoding="utf-8")
    ceilings.cache_clear()


def main() -> None:
    """Show count / ceiling of each package, or lower the ceilings."""
    if sys.argv[1:] == ["lower"]:
        lower()
    elif sys.argv[1:]:
        sys.exit("usage: python -m tests.house [lower]")
    for package, row in ceilings().items():
        found = counts(package)
        shown = "  ".join(f"{name} {found[name]:,} / {row[name]:,}" for name in COUNTED)
        sys.stdout.write(f"{package:10}  {shown}  target {row['target']:,} lines\n")


if __name__ == "__main__":
    main()
