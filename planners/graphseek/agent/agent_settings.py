"""The limits of a question's run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = ["AgentSettings", "Descriptors"]

Descriptors: TypeAlias = Literal["on", "off", "auto"]
"""Whether a planner sees the catalog's descriptors; ``auto``: the question decides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSettings:
    """Of one question. Steps, history and message are the paper's (section 3.1, appendix B.1); the others were chosen, see each.

    :param max_steps: of a run.
    :param subtask_steps: of a subtask, which has one request only: two operators and an answer, and as many corrections.
    :param found_operators: beside the core, in a step: with it ten, about what the paper's pruned toolkit had.
    :param failed_before_cypher: steps after which ``cypher`` is offered: "several" of the paper (section 6.2).
    :param call_seconds: of one invocation, and of each of its queries: six times the slowest operator on the graph of section 6.1, on a laptop.
    :param max_seconds: of a run; no limit where None.
    :param history_tokens: of earlier turns in a prompt.
    :param message_tokens: of one message.
    :param answer_tokens: of one answer of the model: four invocations with filters take about 500.
    """

    max_steps: int = 10
    subtask_steps: int = 5
    found_operators: int = 6
    failed_before_cypher: int = 3
    call_seconds: float = 30.0
    max_seconds: float | None = None
    descriptors: Descriptors = "auto"
    history_tokens: int = 10_000
    message_tokens: int = 20_000
    answer_tokens: int = 1_000
