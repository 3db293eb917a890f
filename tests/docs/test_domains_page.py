"""The page on a domain of one's own is true: its files make the answers that it says, and its table has every key."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.services.conftest import Run
from tests.services.conftest import run as run

PAGE = (ROOT / "docs" / "domains.md").read_text(encoding="utf-8")
BLOCKS = dict(re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE))
FILES = {"python": "courses.py", "yaml": "courses.yaml", "json": "graph.json"}


@pytest.mark.slow
def test_the_files_make_the_answers(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for kind, name in FILES.items():
        Path(name).write_text(BLOCKS[kind], encoding="utf-8")
    build, *asked = BLOCKS["bash"].splitlines()
    printed = []
    for command in (build, *asked):
        with monkeypatch.context() as only:
            only.setattr(sys, "path", list(sys.path))
            program, *words = shlex.split(command)
            assert program == ".venv/bin/egotools"
            code, out, err = run(*words)
            sys.modules.pop("courses", None)
        assert code == 0, f"{command}\n{out}\n{err}"
        printed.append(out)
    _, last, teacher = printed
    assert "c3" in last and "Italian wines" in last and "Answer: 1" in last
    assert "Ines Moreau" in teacher and "Answer: 1" in teacher
    assert "missing" not in last + teacher
