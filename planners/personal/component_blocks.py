"""The components of a vCard or iCalendar file as text, so that one that is broken can be left out."""

from __future__ import annotations

import re
from collections.abc import Iterator

__all__ = ["component_blocks"]


def component_blocks(text: str, name: str) -> Iterator[tuple[int, int]]:
    """Yield where each ``BEGIN:NAME … END:NAME`` starts and ends; one that begins inside another replaces it."""
    start = -1
    for match in re.finditer(rf"^(BEGIN|END):{name}[ \t\r]*$", text, re.MULTILINE | re.IGNORECASE):
        if match[1].upper() == "BEGIN":
            start = match.start()
        elif start >= 0:
            yield start, match.end()
            start = -1
