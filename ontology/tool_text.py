"""The text of a tool, for embedding and matching."""

from __future__ import annotations

from ontology.tool import Tool

__all__ = ["MAX_TEXT_CHARS", "tool_text"]

MAX_TEXT_CHARS = 1_000
"""Maximum length of a tool's text; a longer text is cut between two words."""


def tool_text(tool: Tool) -> str:
    """Return the text that is embedded and matched for a tool: title and description, at most 1,000 characters."""
    title, description = " ".join(tool.title.split()), " ".join(tool.description[: 4 * MAX_TEXT_CHARS].split())
    text = f"{title}. {description}" if description else title
    if len(text) <= MAX_TEXT_CHARS:
        return text
    head, _, _ = text[: MAX_TEXT_CHARS + 1].rpartition(" ")
    return head or text[:MAX_TEXT_CHARS]
