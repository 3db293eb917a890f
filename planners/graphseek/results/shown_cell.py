"""How texts and cells stand in a summary: on one line, cut where they are long, numbers as they are."""

from __future__ import annotations

import json
import math
from json.encoder import encode_basestring

from planners.graphseek.results.result import Cell

__all__ = ["CUT", "on_one_line", "shown_cell", "shown_text"]

CUT = "…"
"""Stands behind what was cut."""
_LAST_BMP = "\uffff"


def shown_text(text: str, most: int) -> str:
    """Return a title or a name: at most ``most`` characters of it, on one line."""
    line = " ".join(text[: most * 2 + 1].split())
    return on_one_line(line if len(line) <= most and len(text) <= most * 2 else line[:most] + CUT)


def shown_cell(cell: Cell, most: int) -> str:
    """Return a cell. Strings are JSON strings of at most ``most`` characters; numbers are never cut, so they can be read back."""
    if type(cell) is int or (type(cell) is float and math.isfinite(cell)):
        return repr(cell)  # as JSON has it
    if not isinstance(cell, str):
        return json.dumps(cell)
    text = on_one_line(encode_basestring(cell[:most]))
    return text if len(cell) <= most else text + CUT


def on_one_line(text: str) -> str:
    """Return a text with an escape in place of each character that is not printed: control, format, line separator, surrogate."""
    return text if text.isprintable() else "".join(each if each.isprintable() else _escaped(each) for each in text)


def _escaped(character: str) -> str:
    return json.dumps(character)[1:-1] if character <= _LAST_BMP else "\ufffd"
