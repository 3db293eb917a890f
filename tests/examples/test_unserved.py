"""The requests that nothing serves: what their datasheet promises."""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import Any

import pytest

from research.enterprise_benchmark import read_rows
from scripts.bench_sets import ROOT

FOLDER = ROOT / "examples" / "unserved"
KINDS = {
    "talk": {"chit-chat", "knowledge", "meta"},
    "enterprise_tasks": {"other-domain", "same-business"},
    "real_tasks": {"other-domain", "same-business"},
}


def rows(name: str) -> list[dict[str, Any]]:
    return list(read_rows(FOLDER / f"{name}.jsonl"))


@pytest.mark.parametrize("name", KINDS)
def test_sixty_or_more_of_the_promised_kinds_and_none_has_a_tool(name: str) -> None:
    assert len(rows(name)) >= 60
    assert {row["class"] for row in rows(name)} == KINDS[name]
    assert all(row["tools"] == [] for row in rows(name))


@pytest.mark.parametrize("name", KINDS)
def test_a_hash_decides_the_half(name: str) -> None:
    for row in rows(name):
        odd = hashlib.sha256(row["id"].encode()).digest()[0] % 2
        assert row["split"] == ("test" if odd else "dev"), row["id"]


def test_every_id_is_there_once_and_every_text_once_in_its_file() -> None:
    ids = [row["id"] for name in KINDS for row in rows(name)]
    assert len(set(ids)) == len(ids)
    for name in KINDS:
        assert len({row["query"].casefold() for row in rows(name)}) == len(rows(name))


def test_the_datasheet_counts_them() -> None:
    lines = (FOLDER / "DATASHEET.md").read_text(encoding="utf-8").splitlines()
    told = {tuple(cell.strip(" `") for cell in line.strip("|").split("|")) for line in lines if line.startswith("| `")}
    counted = {name: Counter(row["split"] for row in rows(name)) for name in KINDS}
    assert {(row[0], *map(int, row[2:])) for row in told} == {
        (f"{name}.jsonl", halves.total(), halves["dev"], halves["test"]) for name, halves in counted.items()
    }
