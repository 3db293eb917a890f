"""Convert texts of documents to plain prose: remove markup, cut long texts, split names into words."""

from __future__ import annotations

import html
import re

# Every repetition has a limit, because a description may have megabytes of any text.
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
_SENTENCE_END = re.compile(r"[.!?](?=\s)")
_VOWEL = re.compile(r"[aeio]|u(?!ni|s[aeiou]|r[il]|t[aeiou])", re.IGNORECASE)
_NAME_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z]|\b|_|\d)|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_]+")


def plain(text: str) -> str:
    """Return the text on one line without HTML and Markdown markup; unknown tags like ``<id>`` are kept as words."""
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
    """Join texts, each with a full stop at its end; leave out a text that a later one begins with."""
    cleaned = [text for text in map(plain, texts) if text]
    kept: list[str] = []
    for number, text in enumerate(cleaned, 1):
        prefix = text.rstrip(" .").casefold()
        if not any(later.casefold().startswith(prefix) for later in cleaned[number:]):
            kept.append(text)
    return " ".join(text if text[-1] in ".!?:" or text is kept[-1] else f"{text}." for text in kept)


def brief(text: str, max_chars: int) -> str:
    """Cut the text after the last sentence within ``max_chars`` characters; else after the last word, with an ellipsis."""
    if len(text) <= max_chars:
        return text
    end = max((match.end() for match in _SENTENCE_END.finditer(text, 0, max_chars + 1)), default=0)
    if end > max_chars // 4:
        return text[:end]
    return text[: max_chars - 1].rsplit(" ", 1)[0].rstrip(" ,;:") + "…"


def name_words(name: str) -> str:
    """Split a name into words: *purchase order item* for ``A_PurchaseOrderItem``; acronyms keep their capitals."""
    name = re.sub(r"^[A-Z]_", "", name.rpartition(".")[2])
    parts = _NAME_WORD.findall(name)
    return " ".join(part if len(part) > 1 and part.isupper() else part.lower() for part in parts) or name


def title_of(name: str) -> str:
    """Return a name as a title: *List buckets* for ``listBuckets``."""
    words = name_words(name)
    return words[:1].upper() + words[1:]


def with_article(noun: str) -> str:
    """Return the noun with its indefinite article."""
    return f"{'an' if _VOWEL.match(noun) else 'a'} {noun}"
