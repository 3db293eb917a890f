"""The example of the page on tuning runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "tuning.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    (example,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    exec(example.replace("egotools-minilm-int8.v1", "hashing.v1"), {})
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(("Nothing was published: ", "Snapshot "))
    assert lines[1].startswith("CompleteRecall@5: ")
