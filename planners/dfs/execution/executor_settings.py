"""Settings of the executor: the order of branches, and the bounds of a run."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["ExecutorSettings"]


class ExecutorSettings(BaseModel):
    """Settings of the executor.

    :param order: ``selective``: the branch with the fewest rows first, further ones from its result where that fetches fewer rows;
        ``paper``: neighbours as listed, each branch from its leaves.
    :param max_depth: edges from the return variable to the deepest leaf of the depth-first tree; a deeper graph is refused.
    :param max_calls: questions to the resolver, counts included; after these, each further branch ends.
    :param max_rows: rows fetched; no call is made after these (a call under way may go over).
    :param max_seconds: wall-clock seconds; a call under way is cancelled. Where calls took all of it, the second pass has a tenth more.
    :param concurrent_calls: calls at once.
    :param max_witness_steps: candidates looked at in the search for complete answers in the second pass, in all (measured:
        1,000,000 a second, about).
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    order: Literal["selective", "paper"] = "selective"
    max_depth: int = Field(default=12, ge=0)
    max_calls: int = Field(default=1_000, ge=1)
    max_rows: int = Field(default=1_000_000, ge=1)
    max_seconds: float = Field(default=300.0, gt=0)
    concurrent_calls: int = Field(default=8, ge=1)
    max_witness_steps: int = Field(default=5_000_000, ge=0)
