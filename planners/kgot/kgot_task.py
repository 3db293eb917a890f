"""A task, what a run knows of it at a step, and what models want: votes and calls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

__all__ = ["Insert", "KgotTask", "MadeCall", "Retrieve", "TaskView", "Vote", "WantedCall"]


@dataclass(frozen=True, slots=True, kw_only=True)
class KgotTask:
    """What is to be solved.

    :param files: that come with it; tools are given them by their names.
    """

    question: str
    files: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Insert:
    """A vote that the graph does not answer the task yet.

    :param reason: what is missing.
    """

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieve:
    """A vote that the graph answers the task.

    :param query: in the language of the graph; or the answer itself, where the run retrieves without queries.
    """

    query: str


Vote: TypeAlias = Insert | Retrieve


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedCall:
    """A call that shall be made."""

    tool_id: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeCall:
    """A call of a tool that was made, with its answer.

    :param body: JSON values; of a call without an answer its error.
    :param text: the answer as a model is shown it: bounded, in a fence.
    """

    tool_id: str
    arguments: Mapping[str, Any]
    ok: bool
    status: str
    body: Any = None
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskView:
    """What a step of a run sees.

    :param iteration: from 1.
    :param graph_text: the graph of the task as prompts have it.
    :param calls: of all iterations before, in their order.
    :param fruitless: queries that gave nothing, and those that failed, in their order.
    """

    task: KgotTask
    iteration: int
    graph_text: str
    calls: tuple[MadeCall, ...] = ()
    fruitless: tuple[str, ...] = ()
