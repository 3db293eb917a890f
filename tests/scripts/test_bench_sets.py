"""The sets of the benchmark: those that a rule was found on are known as such."""

from __future__ import annotations

import re

from scripts.bench_sets import GRAPH_RULE_SETS
from tests.conftest import ROOT

FOLDERS = ("ingest/linking", "ingest/extract", "ingest/canonical", "retrieval")
_FOUND_ON = re.compile(r"\bfound on the set (\w+)", re.IGNORECASE)


def test_every_set_that_a_rule_was_found_on_is_counted_apart() -> None:
    paths = [path for name in FOLDERS for path in (ROOT / name).rglob("*") if path.suffix in (".py", ".yaml")]
    texts = {path: re.sub(r"\s*\n\s*#?\s*", " ", path.read_text(encoding="utf-8")) for path in paths}
    named = {(name, path.name) for path, text in texts.items() for name in _FOUND_ON.findall(text)}
    assert named, "no rule says on which set it was found"
    unknown = sorted((name, path) for name, path in named if name not in GRAPH_RULE_SETS)
    assert not unknown, f"add them to GRAPH_RULE_SETS in scripts/bench_sets.py: {unknown}"
