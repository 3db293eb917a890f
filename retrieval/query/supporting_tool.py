"""The supporting tool: one that a request does not ask for, but that must be called before one that it asks for."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["SupportingTool"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SupportingTool:
    """A tool that must be called before another one can be, and why: ``call tool first, its output gives the consumer's parameter``.

    :param tool: its number.
    :param answers: the tool of the request that it is needed for in the end.
    :param consumer: the tool that it is needed for next; ``answers`` itself after one step.
    :param parameter: the input of the consumer that it fills; empty where it only must go first.
    :param output: its output that fills the input, or empty.
    :param predicate: of the edge that says so: ``depends_on``, ``resolved_by`` or ``supplies``.
    :param required: whether the consumer cannot be called without.
    :param confidence: of that edge, in (0, 1].
    :param cost: of all steps from ``answers`` to here, in standard deviations of the scores, > 0.
    :param steps: their number, >= 1.
    """

    tool: int
    answers: int
    consumer: int
    parameter: str
    output: str
    predicate: str
    required: bool
    confidence: float
    cost: float
    steps: int
