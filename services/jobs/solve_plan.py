"""The plan of ``egotools solve``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ontology.errors import InvalidArgumentError
from planners.kgot.kgot_settings import KgotSettings
from services.jobs.plans import ChatEndpoint

__all__ = ["ModelAddress", "SolvePlan"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAddress:
    """A model behind an OpenAI-compatible endpoint; empty: none."""

    url: str = ""
    model: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SolvePlan:
    """How tasks are solved. It can be sent to another process.

    :param graph: address of the store of each run, see :data:`planners.stores.open_graph.GRAPH_ADDRESSES`.
    :param endpoint: of the graph executor, with the budget of all models. It needs a model.
    :param tool_model: of the tool executor; that of the graph executor where it is none.
    :param search: address of a search engine for the web tools.
    :param max_calls: calls of tools of a run.
    """

    graph: str = "memory"
    settings: KgotSettings = field(default_factory=KgotSettings)
    endpoint: ChatEndpoint = field(default_factory=ChatEndpoint)
    tool_model: ModelAddress = field(default_factory=ModelAddress)
    vision_model: ModelAddress = field(default_factory=ModelAddress)
    search: str = field(default="", repr=False)
    max_calls: int = 1_000

    def __post_init__(self) -> None:
        if not self.endpoint.model:
            raise InvalidArgumentError(
                "a task is solved by a model, and none is named",
                subject="--llm-model",
                remedy="Name one of any server with the OpenAI interface: --llm-url URL --llm-model NAME; "
                "to see a recorded run without a model: egotools solve --demo",
            )

    def about(self) -> dict[str, Any]:
        """Return what a journal's run must agree in, without credentials."""
        return {"graph": self.graph.partition(":")[0]}
