"""Queries, scripts and direct answers of a chat model."""

from __future__ import annotations

from typing import Any

from inference.structured_chat import UnusableAnswerError
from planners.kgot.kgot_task import TaskView
from planners.kgot.llm.model_asker import ModelAsker, closed_object
from planners.kgot.llm.view_inputs import view_inputs
from planners.stores.property_graph import Language

__all__ = ["LlmGraphReader"]

_QUERY = closed_object(query={"type": "string"})
_ANSWER = closed_object(found={"type": "boolean"}, answer={"type": "string"})


class LlmGraphReader:
    """Asks the model of the graph (appendix C.3).

    :param language: of the queries; ``python`` for scripts.
    """

    def __init__(self, asker: ModelAsker, *, language: Language) -> None:
        self._asker = asker
        self._language = language

    async def query(self, view: TaskView, wrong: str, *, forced: bool) -> str | None:
        """See :class:`planners.kgot.step_makers.GraphReader`."""
        name = "forced_query" if forced else "rewrite_query" if wrong else "write_query"
        inputs = {**view_inputs(view), "wrong_query": wrong}
        return await self._asker.ask(name, inputs, _QUERY, _query, language=self._language)

    async def fix(self, query: str, fault: str) -> str | None:
        """See :class:`planners.kgot.step_makers.GraphReader`."""
        inputs = {"wrong_text": query, "fault": fault}
        return await self._asker.ask("fix_query", inputs, _QUERY, _query, language=self._language)

    async def direct(self, view: TaskView, *, forced: bool) -> str | None:
        """See :class:`planners.kgot.step_makers.GraphReader`."""
        name = "forced_answer" if forced else "direct_answer"
        return await self._asker.ask(name, view_inputs(view), _ANSWER, _answer)


def _query(value: Any) -> str:
    query: str = value["query"].strip()
    if not query:
        raise UnusableAnswerError("query is empty")
    return query


def _answer(value: Any) -> str | None:
    return (value["answer"].strip() or None) if value["found"] else None
