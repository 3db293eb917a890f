"""The table of the studies is true: each program has a row, each command is one, each published page is there."""

from __future__ import annotations

import importlib.util
import re

from tests.conftest import ROOT

PAGE = (ROOT / "research" / "README.md").read_text(encoding="utf-8")
_MODULE = re.compile(r"python -m (research[\w.]+)")


def test_every_program_has_a_row() -> None:
    programs = [path for path in (ROOT / "research").rglob("*.py") if "run_command(main)" in path.read_text("utf-8")]
    names = {(path.parent if path.stem == "__main__" else path.with_suffix("")).name for path in programs}
    assert len(names) > 15
    assert sorted(name for name in names if not re.search(rf"\b{name}\b", PAGE)) == []


def test_every_command_names_a_module() -> None:
    modules = set(_MODULE.findall(PAGE))
    assert len(modules) > 15
    assert sorted(name for name in modules if importlib.util.find_spec(name) is None) == []


def test_every_page_that_is_named_is_there() -> None:
    pages = re.findall(r"`((?:docs|examples|research)/[\w./-]+\.md)`", PAGE)
    assert len(pages) > 10
    assert [page for page in pages if not (ROOT / page).exists()] == []
