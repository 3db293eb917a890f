"""Whether the model of a run can still be reached: a run that nobody answers ends, and goes on when the endpoint is back.

A single call that fails is left out. The run ends when all votes of a decision were refused for what no further attempt mends (a key,
an address, the name of a model), or when all votes of two decisions in a row failed; one decision may fall into a short outage.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ontology.errors import ModelError
from planners.kgot.step_makers import UnusableStepError

__all__ = ["ModelAvailability"]

_DECISIONS = 2
_REFUSED = re.compile(r"\bHTTP (401|403|404)\b")
"""A wrong key, a key without the right, a wrong address or model; the words are those of the client of the endpoint."""


@dataclass(slots=True)
class ModelAvailability:
    """What the last decisions of a run met.

    :ivar fault: of the first vote of the last decision, where all of its votes failed for the model; else None.
    """

    fault: ModelError | None = None
    _in_a_row: int = 0
    _refused: bool = False

    def take(self, faults: Sequence[Exception | None]) -> None:
        """Take the faults of the votes of a decision, None for one that was given."""
        failed = [each for each in faults if isinstance(each, ModelError) and not isinstance(each, UnusableStepError)]
        if not failed or len(failed) < len(faults):
            self.fault, self._in_a_row, self._refused = None, 0, False
            return
        self.fault, self._in_a_row = failed[0], self._in_a_row + 1
        self._refused = all(_REFUSED.search(each.problem) for each in failed)

    @property
    def is_final(self) -> bool:
        """Whether the run ends."""
        return self._refused or self._in_a_row >= _DECISIONS
