"""The files about the project agree with each other and with the tree; every list of requirements is locked with hashes."""

import re
import tomllib
from pathlib import Path
from typing import Any

import yaml

from tests.conftest import ROOT

DOCS = ROOT / "docs"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
VERSION = PROJECT["project"]["version"]
OF_AGENTS = {"langchain", "llamaindex", "openai-agents", "pydantic-ai", "haystack"}  # not installed alone


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


_PATH = re.compile(
    r"`((?:[a-z_]+/)+[a-z_]+\.(?:py|yaml|md|sh|proto))`(?!:\n)"
)  # not the new files of CONTRIBUTING's changes
_MODULE = re.compile(r"-m ((?:scripts|benchmarks|services)[\w.]*)")


def test_paths_and_modules_named_in_the_documents_exist() -> None:
    folders = [DOCS, ROOT / "examples", ROOT / "benchmarks"]
    missing = set()
    for page in [*ROOT.glob("*.md"), *(page for folder in folders for page in folder.glob("**/*.md"))]:
        text = page.read_text(encoding="utf-8") if page.name != "CHANGELOG.md" else ""
        missing |= {
            path for path in _PATH.findall(text) if not ((ROOT / path).exists() or (page.parent / path).exists())
        }
        modules = {name: Path(ROOT, *name.split(".")) for name in _MODULE.findall(text)}
        missing |= {name for name, path in modules.items() if not (path.exists() or path.with_suffix(".py").exists())}
    assert missing == set()


def test_the_files_to_read_first_exist() -> None:
    """Each line of README's list is a folder and names in it."""
    _, _, after = (ROOT / "README.md").read_text(encoding="utf-8").partition("\nRead these ")
    lines = re.findall(r"^- `([a-z_/]+/)`: (.+)$", after, re.MULTILINE)
    named = [folder + name for folder, names in lines for name in re.findall(r"`([^`]+)`", names)]
    assert len(named) == int(after.split()[0])
    assert [path for path in named if not (ROOT / path).is_file()] == []


def test_every_requirement_file_is_locked_with_hashes() -> None:
    extras = {*PROJECT["project"]["optional-dependencies"], "default", *PROJECT["dependency-groups"]} - {"build"}
    files = {path.stem: path.read_text(encoding="utf-8") for path in (ROOT / "requirements").glob("*.txt")}
    assert files.keys() == extras - OF_AGENTS
    for name, text in files.items():
        pinned = re.split(r"^(?=[a-z0-9][^\s=]*==)", text, flags=re.MULTILINE)[1:]
        assert pinned and [pin.split()[0] for pin in pinned if "--hash=sha256:" not in pin] == [], name
        assert "://" not in text, f"{name} names the host of an index"
