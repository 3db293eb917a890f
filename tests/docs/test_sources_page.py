"""The page about sources is true: its files have no faults, and its example is built."""

import re
from pathlib import Path

from ingest.sources import read_catalog
from ingest.sources.sources_file import check_sources
from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "sources.md").read_text(encoding="utf-8").partition("## What is read from a document")[0]
FIRST, CREDENTIALS = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


def test_the_example_is_read(tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / "sources.yaml").write_text(FIRST, encoding="utf-8")
    catalog = read_catalog([str(tmp_path / "sources.yaml")])
    assert {tool.namespace for tool in catalog.tools} == {"procurement", "hr"}
    assert {tool.metadata.get("owner") for tool in catalog.tools} == {"purchasing team", None}
    assert [entry.refresh for entry in catalog.sources] == [21_600, None]


def test_the_example_with_credentials_has_no_faults(tmp_path: Path) -> None:
    (tmp_path / "sources.yaml").write_text(CREDENTIALS, encoding="utf-8")
    sources, faults = check_sources(tmp_path / "sources.yaml")
    assert sources is not None and faults == []
    assert [source.name for source in sources] == ["tickets", "billing"]
