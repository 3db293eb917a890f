"""What is of other projects is here byte for byte, with its licence, and nothing else is."""

import hashlib
from pathlib import Path

import pytest
import yaml

from services.web.web_page import STATIC
from tests.conftest import ROOT

FOLDERS = (STATIC / "vendor", ROOT / "tests" / "services" / "web" / "axe")
LICENCES = {
    "ISC": "Permission to use, copy, modify",
    "OFL-1.1": "SIL Open Font License",
    "MPL-2.0": "Mozilla Public License",
}


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_each_file_is_what_its_package_has(folder: Path) -> None:
    rows = yaml.safe_load((folder / "VENDORED.yaml").read_text(encoding="utf-8"))
    assert {row["file"]: row["sha256"] for row in rows} == {
        row["file"]: hashlib.sha256((folder / row["file"]).read_bytes()).hexdigest() for row in rows
    }
    for row in rows:
        assert LICENCES[row["licence"]] in (folder / row["licence_file"]).read_text(encoding="utf-8")
        assert row["package"] and row["version"]
    named = {"VENDORED.yaml", *(row["file"] for row in rows), *(row["licence_file"] for row in rows)}
    assert {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()} == named


def test_the_page_names_no_other_host_and_turns_no_text_into_markup() -> None:
    own = [path for path in STATIC.iterdir() if path.suffix in (".js", ".css", ".html")]
    assert len(own) >= 8
    for path in own:
        text = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        for word in "http: https: innerHTML outerHTML insertAdjacentHTML eval( style= document.write".split():
            assert word not in text, (path.name, word)
