"""The page on getting it: its extras and file names are those of the project, and its documents are shipped.

That the demo runs from any folder and leaves no file there, ``scripts/wheel_demo.sh`` checks with the wheel.
"""

from __future__ import annotations

import re
import tomllib

from services.company.shipped_documents import SHIPPED_CATALOG, SHIPPED_NEEDS, SHIPPED_REQUESTS
from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_every_extra_is_on_the_page_once() -> None:
    rows = re.findall(r"^\| (`.*?) \|", PAGE, re.MULTILINE)
    named = [name for row in rows for name in re.findall(r"`([\w-]+)`", row)]
    assert sorted(named) == sorted(PROJECT["optional-dependencies"])


def test_the_files_named_on_the_page_are_those_that_a_build_makes() -> None:
    named = set(re.findall(r"dist/(egotools-[\w.-]+?)(?:`| |\[|$)", PAGE, re.MULTILINE))
    version = PROJECT["version"]
    assert named == {f"egotools-{version}-py3-none-any.whl", f"egotools-{version}.tar.gz"}


def test_an_extra_is_asked_of_the_wheel_that_a_build_makes() -> None:
    asked = re.findall(r"'dist/(egotools-[\w.-]+)\[([\w-]+)\]'", PAGE)
    assert [wheel for wheel, _ in asked] == [f"egotools-{PROJECT['version']}-py3-none-any.whl"] * 2
    assert {extra for _, extra in asked} <= set(PROJECT["optional-dependencies"])


def test_the_shipped_documents_are_those_of_the_examples() -> None:
    examples = ROOT / "examples" / "enterprise"
    assert SHIPPED_REQUESTS.read_bytes() == (examples / "requests.jsonl").read_bytes()
    assert SHIPPED_NEEDS.read_bytes() == (examples / "needs.jsonl").read_bytes()
    assert sorted(path.name for path in SHIPPED_CATALOG.iterdir()) == sorted(
        path.name for path in (examples / "catalog").iterdir()
    )
