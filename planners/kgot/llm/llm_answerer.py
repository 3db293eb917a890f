"""Final answers of a chat model: whether something is left to compute, Python for it, and the form of the answer."""

from __future__ import annotations

from typing import Any

from inference.structured_chat import UnusableAnswerError
from planners.kgot.kgot_settings import KgotSettings
from planners.kgot.kgot_task import TaskView
from planners.kgot.llm.model_asker import ModelAsker, closed_object
from planners.kgot.llm.view_inputs import view_inputs

__all__ = ["LlmAnswerer"]

_NEEDED = closed_object(needed={"type": "boolean"})
_CODE = closed_object(code={"type": "string"})
_ANSWER = closed_object(answer={"type": "string"})


class LlmAnswerer:
    """Asks the model of the graph (appendices B.1.1 and C.3.3)."""

    def __init__(self, asker: ModelAsker, settings: KgotSettings) -> None:
        self._asker = asker
        self._settings = settings

    async def maths(self, view: TaskView, partial: str) -> str | None:
        """See :class:`planners.kgot.step_makers.Answerer`."""
        inputs = {**view_inputs(view), "partial_answer": partial}
        needed = await self._asker.ask("maths_needed", inputs, _NEEDED, lambda value: bool(value["needed"]))
        if not needed:
            return None
        return await self._asker.ask("maths_code", inputs, _CODE, _code)

    async def fix(self, code: str, fault: str) -> str | None:
        """See :class:`planners.kgot.step_makers.Answerer`."""
        return await self._asker.ask("fix_code", {"wrong_code": code, "fault": fault}, _CODE, _code)

    async def final(self, view: TaskView, partial: str, nth: int) -> str | None:
        """See :class:`planners.kgot.step_makers.Answerer`."""
        inputs = {**view_inputs(view), "partial_answer": partial}
        sample = self._asker.drawn(view.iteration, nth, self._settings.max_final_solution_parsing)
        answer: str = await self._asker.ask(
            "final_answer", inputs, _ANSWER, lambda value: value["answer"].strip(), sample=sample
        )
        return answer or None


def _code(value: Any) -> str:
    code: str = value["code"].strip()
    if not code:
        raise UnusableAnswerError("code is empty")
    return code
