"""The page about overlay files is true: its example has no faults, matches the enterprise catalogue, and takes effect."""

import re
from pathlib import Path

from inference import HashingEncoder
from retrieval.snapshot.reader import open_snapshot
from services.jobs.build import build_snapshot
from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "overlay.md").read_text(encoding="utf-8")


def test_the_example_takes_effect(tmp_path: Path) -> None:
    (example,) = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    (tmp_path / "overlay.yaml").write_text(example, encoding="utf-8")
    catalog = ROOT / "examples" / "enterprise" / "catalog"
    report = build_snapshot(
        [str(catalog)], tmp_path / "store", encoder=HashingEncoder(), overlays=[tmp_path / "overlay.yaml"]
    )
    assert report.overlay is not None
    assert report.overlay.warnings == ()
    assert report.overlay.hidden == ("procurement/extendPurchaseContract",)
    snapshot = open_snapshot(tmp_path / "store")
    tool = snapshot.tool(snapshot.tool_number("procurement/getSupplierScorecard"))
    assert tool.title == "Supplier performance"
