"""The Proportion: a share with the interval that its count allows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

__all__ = ["Proportion"]

_Z = 1.959964  # two-sided 95 % of the normal distribution


@dataclass(frozen=True, slots=True)
class Proportion:
    """``hits`` of ``of``, with the 95 % Wilson interval; without cases there is no share."""

    hits: int
    of: int

    @property
    def value(self) -> float | None:
        """The share in [0, 1]."""
        return self.hits / self.of if self.of else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Lower and upper end of the 95 % Wilson interval, each in [0, 1]."""
        if not self.of:
            return None
        share, spread = self.hits / self.of, _Z * _Z / self.of
        middle = share + spread / 2
        half = math.sqrt(share * (1 - share) * spread + spread * spread / 4)
        return max(0.0, (middle - half) / (1 + spread)), min(1.0, (middle + half) / (1 + spread))

    def to_json(self) -> dict[str, Any]:
        """The JSON form."""
        low, high = self.interval or (None, None)
        return {"value": self.value, "low": low, "high": high, "hits": self.hits, "of": self.of}
