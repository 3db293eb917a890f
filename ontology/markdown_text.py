"""Text that Markdown shows unchanged."""

from __future__ import annotations

import re

__all__ = ["escape_line", "escape_markdown", "escape_title"]

# What opens markup inside a line. A bracket does only where a link can follow it, an underscore not inside a word,
# an ampersand before an entity, a smaller-than before a tag.
_MARKUP = re.compile(r"[\\`*|]|~(?=~)|\](?=[(\[:])|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|<(?=[A-Za-z/!?])|&(?=#?\w+;)")
_TITLE_MARKUP = re.compile(rf"{_MARKUP.pattern}|[\[\]]")
_LINE_START = re.compile(r"^(?:(?=[#+\-=>])|(\d+)(?=[.)](?:\s|$)))")


def escape_markdown(text: str) -> str:
    """Text that is shown unchanged inside a line of Markdown, also in a table; line breaks become spaces."""
    return _MARKUP.sub(lambda found: "\\" + found.group(0), " ".join(text.split()))


def escape_line(text: str) -> str:
    """Text that is shown unchanged on a line of its own: it starts no heading, list or rule."""
    return _LINE_START.sub(lambda found: f"{found.group(1) or ''}\\", escape_markdown(text))


def escape_title(text: str) -> str:
    """Escape text between the brackets of a picture or a link, where any other bracket could end it."""
    return _TITLE_MARKUP.sub(lambda found: "\\" + found.group(0), " ".join(text.split()))
