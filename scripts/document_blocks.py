"""Blocks of a document that are made from results: what stands between ``<!-- name -->`` and ``<!-- end -->``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from ontology.errors import DocumentError
from ontology.files import write_file

__all__ = ["replace_block", "slashed"]


def slashed(values: Sequence[float]) -> str:
    """Figures at several cutoffs in one cell: ``51.1 / 62.4 / 73.1``."""
    return " / ".join(f"{value:.1f}" for value in values)


def replace_block(path: Path, name: str, text: str) -> None:
    """Put text into a block of a document, and leave the rest of it alone.

    :raises DocumentError: when the document does not have the block once, with its own end.
    """
    begin, end = f"<!-- {name} -->\n", "<!-- end -->"
    before, _, rest = path.read_text(encoding="utf-8").partition(begin)
    replaced, ended, after = rest.partition(end)
    if not ended or begin in rest or re.search(r"^<!-- (?!end )[\w:-]+ -->$", replaced, re.MULTILINE):
        raise DocumentError(
            f"there is no place for the block {name!r}",
            subject=str(path),
            remedy=f"Put {begin.strip()} and {end} into it, once and with no other block between them",
        )
    write_file(path, f"{before}{begin}{text.strip()}\n{end}{after}")
