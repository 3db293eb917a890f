"""Which faults the tests find: single faults are put into a sample of functions, and the tests that run them are run.

    python -m pytest -m "not slow" --cov --cov-context=test --cov-report=
    python -m tests.mutation --out FILE

The first command tells which tests run which line (``.coverage``). Of N functions (drawn by seed, packages by their lines) each gets one
fault in a copy of the tree: a negated condition, another comparison or operator, another constant, a dropped statement, an empty return.
The tests that run its line are run, some of each file first, until one fails or the processor time is used up. A test that fails without
the fault too does not count. What runs only in processes that a test starts is not seen.
"""

from __future__ import annotations

import ast
import json
import os
import random
import re
import signal
import subprocess
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import groupby, zip_longest
from pathlib import Path
from typing import Annotated, Any

import typer
from coverage import CoverageData

PACKAGES = ("ontology", "inference", "ingest", "retrieval", "eval", "datagen", "planners", "services", "egotools")
BATCH = 30  # tests
NAMES = ("file", "function", "kind", "before", "after", "nth")
_SWAPS = dict(Lt="<=", LtE="<", Gt=">=", GtE=">", Eq="!=", NotEq="==", In="not in", NotIn="in", Is="is not", IsNot="is")
_SWAPS |= {"And": "or", "Or": "and", "Add": "-", "Sub": "+", "Mult": "+", "Div": "*"}
_EMPTY = {ast.List: "[]", ast.ListComp: "[]", ast.Tuple: "()", ast.Dict: "{}", ast.DictComp: "{}", ast.Set: "set()"}


@dataclass(frozen=True, slots=True)
class Mutation:
    """One fault: the ``nth`` place of this kind with the text ``before``, in a function, becomes ``after``."""

    file: str = field(compare=False)
    function: str
    kind: str
    before: str
    after: str
    nth: int
    node: Any = field(default=None, compare=False)
    owner: Any = field(default=None, compare=False)


def _functions(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef):
            yield from _functions(node, f"{prefix}{node.name}.")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{prefix}{node.name}", node


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _code(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.AST]:
    """What runs: no docstring, annotation, pattern, or part of an f-string."""
    todo: list[ast.AST] = [*function.body]
    while todo:
        node = todo.pop(0)
        if not isinstance(node, ast.pattern | ast.JoinedStr) and not _is_text(node):
            yield node
            types = (getattr(node, "annotation", None), getattr(node, "returns", None))
            todo += [each for each in ast.iter_child_nodes(node) if each not in types]


def _faults(node: Any) -> Iterator[tuple[str, Any, str]]:
    match node:
        case ast.If() | ast.While() | ast.IfExp() | ast.comprehension():
            tests = node.ifs if isinstance(node, ast.comprehension) else [node.test]
            yield from (("negated condition", test, f"(not ({ast.unparse(test)}))") for test in tests)
        case ast.Compare(left, [op], [right]) | ast.BoolOp(op, [left, right]) | ast.BinOp(left, op, right):
            if sign := _SWAPS.get(type(op).__name__):
                yield "operator", node, f"(({ast.unparse(left)}) {sign} ({ast.unparse(right)}))"
        case ast.Constant(value=bool() | int() | float() | str() as value):
            other = not value if isinstance(value, bool) else f"{value}X" if isinstance(value, str) else value + 1
            yield "constant", node, f"({other!r})"
        case ast.Return(value=ast.expr() as value) if (empty := _EMPTY.get(type(value), "None")) != ast.unparse(value):
            yield "empty return", node, f"return {empty}"
        case ast.Raise() | ast.Expr(ast.Call() | ast.Await()) | ast.Assign([ast.Attribute() | ast.Subscript()]):
            yield "dropped statement", node, "pass"


def mutations(text: str, file: str) -> Iterator[Mutation]:
    """Every fault of each function of a module with at least three statements."""
    for name, function in _functions(ast.parse(text)):
        code = list(_code(function))
        seen = Counter[tuple[str, str, str]]()
        enough = sum(isinstance(each, ast.stmt) for each in code) >= 3
        for kind, node, after in [fault for each in code if enough for fault in _faults(each)]:
            key = (kind, ast.unparse(node), after)
            yield Mutation(file, name, *key, nth=seen[key], node=node, owner=function)
            seen[key] += 1


def faulty(text: str, fault: Mutation) -> str:
    """The text of a module with one fault."""
    lines, node = text.encode().splitlines(keepends=True), fault.node  # columns count bytes
    rest = lines[node.end_lineno - 1][node.end_col_offset :]
    lines[node.lineno - 1 : node.end_lineno] = [lines[node.lineno - 1][: node.col_offset] + fault.after.encode() + rest]
    return b"".join(lines).decode()


class Tree:
    """A copy of a checkout's last commit, its modules, and which tests run which line."""

    def __init__(self, source: Path, copy: Path) -> None:
        for needed, made_by in ((".venv/bin/python", "make .venv/.dev"), (".coverage", "the first command above")):
            if not (source / needed).exists():
                raise typer.BadParameter(f"{source} has no {needed}, which is made by {made_by}")
        printed = subprocess.run(["git", "rev-parse", "HEAD"], cwd=source, capture_output=True, text=True, check=True)
        self.root, self.source, self.commit = copy, source, printed.stdout.strip()
        subprocess.run(["git", "clone", "--quiet", "--shared", str(source), str(copy)], check=True)
        subprocess.run(["git", "checkout", "--quiet", "--detach", self.commit], cwd=copy, check=True)
        (copy / ".venv").symlink_to(source / ".venv")
        files = [path for name in PACKAGES for path in sorted((copy / name).rglob("*.py")) if "v1" not in path.parts]
        self.texts = {str(path.relative_to(copy)): path.read_text("utf-8") for path in files}
        self.known = [one for name, text in self.texts.items() for one in mutations(text, name)]
        self._run_by = CoverageData(str(source / ".coverage"))
        self._run_by.read()

    def tests_of(self, fault: Mutation) -> list[str]:
        """The tests that run a line of the fault: the first of each file, then the second of each, and so on."""
        by_line = self._run_by.contexts_by_lineno(str(self.source / fault.file))
        lines = range(fault.node.lineno, fault.node.end_lineno + 1)
        names = sorted({name.rpartition("|")[0] for line in lines for name in by_line.get(line, ())} - {""})
        by_file = [[*tests] for _, tests in groupby(names, key=lambda name: name.partition("::")[0])]
        return [test for same_place in zip_longest(*by_file) for test in same_place if test]

    def test(self, names: Sequence[str], left_out: Sequence[str], limit: float) -> tuple[str, str]:
        """``passed``, ``failed`` or ``late``, and the first test that failed; late by processor time, or without an end."""
        limited = ["bash", "-c", 'ulimit -S -t "$0"; exec "$@"', str(int(limit))]
        command = [*limited, ".venv/bin/python", *"-m pytest -xqrfE -p no:cacheprovider -m".split(), "not slow", *names]
        command += [f"--deselect={each}" for each in left_out]
        env = {**os.environ, "PYTHONPATH": str(self.root)}
        with tempfile.TemporaryFile("w+", encoding="utf-8") as printed:
            process = subprocess.Popen(command, cwd=self.root, env=env, stdout=printed, stderr=printed, process_group=0)
            with suppress(subprocess.TimeoutExpired):
                process.wait(3 * limit)  # the machine may be busy
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            code = process.wait()
            printed.seek(0)
            failed = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", printed.read(), re.MULTILINE)
        outcome = {0: "passed", 5: "passed", -signal.SIGKILL: "late", -signal.SIGXCPU: "late"}.get(code, "failed")
        return outcome, failed[1] if failed else names[0]

    def judge(self, fault: Mutation, limit: float) -> dict[str, Any]:
        """Run the tests against one fault, for ``limit`` seconds of the processor and to the end of a batch."""
        path, clean = self.root / fault.file, self.texts[fault.file]
        left_out: list[str] = []
        begun, ran, by, tests = sum(os.times()[2:4]), 0, "", self.tests_of(fault)
        while not by and ran < len(tests) and (left := limit + begun - sum(os.times()[2:4])) > 0:
            batch = tests[ran : ran + BATCH]
            path.write_text(faulty(clean, fault), encoding="utf-8")
            outcome, failed = self.test(batch, left_out, 2 * left + 30)
            path.write_text(clean, encoding="utf-8")
            if outcome != "passed":
                again, _ = self.test(batch if outcome == "late" else [failed], (), 2 * limit + 30)
                if again == "passed":
                    by = failed if outcome == "failed" else "no end"
                elif outcome == "failed" and failed not in left_out:
                    left_out.append(failed)
                    continue
            ran += len(batch)  # also of those that take too long without the fault too
        told = {"outcome": "killed" if by else "survived" if tests else "not run", "by": by}
        spent = {"tests": ran, "of": len(tests), "processor_s": round(sum(os.times()[2:4]) - begun, 1)}
        return {"line": fault.node.lineno, **told, **spent, "left_out": left_out}


def draw(tree: Tree, count: int, seed: int) -> list[Mutation]:
    """One fault for each of ``count`` functions: packages by their lines, then any function, then any kind, then any place."""
    chance, lines, drawn = random.Random(seed), Counter[str](), list[Mutation]()
    every: dict[str, dict[tuple[str, str], list[Mutation]]] = defaultdict(lambda: defaultdict(list))
    for name, text in tree.texts.items():
        lines[name.partition("/")[0]] += text.count("\n")
    for one in tree.known:
        every[one.file.partition("/")[0]][one.file, one.function].append(one)
    for at, package in enumerate(PACKAGES, start=1):
        upto = round(count * sum(lines[name] for name in PACKAGES[:at]) / sum(lines[name] for name in PACKAGES))
        for faults in chance.sample(list(every[package].values()), min(upto - len(drawn), len(every[package]))):
            kind = chance.choice(sorted({one.kind for one in faults}))
            drawn.append(chance.choice([one for one in faults if one.kind == kind]))
    return chance.sample(drawn, len(drawn))


def find(known: Sequence[Mutation], wanted: Mutation) -> Mutation | str:
    """The same fault in another tree, in the same file or else in the only one with such a function; or why there is none."""
    alike = [one for one in known if one.function == wanted.function]
    home = [one for one in alike if one.file == wanted.file] or alike
    fits = [one for one in home if one == wanted]
    return fits[0] if len(fits) == 1 else "changed" if home else "deleted"


def main(
    out: Annotated[Path, typer.Option(help="The results; what is in it is not run again.")],
    tree: Annotated[
        Path, typer.Option(help="A checkout with .venv and .coverage; its last commit is measured.")
    ] = Path(),
    count: Annotated[int, typer.Option(help="How many functions.")] = 60,
    seed: Annotated[int, typer.Option(help="Of the draw.")] = 0,
    limit: Annotated[float, typer.Option(help="Processor seconds of tests a fault.")] = 60,
    against: Annotated[Path | None, typer.Option(help="Results of another tree: the same faults again.")] = None,
) -> None:
    """Measure, and say which faults no test finds; ``LOST`` marks those that one found in the other tree."""
    before = json.loads(against.read_text(encoding="utf-8"))["results"] if against else []
    results = json.loads(out.read_text(encoding="utf-8"))["results"] if out.exists() else []
    with tempfile.TemporaryDirectory(prefix="mutation-") as folder:
        copy = Tree(tree.resolve(), Path(folder) / "tree")
        wanted = [Mutation(*(row[name] for name in NAMES)) for row in before] or draw(copy, count, seed)
        for mutation in wanted[len(results) :]:
            found = find(copy.known, mutation)
            told = {"line": 0, "outcome": found} if isinstance(found, str) else copy.judge(found, limit)
            row = {name: getattr(mutation if isinstance(found, str) else found, name) for name in NAMES}
            results.append(row | told)
            saved = {"commit": copy.commit, "seed": seed, "limit": limit, "of": len(wanted), "results": results}
            out.write_text(json.dumps(saved, indent=1) + "\n", encoding="utf-8")
            print(len(results), told["outcome"], f"{results[-1]['file']}:{told['line']}", mutation.kind, flush=True)
    alive = [at for at, row in enumerate(results) if row["outcome"] in ("survived", "not run")]
    tried = len(alive) + sum(row["outcome"] == "killed" for row in results)
    for at in alive:
        row, lost = results[at], "LOST " if before and before[at]["outcome"] == "killed" else ""
        print(f"{lost}{row['outcome']} {row['file']}:{row['line']}", row["function"], row["before"], "->", row["after"])
    print(dict(Counter(row["outcome"] for row in results)), f"not killed: {len(alive)} of {tried}")


if __name__ == "__main__":
    typer.run(main)
