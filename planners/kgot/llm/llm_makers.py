"""All steps of a run by chat models: one of the graph, one of the tools (section 4 of the paper)."""

from __future__ import annotations

from inference.chat import ChatModel
from planners.calls.fence_marks import FenceMarks
from planners.kgot.kgot_settings import KgotSettings
from planners.kgot.llm.llm_answerer import LlmAnswerer
from planners.kgot.llm.llm_graph_reader import LlmGraphReader
from planners.kgot.llm.llm_graph_writer import LlmGraphWriter
from planners.kgot.llm.llm_next_step import LlmNextStep
from planners.kgot.llm.llm_tool_chooser import LlmToolChooser
from planners.kgot.llm.model_asker import ModelAsker
from planners.kgot.step_makers import StepMakers
from planners.stores.property_graph import Language

__all__ = ["llm_makers"]


def llm_makers(
    graph_model: ChatModel,
    tool_model: ChatModel,
    *,
    settings: KgotSettings,
    language: Language,
    fence_key: bytes = b"",
) -> StepMakers:
    """Return the steps of a run.

    :param graph_model: decides, writes and asks the graph, computes, and gives the final answer; open it with the retries of
        :data:`planners.kgot.kgot_settings.MODEL_RETRIES`.
    :param tool_model: defines the calls of tools.
    :param language: of the graph.
    :param fence_key: that of the run, see :func:`planners.kgot.kgot_controller.solve_task`.
    :raises MissingExtraError: at the first question, without the extra ``llm``.
    """
    marks = FenceMarks(fence_key)
    graph = ModelAsker(graph_model, executor="graph", settings=settings, marks=marks)
    tools = ModelAsker(tool_model, executor="tool", settings=settings, marks=marks)
    asked: Language = "python" if settings.retrieve == "script" else language
    return StepMakers(
        next_step=LlmNextStep(graph, settings, language="direct" if settings.retrieve == "direct" else asked),
        chooser=LlmToolChooser(graph, tools, settings),
        writer=LlmGraphWriter(graph, language=language),
        reader=LlmGraphReader(graph, language=language),
        answerer=LlmAnswerer(graph, settings),
        script=LlmGraphReader(graph, language="python"),
    )
