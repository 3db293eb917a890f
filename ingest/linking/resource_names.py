"""Names of resources that are paths: ``projects/{project}/snapshots/{snapshot}`` names a snapshot.

The template stands in the pattern of a parameter (``^projects/[^/]+/snapshots/[^/]+$``) or in its description. Found on the discovery
documents of IAM, BigQuery and Classroom.
"""

from __future__ import annotations

import re
from functools import lru_cache

__all__ = ["RESOURCE_NAME", "named_collection"]

RESOURCE_NAME = "resource name"
"""The field of an entity that is a path."""

_PLACE = r"(?:\[\^/\]\+|\{[^{}/]*\}|\[[A-Za-z_-]+\]|<[a-z_-]+>|\.\*|\*\*?)"
_IN_PATTERN = re.compile(rf"(?P<collection>[A-Za-z]\w*)/{_PLACE}\$?$")
_AFTER_FORMAT = re.compile(rf"[Ff]ormat(?: is)?(?: of)?:? *`?(?P<collection>[A-Za-z]\w*)/{_PLACE}(?![/\w])")
_IN_TEXT = re.compile(rf"(?<![\w/])(?:[A-Za-z]\w*/{_PLACE}/)+(?P<collection>[A-Za-z]\w*)/{_PLACE}(?!/?\w)")


@lru_cache(maxsize=50_000)
def named_collection(pattern: str, description: str) -> str:
    """Return the last collection of the path that a value is (``snapshots``), or empty where it is no such path."""
    if "/" in pattern:
        match = _IN_PATTERN.search(pattern)
        return match["collection"] if match else ""
    if "/" not in description:
        return ""
    found = {match["collection"] for rule in (_IN_TEXT, _AFTER_FORMAT) for match in rule.finditer(description)}
    return found.pop() if len(found) == 1 else ""
