"""The measured part of ``docs/speed.md``: what stands between two markers is written by the benchmark."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ontology.errors import DocumentError
from scripts.speed.speed_tables import markdown, one_run

__all__ = ["BEGIN", "END", "block", "write_block"]

BEGIN = "<!-- measured: begin (python -m scripts.bench --write-docs) -->"
END = "<!-- measured: end -->"


def block(results: Mapping[str, Any], *, plot: str) -> str:
    """What stands between the markers.

    :param plot: address of the picture, as seen from the page.
    """
    picture = f"![What a request, a build and a server cost against the number of tools]({plot})"
    return f"{one_run(results)}\n\n{picture}\n\n{markdown(results)}"


def write_block(page: Path, text: str) -> None:
    """Put the text between the page's markers, and leave the rest of it alone.

    :raises DocumentError: when the page does not have each marker once, in their order.
    """
    content = page.read_text(encoding="utf-8")
    before, begin, rest = content.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end) or BEGIN in rest or END in after:
        raise DocumentError(
            "the page has no place for the figures", subject=str(page), remedy=f"Put {BEGIN} and {END} into it, once"
        )
    aside = page.with_name(f".{page.name}.new")
    aside.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}", encoding="utf-8")
    aside.replace(page)
