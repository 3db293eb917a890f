"""Prose out of markup: descriptions written in Markdown or HTML as the plain text a reader would see."""

from __future__ import annotations

import html
import re

__all__ = ["plain", "sentences"]

# Every repetition is bounded: a description may be megabytes of anything.
_TAG = re.compile(
    r"</?(?:a|abbr|b|blockquote|br|code|dd|div|dl|dt|em|h[1-6]|hr|i|img|li|note|ol|p|pre|s|small|span|strong|sub|sup|"
    r"table|tbody|td|tfoot|th|thead|tr|tt|u|ul|var)\b[^<>]{0,500}>|<!--[^<>]{0,500}-->",
    re.IGNORECASE,
)
_LINK = re.compile(r"!?\[([^\[\]\n]{0,300})\]\((?:[^()\s]|\([^()\s]{0,100}\)){0,500}(?:\s+\"[^\"\n]{0,200}\")?\)")
_HEADING = re.compile(r"^[ \t]{0,3}#{1,6}[ \t]+", re.MULTILINE)
_RULE = re.compile(r"^[ \t]{0,3}(?:```\w{0,20}|[-=*_]{3,})[ \t]*$", re.MULTILINE)
_BOLD = re.compile(r"(\*\*|__)(?=\S)([^*_\n]{1,300}?)(?<=\S)\1")
_CODE = re.compile(r"`{1,3}([^`\n]{1,500})`{1,3}")
_SPACE = re.compile(r"\s+")


def plain(text: str) -> str:
    """The text without tags, links, emphasis and line breaks; unknown tags like ``<id>`` are words and stay."""
    if not text:
        return ""
    if "<" in text:
        text = _TAG.sub(" ", text)
    if "&" in text:
        text = html.unescape(text)
    if "](" in text:
        text = _LINK.sub(r"\1", text)
    if "`" in text:
        text = _CODE.sub(r"\1", _RULE.sub(" ", text))
    if "#" in text:
        text = _HEADING.sub("", text)
    if "**" in text or "__" in text:
        text = _BOLD.sub(r"\2", text)
    return _SPACE.sub(" ", text).strip()


def sentences(*texts: str) -> str:
    """Texts as one, each ended by a full stop, leaving out what the next one repeats."""
    kept: list[str] = []
    cleaned = [text for text in map(plain, texts) if text]
    for index, text in enumerate(cleaned):
        bare = text.rstrip(" .").casefold()
        if any(later.casefold().startswith(bare) for later in cleaned[index + 1 :]):
            continue
        kept.append(text)
    return " ".join(text if text[-1] in ".!?:" or text is kept[-1] else f"{text}." for text in kept)
