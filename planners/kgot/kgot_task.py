"""A task, and what a run knows of it at a step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from planners.stores.property_graph import GraphState

__all__ = ["KgotTask", "MadeCall", "TaskView"]


@dataclass(frozen=True, slots=True, kw_only=True)
class KgotTask:
    """What is to be solved.

    :param files: that come with it; tools are given them by their names.
    """

    question: str
    files: tuple[Path, ...] = ()


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
    :param graph: the state of the task.
    :param graph_text: the same as prompts have it.
    :param calls: of all iterations before, in their order.
    :param fruitless: queries that gave nothing, and those that failed, in their order.
    :param faults: how the latter failed, by query.
    """

    task: KgotTask
    iteration: int
    graph: GraphState
    graph_text: str
    calls: tuple[MadeCall, ...] = field(default=())
    fruitless: tuple[str, ...] = field(default=())
    faults: Mapping[str, str] = field(default_factory=dict)
