"""The prompt for writes into the graph: what a model is asked, and how many tokens that is where rules write in its place."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from planners.calling.fence_marks import FenceMarks
from planners.graphs.property_graph import Language
from planners.kgot.kgot_settings import KgotSettings
from planners.kgot.kgot_task import MadeCall, TaskView
from planners.kgot.llm.view_inputs import view_inputs
from planners.kgot.prompts.kgot_prompt import prompt_messages

__all__ = ["OPERATIONS", "WRITE_GRAPH", "WriteSavings", "write_inputs", "write_language"]

WRITE_GRAPH = "write_graph"
"""Name of the prompt."""
OPERATIONS = "operations"
"""The language of writes that are nodes and edges as JSON."""


def write_language(language: Language) -> str:
    """Return the language of writes: that of the graph, or nodes and edges as JSON for a graph that is asked by Python."""
    return OPERATIONS if language == "python" else language


def write_inputs(view: TaskView, missing: str, answers: Sequence[MadeCall]) -> dict[str, str]:
    """Return the inputs of the prompt."""
    new = "\n\n".join(answer.text for answer in answers)
    return {**view_inputs(view), "missing_information": missing, "new_information": new}


class WriteSavings:
    """Implements :class:`planners.kgot.step_makers.PromptSavings`.

    :param count: tokens of a text.
    """

    def __init__(
        self, *, language: Language, settings: KgotSettings, marks: FenceMarks, count: Callable[[str], int]
    ) -> None:
        self._form = settings.prompt_format
        self._language = write_language(language)
        self._marks = marks
        self._count = count

    def tokens(self, view: TaskView, missing: str, answers: Sequence[MadeCall]) -> int:
        """See :class:`planners.kgot.step_makers.PromptSavings`."""
        inputs = write_inputs(view, missing, answers)
        messages = prompt_messages(WRITE_GRAPH, inputs, form=self._form, marks=self._marks, language=self._language)
        return sum(self._count(message.content) for message in messages)
