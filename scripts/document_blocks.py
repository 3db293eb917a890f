"""Blocks of a document that are made from results: what stands between ``<!-- name -->`` and ``<!-- end -->``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from ontology.files import write_file

__all__ = ["replace_block", "slashed"]


def slashed(values: Sequence[float]) -> str:
    """Figures at several cutoffs in one cell: ``51.1 / 62.4 / 73.1``."""
    return " / ".join(f"{value:.1f}" for value in values)


def replace_block(path: Path, name: str, text: str) -> None:
    """Put text into a block of a document.

    :raises ValueError: when the document has no such block.
    """
    page = path.read_text(encoding="utf-8")
    pattern = re.compile(rf"(<!-- {re.escape(name)} -->\n).*?(<!-- end -->)", re.DOTALL)
    if not pattern.search(page):
        raise ValueError(f"{path.name} has no block {name!r}")
    write_file(path, pattern.sub(lambda found: f"{found[1]}{text.strip()}\n{found[2]}", page))
