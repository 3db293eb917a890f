"""The open sets beside the checkout, which some studies cannot do without."""

from __future__ import annotations

from ontology.errors import NotFoundError
from scripts.bench_sets import BENCH

__all__ = ["require_open_sets"]


def require_open_sets() -> None:
    """Nothing, where the open sets are there.

    :raises NotFoundError: where they are not.
    """
    if not BENCH.is_dir():
        raise NotFoundError(
            "the open sets are not beside the checkout", subject=BENCH.name, remedy="Nothing is measured"
        )
