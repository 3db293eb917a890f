"""Where the next result gets its number."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

__all__ = ["ResultSlot"]


@dataclass(slots=True)
class ResultSlot:
    """The numbers of a run, or of one invocation in it.

    :param label: number of the invocation, with those around it: ``3``, ``3.1``; empty: of the run.
    :param again: the handle that is computed again; empty where there is none.
    :param inner: how many numbers were given inside.
    """

    label: str = ""
    operator: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    again: str = ""
    inner: int = 0
    taken: bool = False

    def next_label(self, number: int | None = None) -> str:
        """Give a number inside: this one, or the next."""
        number = number or self.inner + 1
        self.inner = max(self.inner, number)
        return f"{self.label}.{number}" if self.label else str(number)

    def handle(self, kind: Literal["t", "g", "p"]) -> str:
        """Give a handle: the first has the number of the invocation, the others numbers inside."""
        first, self.taken = not self.taken, True
        if first and self.again:
            return self.again
        return f"{kind}{self.label if first and self.label else self.next_label()}"
