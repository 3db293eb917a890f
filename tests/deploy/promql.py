"""The names in a PromQL expression: metrics, and the labels that it selects or groups by."""

from __future__ import annotations

import re
from collections.abc import Iterator

_STRING = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'")
_SELECTOR = re.compile(r"([a-zA-Z_:][\w:]*)\s*\{([^{}]*)\}")
_MATCHER = re.compile(r"([a-zA-Z_]\w*)\s*(?:=~|!~|!=|=)\s*\"((?:[^\"\\]|\\.)*)\"")
_GROUPING = re.compile(r"\b(by|without|on|ignoring|group_left|group_right)\s*\(([^()]*)\)")
_RANGE = re.compile(r"\[[^\]]*\]")
_NAME = re.compile(r"(?<![\w.$])[a-zA-Z_:][\w:]*")
_WORDS = {"and", "or", "unless", "bool", "offset", "inf", "nan"}


def metrics(expression: str) -> set[str]:
    """Names of the metrics."""
    text = _STRING.sub("", expression)
    text = _GROUPING.sub(" ", re.sub(r"\{[^{}]*\}", " ", _RANGE.sub(" ", text)))
    names = {found[0] for found in _NAME.finditer(text) if not text[found.end() :].lstrip().startswith("(")}
    return {name for name in names if name.lower() not in _WORDS}


def matchers(expression: str) -> Iterator[tuple[str, str, str]]:
    """Metric, label and value of each selector; a value may be a regular expression."""
    for metric, inner in _SELECTOR.findall(expression):
        for label, value in _MATCHER.findall(inner):
            yield metric, label, value


def groupings(expression: str) -> set[str]:
    """Labels that the expression groups or joins by."""
    return {
        label.strip() for _, labels in _GROUPING.findall(expression) for label in labels.split(",") if label.strip()
    }
