"""Rules that write into the graph of a run whose other steps ask a model, and the prompt tokens that this spares."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from planners.calling.fence_marks import FenceMarks
from planners.graphs.property_graph import Language, Operation
from planners.kgot.kgot_settings import KgotSettings
from planners.kgot.kgot_task import MadeCall, TaskView
from planners.kgot.llm.view_inputs import view_inputs
from planners.kgot.prompts.kgot_prompt import prompt_messages
from planners.kgot.step_makers import GraphWriter

__all__ = ["SparingWriter"]


class SparingWriter:
    """Hands writes to rules, and counts the prompt that a model would have got.

    :param writer: the rules.
    :param count: tokens of a text.
    :ivar prompt_tokens: of all prompts that were not sent.
    """

    def __init__(
        self,
        writer: GraphWriter,
        *,
        language: Language,
        settings: KgotSettings,
        marks: FenceMarks,
        count: Callable[[str], int],
    ) -> None:
        self._writer = writer
        self._form = settings.prompt_format
        self._language = "operations" if language == "python" or settings.writes == "operations" else language
        self._marks = marks
        self._count = count
        self.prompt_tokens = 0

    async def write(self, view: TaskView, missing: str, answers: Sequence[MadeCall]) -> tuple[Operation, ...]:
        """See :class:`planners.kgot.step_makers.GraphWriter`."""
        new = "\n\n".join(answer.text for answer in answers)
        inputs = {**view_inputs(view), "missing_information": missing, "new_information": new}
        messages = prompt_messages("write_graph", inputs, form=self._form, marks=self._marks, language=self._language)
        self.prompt_tokens += sum(self._count(message.content) for message in messages)
        return await self._writer.write(view, missing, answers)

    async def fix(self, operation: Operation, fault: str) -> Operation | None:
        """See :class:`planners.kgot.step_makers.GraphWriter`."""
        return await self._writer.fix(operation, fault)
