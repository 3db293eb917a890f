"""The texts that models learn from have no request and no need that figures are measured on."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator

from benchmarks.command import ROOT
from benchmarks.sets import BENCH
from benchmarks.training.corpus import TEXTS

_KINDS = ("needs", "phrases", "requests", "asked")


def _plain(text: str) -> str:
    return " ".join(re.findall(r"[a-z0-9]+", text.lower()))


def _measured() -> Iterator[str]:
    folders = [ROOT / "examples" / "real", ROOT / "examples" / "enterprise" / "benchmark", *sorted(BENCH.glob("*/"))]
    for path in (file for folder in folders for file in folder.glob("*.jsonl")):
        for row in map(json.loads, filter(str.strip, path.read_text("utf-8").splitlines())):
            if "needs" in row or "query" in row:
                yield from (*row.get("needs", ()), row.get("query", ""))


def test_no_text_to_learn_from_is_measured() -> None:
    measured = set(map(_plain, _measured())) - {""}
    assert len(measured) > 500
    with gzip.open(TEXTS, "rt", encoding="utf-8") as lines:
        texts = [text for row in map(json.loads, lines) for kind in _KINDS for text in row.get(kind, ())]
    assert len(texts) > 70_000
    assert [text for text in texts if _plain(text) in measured] == []
