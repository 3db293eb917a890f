"""Decisions of a chat model: whether the graph answers the task."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from inference.structured_chat import UnusableAnswerError
from planners.kgot.kgot_settings import KgotSettings
from planners.kgot.kgot_task import TaskView
from planners.kgot.llm.model_asker import ModelAsker, closed_object
from planners.kgot.llm.view_inputs import view_inputs
from planners.kgot.step_makers import Insert, Retrieve, Vote

__all__ = ["LlmNextStep"]

_VOTE = closed_object(query_type={"type": "string", "enum": ["RETRIEVE", "INSERT"]}, content={"type": "string"})


class LlmNextStep:
    """Asks the model of the graph.

    :param language: of queries; ``direct`` where a vote has the answer itself.
    """

    def __init__(self, asker: ModelAsker, settings: KgotSettings, *, language: str) -> None:
        self._asker = asker
        self._settings = settings
        self._language = language

    async def vote(self, view: TaskView, nth: int) -> Vote | None:
        """See :class:`planners.kgot.step_makers.NextStep`."""
        times = self._settings.num_next_steps_decision
        sample = self._asker.drawn(view.iteration, nth, times)
        return await self._asker.ask(
            "next_step", view_inputs(view), _VOTE, _vote, language=self._language, sample=sample
        )

    async def judge(self, view: TaskView, votes: Sequence[Vote]) -> Vote | None:
        """See :class:`planners.kgot.step_makers.NextStep`."""
        proposals = "\n".join(f"{at}. {_line(vote)}" for at, vote in enumerate(votes, 1))
        schema = closed_object(best={"type": "integer", "minimum": 1, "maximum": len(votes)})
        inputs = {**view_inputs(view), "proposals": proposals}
        best: int = await self._asker.ask("judge", inputs, schema, lambda value: value["best"])
        return votes[best - 1]


def _vote(value: Any) -> Vote:
    content = value["content"].strip()
    if not content:
        raise UnusableAnswerError("content is empty")
    return Retrieve(query=content) if value["query_type"] == "RETRIEVE" else Insert(reason=content)


def _line(vote: Vote) -> str:
    return f"RETRIEVE: {vote.query}" if isinstance(vote, Retrieve) else f"INSERT: {vote.reason}"
