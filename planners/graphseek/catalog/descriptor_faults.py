"""What a text of a descriptor must not be, because prompts hold it: long, or full of hidden characters."""

from __future__ import annotations

import unicodedata

from ingest.trust.finding import visible
from ingest.trust.hidden_characters import bidirectional_runs, invisible_runs, without_hidden

__all__ = ["MOST_CHARACTERS", "cleaned_text", "shortened_text", "text_fault"]

MOST_CHARACTERS = 200
"""Of one text. 40 descriptions of this length are the 2,000 tokens of section 3.2 of the paper."""


def cleaned_text(text: str) -> str:
    """Return a text in one line, with blanks for control characters and without characters that nobody sees."""
    if text.isascii() and text.isprintable():
        return " ".join(text.split())
    spaced = "".join(" " if unicodedata.category(each) in ("Cc", "Cs", "Zl", "Zp") else each for each in text)
    return " ".join(without_hidden(spaced).split())


def shortened_text(text: str) -> str:
    """Return the first 200 characters of a text, cut at a word."""
    if len(text) <= MOST_CHARACTERS:
        return text
    return text[: MOST_CHARACTERS - 1].rpartition(" ")[0].rstrip(" ,;:(") + "…"


def text_fault(text: str) -> str:
    """Return what is wrong with a text, as a clause with "it"; empty where nothing is."""
    if len(text) > MOST_CHARACTERS:
        return f"it has {len(text)} characters, more than {MOST_CHARACTERS}"
    if any(unicodedata.category(each) in ("Cc", "Cs") for each in text) or any(
        run.severe for run in (*invisible_runs(text), *bidirectional_runs(text))
    ):
        return f"it has control characters: {visible(text, 60)}"
    return ""
