"""The plan of ``egotools solve``, and the steps of its runs: by a model, by rules, or both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from inference.chat import ChatModel
from ontology.errors import InvalidArgumentError
from planners.kgot.kgot_settings import KgotSettings
from services.jobs.plans import ChatEndpoint

if TYPE_CHECKING:
    from planners.graphs.property_graph import Language
    from planners.kgot.rules.needed_calls import CallPlanner
    from planners.kgot.step_makers import BackendFactory, StepMakers

__all__ = ["ModelAddress", "SolvePlan", "WriteBy", "backend_factory"]

WriteBy: TypeAlias = Literal["model", "rules"]
"""What writes answers of tools into the graph."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAddress:
    """A model behind an OpenAI-compatible endpoint; empty: none."""

    url: str = ""
    model: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SolvePlan:
    """How tasks are solved. It can be sent to another process.

    :param settings: without a model there is one vote and one final answer, since rules give the same each time.
    :param graph: address of the store of each run, see :data:`planners.graphs.open_graph.GRAPH_ADDRESSES`.
    :param endpoint: of the graph executor, with the budget of all models; without a model rules take all steps.
    :param tool_model: of the tool executor; that of the graph executor where it is none.
    :param domain: by which rules read questions without files.
    :param today: the day against which rules read dates, ISO 8601.
    :param search: address of a search engine for the web tools.
    :param wiki: address of a wiki for the web tools.
    :param max_calls: calls of tools of a run.
    """

    graph: str = "ladybug"
    write: WriteBy = "model"
    settings: KgotSettings = field(default_factory=KgotSettings)
    endpoint: ChatEndpoint = field(default_factory=ChatEndpoint)
    tool_model: ModelAddress = field(default_factory=ModelAddress)
    vision_model: ModelAddress = field(default_factory=ModelAddress)
    speech_model: ModelAddress = field(default_factory=ModelAddress)
    domain: str = "enterprise"
    today: str = ""
    search: str = field(default="", repr=False)
    wiki: str = ""
    max_calls: int = 1_000

    def __post_init__(self) -> None:
        if self.write not in ("model", "rules"):
            raise InvalidArgumentError(f"{self.write!r} writes nothing", subject="--write", remedy="Use model or rules")
        if not self.by_rules:
            return
        if self.settings.retrieve != "query":
            raise InvalidArgumentError(
                "without a model the graph is asked by compiled queries",
                subject="--retrieve",
                remedy="Leave it out, or name a model with --llm-url and --llm-model",
            )
        once = replace(self.settings, num_next_steps_decision=1, max_final_solution_parsing=1)
        object.__setattr__(self, "settings", once)

    @property
    def by_rules(self) -> bool:
        """Whether no model takes steps."""
        return not self.endpoint.model

    def about(self) -> dict[str, Any]:
        """Return what a journal's run must agree in, without credentials."""
        return {
            "graph": self.graph.partition(":")[0],
            "write": "rules" if self.by_rules else self.write,
            "domain": self.domain if self.by_rules else "",
            "today": self.today if self.by_rules else "",
        }


def backend_factory(
    about: Mapping[str, Any],
    *,
    language: Language,
    settings: KgotSettings,
    planner: CallPlanner | None = None,
) -> BackendFactory:
    """Return what makes the steps of a run, also of one that is replayed.

    :param about: see :meth:`SolvePlan.about`.
    :param planner: of calls, for rules.
    """

    def make(models: Mapping[str, ChatModel], fence_key: bytes) -> StepMakers:
        if not models:
            return _by_rules(about, language, planner)
        from planners.kgot.llm.llm_makers import llm_makers

        makers = llm_makers(models["graph"], models["tool"], settings=settings, language=language, fence_key=fence_key)
        if about["write"] != "rules":
            return makers
        from planners.calling.fence_marks import FenceMarks
        from planners.finding.prompt_tokens import PromptTokens
        from planners.kgot.llm.write_prompt import WriteSavings
        from planners.kgot.rules.shape_writer import ShapeWriter

        savings = WriteSavings(
            language=language, settings=settings, marks=FenceMarks(fence_key), count=PromptTokens().count
        )
        return replace(makers, writer=ShapeWriter(), savings=savings)

    return make


def _by_rules(about: Mapping[str, Any], language: Language, planner: CallPlanner | None) -> StepMakers:
    from planners.dfs.domain import read_domain
    from planners.kgot.rules.rules_steps import rules_makers
    from services.task_reading.question_reader import DfsQuestionReader

    reader = DfsQuestionReader(read_domain(about["domain"]), today=date.fromisoformat(about["today"]))
    return rules_makers(reader, language=language, planner=planner)
