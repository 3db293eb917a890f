"""Inputs of a tool that belong to no entity: which page of an answer is wanted, and how long it may be; and how many there are in all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from egotools import Tool
from ontology.names import words
from planners.calls.answer_rows import path_steps

__all__ = ["Paging", "paging_of", "value_at"]

_LIMITS = (("limit",), ("page", "size"), ("max", "results"), ("per", "page"), ("top",), ("maximum", "results"))
_TOTALS = (("total",), ("total", "count"), ("count",), ("total", "results"), ("total", "items"), ("total", "size"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Paging:
    """Each is empty where the tool has none.

    :param page: the input that asks for a page.
    :param next_page: path in the output of that input's value for the next page; null or absent after the last.
    :param limit: the input with the most rows of an answer.
    :param total: path in the output of the number of all rows.
    """

    page: str = ""
    next_page: str = ""
    limit: str = ""
    total: str = ""


def paging_of(tool: Tool) -> Paging:
    """Return how a tool gives long answers in parts: ``page_token`` and ``next_page_token``, ``offset`` and ``next_offset``, …"""
    inputs = {tuple(words(each.name)): each.name for each in tool.parameters if "." not in each.name}
    page = next_page = total = ""
    for each in tool.returns:
        if "[]" in each.name:
            continue
        leaf = tuple(words(path_steps(each.name)[-1]))
        if leaf[:1] == ("next",) and leaf[1:] in inputs:
            page, next_page = inputs[leaf[1:]], each.name
        elif leaf in _TOTALS and each.type in ("integer", "number") and not total:
            total = each.name
    limit = next((inputs[name] for name in _LIMITS if name in inputs), "")
    return Paging(page=page, next_page=next_page, limit=limit, total=total)


def value_at(body: Any, path: str) -> Any:
    """Return the value at a path without lists, or None."""
    for step in path_steps(path):
        body = body.get(step) if isinstance(body, Mapping) else None
    return body
