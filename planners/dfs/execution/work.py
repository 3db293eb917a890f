"""How much work the second pass may still do."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

__all__ = ["Work"]


@dataclass
class Work:
    """A budget of steps and time; once ``stopped``, it stays so. Another thread may set that.

    :param steps: candidates that may still be looked at.
    :param deadline: of ``time.perf_counter``, in seconds.
    """

    steps: int
    deadline: float = math.inf
    stopped: bool = False

    def spend(self, steps: int) -> bool:
        """Take steps from the budget; False where it is used up, or late."""
        self.steps -= steps
        if self.steps < 0 or time.perf_counter() >= self.deadline:
            self.stopped = True
        return not self.stopped
