"""The feature ``value_support``: how strongly the typed values of a request fit the inputs of a tool."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from inference.arrays import Floats1d
from retrieval.query.context import QueryContext
from retrieval.query.query import Clause

__all__ = ["value_support"]


def value_support(context: QueryContext, clause: Clause, tools: NDArray[np.int64]) -> Floats1d:
    """The support by the values of a clause, or of the whole request, >= 0."""
    support = context.support_by_values(clause.values)
    if not support:
        return np.zeros(len(tools), dtype=np.float32)
    return np.asarray([support.get(int(tool), 0.0) for tool in tools], dtype=np.float32)
