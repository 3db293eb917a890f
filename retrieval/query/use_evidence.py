"""What past requests say of the tools of one request, as its explanation shows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["UseEvidence"]


@dataclass(frozen=True, slots=True, kw_only=True)
class UseEvidence:
    """What past requests say of the tools of one request.

    :param sessions: tool number → how many of the nearest past requests used it.
    :param partners: tool number → the better tool that it is used with, and the number of the pair.
    """

    sessions: Mapping[int, int] = field(default_factory=dict)
    partners: Mapping[int, tuple[int, int]] = field(default_factory=dict)
