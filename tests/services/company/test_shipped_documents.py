"""The documents that the wheel carries are those of ``examples/``."""

from __future__ import annotations

from services.company.shipped_documents import SHIPPED_CATALOG, SHIPPED_NEEDS, SHIPPED_REQUESTS
from tests.conftest import ROOT

EXAMPLES = ROOT / "examples" / "enterprise"


def test_the_shipped_documents_are_those_of_the_examples() -> None:
    assert SHIPPED_REQUESTS.read_bytes() == (EXAMPLES / "requests.jsonl").read_bytes()
    assert SHIPPED_NEEDS.read_bytes() == (EXAMPLES / "needs.jsonl").read_bytes()
    shipped, shown = ({path.name for path in folder.iterdir()} for folder in (SHIPPED_CATALOG, EXAMPLES / "catalog"))
    assert shipped == shown
