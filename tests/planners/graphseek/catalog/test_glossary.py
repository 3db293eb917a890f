"""Glossary files, YAML and CSV, good and bad."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ontology.errors import InvalidArgumentError
from planners.graphseek.catalog.catalog import read_glossary


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("g.yaml", "BatteryModules: An energy\n  storage unit\nunit cost: What one costs\n"),
        ("g.csv", "\ufeffTerm,Meaning\nbattery modules,An energy  storage unit\n\nunitCost,What one costs\n"),
        ("g.csv", 'battery module,"An energy\nstorage unit"\nunit_cost,What one costs\n'),
    ],
)
def test_terms_are_read_by_their_canonical_names(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert read_glossary(tmp_path / name) == {
        "battery module": "An energy storage unit",
        "unit cost": "What one costs",
    }


@pytest.mark.parametrize(
    ("name", "content", "fault"),
    [
        ("g.yaml", b"a: b\nA: c\n", "the term 'a' stands twice"),
        ("g.yaml", b"a: b\nc: [d]\n", "the meaning of 'c' must be a text"),
        ("g.yaml", b"a:\n", "'a': a term or its meaning is empty"),
        ("g.yaml", b"- a\n", "the glossary must be a mapping"),
        ("g.csv", b"a,b\nc\n", r"line 2: 1 column\(s\), not term and meaning"),
        ("g.csv", b"a,b\n,c\n", "a term or its meaning is empty"),
        ("g.csv", b'a,"b\n', "invalid CSV"),
        ("g.csv", b"a,\xff\n", "Save it as UTF-8"),
        ("g.csv", b"a,b\n" * 300_000, "larger than 1048576 bytes"),
    ],
)
def test_a_fault_is_named(tmp_path: Path, name: str, content: bytes, fault: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InvalidArgumentError, match=fault):
        read_glossary(tmp_path / name)
    with pytest.raises(InvalidArgumentError, match=r"absent|no such file"):
        read_glossary(tmp_path / f"absent.{name}")
    os.mkfifo(tmp_path / f"pipe.{name}")
    with pytest.raises(InvalidArgumentError, match="no such file"):
        read_glossary(tmp_path / f"pipe.{name}")
