"""What the paper's order would fetch by the paper's own tools."""

from __future__ import annotations

from planners.dfs.executor import Execution

__all__ = ["paper_rows"]


def paper_rows(paper: Execution) -> int:
    """Return the rows of an execution in the paper's order, without those of listing a whole type.

    By the logs of the paper (appendix A4, queries 2 and 5) a leaf without a filter is the word "all", which its tools take: they answer with
    the whole edge. Our tools take identifiers, so such a leaf is listed first; the paper's order is not charged with that.
    """
    return sum(call.rows for call in paper.calls if call.kind != "find" or " " in call.what)
