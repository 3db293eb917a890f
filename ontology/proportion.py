"""A proportion with its 95 % Wilson interval."""

from __future__ import annotations

import math

from pydantic import computed_field
from pydantic.dataclasses import dataclass

__all__ = ["Proportion"]

_Z = 1.959964  # two-sided 95 % of the normal distribution


@dataclass(frozen=True, slots=True)
class Proportion:
    """``hits`` of ``of`` cases. In JSON: ``hits, of, value, low, high``; the last three are null without cases."""

    hits: int
    of: int

    @computed_field  # type: ignore[prop-decorator]
    @property
    def value(self) -> float | None:
        """The share in [0, 1]; None without cases."""
        return self.hits / self.of if self.of else None

    @computed_field  # type: ignore[prop-decorator]
    @property
    def low(self) -> float | None:
        """Lower end of the 95 % Wilson interval, in [0, 1]."""
        return max(0.0, self._bound(-1)) if self.of else None

    @computed_field  # type: ignore[prop-decorator]
    @property
    def high(self) -> float | None:
        """Upper end of the 95 % Wilson interval, in [0, 1]."""
        return min(1.0, self._bound(+1)) if self.of else None

    def _bound(self, side: int) -> float:
        share, spread = self.hits / self.of, _Z * _Z / self.of
        half = math.sqrt(share * (1 - share) * spread + spread * spread / 4)
        return (share + spread / 2 + side * half) / (1 + spread)
