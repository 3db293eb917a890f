"""The files about the project agree with each other and with the tree."""

import re
import tomllib
from pathlib import Path
from typing import Any

import yaml

from tests.conftest import ROOT

DOCS = ROOT / "docs"
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]


def _leaves(nav: Any) -> list[str]:
    if isinstance(nav, str):
        return [nav]
    children = nav.values() if isinstance(nav, dict) else nav
    return [leaf for child in children for leaf in _leaves(child)]


def test_the_site_lists_every_page_once() -> None:
    site = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    pages = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.glob("**/*.md"))
    assert sorted(_leaves(site["nav"])) == pages


def test_every_place_in_the_glossary_exists() -> None:
    rows = [line.split("|") for line in (DOCS / "glossary.md").read_text(encoding="utf-8").splitlines()]
    places = [place for row in rows if len(row) == 5 for place in re.findall(r"`([^`]+)`", row[3])]
    assert len(places) > 40
    assert [place for place in places if not (ROOT / place).exists()] == []


def test_the_version_is_one() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    released = re.findall(r"^## \[(\d[^\]]*)\] - (\d{4}-\d\d-\d\d)$", changelog, re.MULTILINE)
    assert (citation["version"], str(citation["date-released"])) == released[0]
    assert released[0][0] == VERSION
    assert changelog.index("## [Unreleased]") < changelog.index(f"## [{VERSION}]")


def _pages() -> list[Path]:
    folders = [DOCS, *(ROOT / name for name in ("examples", "benchmarks"))]
    return [*ROOT.glob("*.md"), *(page for folder in folders for page in folder.glob("**/*.md"))]


def test_paths_named_in_the_documents_exist() -> None:
    """All but the new files of CONTRIBUTING's worked changes, whose line ends with a colon."""
    pages = _pages()
    missing = {
        (page.name, path)
        for page in pages
        for path in re.findall(
            r"`((?:[a-z_]+/)+[a-z_]+\.(?:py|yaml|md|sh|proto))`(?!:\n)", page.read_text(encoding="utf-8")
        )
        if page.name != "CHANGELOG.md" and not any((folder / path).exists() for folder in (ROOT, page.parent))
    }
    assert missing == set()


def test_the_files_to_read_first_exist() -> None:
    """Each line of README's list is a folder and names in it."""
    _, _, after = (ROOT / "README.md").read_text(encoding="utf-8").partition("\nRead these ")
    lines = re.findall(r"^- `([a-z_/]+/)`: (.+)$", after, re.MULTILINE)
    named = [folder + name for folder, names in lines for name in re.findall(r"`([^`]+)`", names)]
    assert len(named) == int(after.split()[0])
    assert [path for path in named if not (ROOT / path).is_file()] == []


def test_modules_named_in_the_documents_exist() -> None:
    missing = {
        (page.name, module)
        for page in _pages()
        if page.name != "CHANGELOG.md"
        for module in re.findall(r"-m ((?:scripts|benchmarks|services)[\w.]*)", page.read_text(encoding="utf-8"))
        if not any(Path(ROOT, *module.split(".")).with_suffix(suffix).exists() for suffix in ("", ".py"))
    }
    assert missing == set()
