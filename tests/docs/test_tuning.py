"""The page on tuning is true: its example runs, its options exist, its weights are the shipped ones."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from eval.tuning.labels import MIN_GROUPS
from tests.conftest import ROOT
from tests.docs.few_folds import few_folds
from tests.services.conftest import run as run

PAGE = (ROOT / "docs" / "tuning.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    (example,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    # Of the page's requests as many as a tuning takes at least, each of a group of its own: all of them take twice as long.
    requests = (
        (ROOT / "examples" / "enterprise" / "requests.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    )
    (tmp_path / "few.jsonl").write_text("".join(requests[:MIN_GROUPS]), encoding="utf-8")
    few_folds(monkeypatch)
    assert example.count("examples/enterprise/requests.jsonl") == 1
    example = example.replace("examples/enterprise/requests.jsonl", "few.jsonl")
    exec(example.replace("egotools-minilm-int8.v1", "hashing.v1"), {})
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(("Nothing was published: ", "Snapshot "))
    assert [line.split(":")[0] for line in lines[1:]] == ["@3", "@5"]
