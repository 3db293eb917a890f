"""The seam between the page and a planner: a request goes in, events come out while it is worked on.

An event is a JSON object; ``event`` is its name. The page draws these, and lists the others in its log as they are:

* ``GraphMade`` ``{graph, notes, left_out}``: the query graph in the JSON form of the paper QueryWeaver (section 4.1); ``left_out`` are notes of
  what is not in it.
* ``VariableEntered`` ``{var}``, ``SetResolved`` ``{var, size, first}``, ``EdgeTraversed`` ``{start, edge, end, sources, pairs}``,
  ``Said`` ``{text}``, ``Intersected`` and ``Filtered`` ``{var, after, first}``, ``Pruned`` ``{sizes, first}``, ``Called`` ``{call}``, ``BranchFailed`` ``{missing}``.
  ``first`` are at most 50 candidates as ``{id, fields}``, of a variable (of ``Pruned``: by variable).
* ``Answered`` ``{execution}`` ends a run: ``answer``, ``count``, ``candidates`` (variable → entities), ``missing``, ``totals``.
* ``TurnEnded`` ``{turn, pages, error}`` ends the run of a question of a graph, whose other events are those of
  :mod:`planners.graphseek.agent_events`: ``pages`` are results to be shown, ``error`` says why there is no sure answer.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from egotools import Tool

__all__ = ["Ask", "Plan", "PlanRequest", "RunEvent"]

RunEvent: TypeAlias = Mapping[str, Any]
Ask: TypeAlias = Callable[[Tool, Mapping[str, Any]], Awaitable[bool]]
"""Asks the user whether a call that may change something may be made, with its arguments."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRequest:
    """What a run is asked.

    :param domain: name of a domain; empty for the planner's default.
    :param token: of the user, for calls to the tool service; empty where there is no access control.
    :param tenant: likewise.
    :param ask: is to be called before what may change something.
    """

    request: str
    ask: Ask
    domain: str = ""
    token: str = field(default="", repr=False)
    tenant: str = ""


Plan: TypeAlias = Callable[[PlanRequest], AsyncGenerator[RunEvent, None]]
"""Works on a request. Its errors are those of egotools and of its client; when it is cancelled it leaves no task behind."""
