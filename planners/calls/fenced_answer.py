"""Old names of :mod:`planners.calls.untrusted`."""

from planners.calls.untrusted import AnswerFlag, FencedAnswer, fence_answer

__all__ = ["AnswerFlag", "FencedAnswer", "fence_answer"]
