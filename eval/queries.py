"""Labelled requests: what was asked, and the tools that it needs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ontology.errors import DocumentError, InvalidArgumentError

__all__ = ["LabelledQuery", "QuerySet", "read_queries"]

_NAMED = 10  # how many faults a message names


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledQuery:
    """A request and its gold set.

    :param id: unique in its set.
    :param text: the request in plain words.
    :param tools: ids of the tools that it needs, at least one, distinct, in the order given.
    :param request_class: the class of the request, or empty.
    """

    id: str
    text: str
    tools: tuple[str, ...]
    request_class: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuerySet:
    """Labelled requests that are measured together.

    :param name: what the reports call it.
    :param sha256: of the requests' canonical JSON in their order: two runs compare only where it is the same.
    """

    name: str
    queries: tuple[LabelledQuery, ...]
    sha256: str
