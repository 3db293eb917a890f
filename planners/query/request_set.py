"""The shipped requests of a domain with their gold graphs, by which readers are measured: they were written before the readers."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from planners.query.query_graph import QueryGraph

__all__ = ["GoldRequest", "request_set"]

_FOLDER = Path(__file__).parent / "requests"


class GoldRequest(BaseModel):
    """One request.

    :param split: rules may be written in view of ``dev``, never of ``test``.
    :param paper: whether it stands in the paper QueryWeaver.
    :param hops: number of edges of the graph.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    split: Literal["dev", "test"]
    paper: bool
    hops: int = Field(ge=0)
    request: str
    graph: QueryGraph

    @property
    def domain(self) -> str:
        """The name of its domain."""
        return self.id.rpartition("-")[0]


@cache
def request_set(domain: str) -> tuple[GoldRequest, ...]:
    """Return the requests of a shipped domain; of any other domain there are none."""
    path = _FOLDER / f"{domain}.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    return tuple(map(GoldRequest.model_validate_json, lines))
