"""The word lists: every list is used and holds each word once, in lower case; those of ``ingest.trust`` hold patterns too."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

INGEST = Path(__file__).resolve().parents[2] / "ingest"
FILES = sorted(INGEST.rglob("*_words.yaml"))


def texts(value: Any) -> Iterator[str]:
    """The lists of words inside a value."""
    if isinstance(value, str):
        yield value
    else:
        for inner in value.values() if isinstance(value, dict) else value:
            yield from texts(inner)


def test_each_folder_with_rules_has_its_lists() -> None:
    assert [file.parent.name for file in FILES] == ["canonical", "extract", "linking", "trust"]


@pytest.mark.parametrize("file", [file for file in FILES if file.stem != "trust_words"], ids=lambda file: file.stem)
def test_lists_are_words_in_lower_case_each_once(file: Path) -> None:
    for value in yaml.safe_load(file.read_text(encoding="utf-8")).values():
        for text in texts(value):
            words = text.split()
            assert words
            assert text == text.lower()
            assert [word for word, count in Counter(words).items() if count > 1] == []


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_each_list_is_used_in_its_folder(file: Path) -> None:
    source = "".join(module.read_text(encoding="utf-8") for module in file.parent.glob("*.py"))
    unused = [name for name in yaml.safe_load(file.read_text(encoding="utf-8")) if f'"{name}"' not in source]
    assert unused == []


def test_the_patterns_of_trust_are_patterns_each_once() -> None:
    lists = yaml.safe_load((INGEST / "trust" / "trust_words.yaml").read_text(encoding="utf-8"))
    for value in lists.values():
        patterns = value.split() if isinstance(value, str) else value
        assert patterns and len(set(patterns)) == len(patterns)
        for pattern in patterns:
            re.compile(pattern)
