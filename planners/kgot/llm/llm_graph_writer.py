"""Writes that a chat model makes of the answers of tools."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from inference.structured_chat import UnusableAnswerError
from planners.kgot.kgot_task import MadeCall, TaskView
from planners.kgot.llm.graph_json import OPERATIONS_SCHEMA, operation_text, read_operations
from planners.kgot.llm.json_repair import repaired_json
from planners.kgot.llm.model_asker import ModelAsker, closed_object
from planners.kgot.llm.write_prompt import OPERATIONS, WRITE_GRAPH, write_inputs, write_language
from planners.stores.property_graph import Language, Operation, Statement

__all__ = ["LlmGraphWriter"]

_STATEMENTS = closed_object(statements={"type": "array", "items": {"type": "string"}})
_FIXED = closed_object(query={"type": "string"})


class LlmGraphWriter:
    """Asks the model of the graph (appendix C.2)."""

    def __init__(self, asker: ModelAsker, *, language: Language) -> None:
        self._asker = asker
        self._language = language
        self._write_language = write_language(language)

    async def write(self, view: TaskView, missing: str, answers: Sequence[MadeCall]) -> tuple[Operation, ...]:
        """See :class:`planners.kgot.step_makers.GraphWriter`."""
        inputs, language = write_inputs(view, missing, answers), self._write_language
        if language == OPERATIONS:
            return await self._asker.ask(WRITE_GRAPH, inputs, OPERATIONS_SCHEMA, read_operations, language=language)
        return await self._asker.ask(WRITE_GRAPH, inputs, _STATEMENTS, _statements, language=language)

    async def fix(self, operation: Operation, fault: str) -> Operation | None:
        """See :class:`planners.kgot.step_makers.GraphWriter`."""
        inputs = {"wrong_text": operation_text(operation), "fault": fault}
        is_statement = isinstance(operation, Statement)
        fixed: Operation = await self._asker.ask(
            "fix_query",
            inputs,
            _FIXED,
            _statement if is_statement else _operation,
            language=self._language if is_statement else OPERATIONS,
            options={"writes": True},
        )
        return fixed


def _statements(value: Any) -> tuple[Operation, ...]:
    return tuple(Statement(text=text.strip()) for text in value["statements"] if text.strip())


def _statement(value: Any) -> Operation:
    if not value["query"].strip():
        raise UnusableAnswerError("query is empty")
    return Statement(text=value["query"].strip())


def _operation(value: Any) -> Operation:
    """Return the one write of a corrected JSON text."""
    try:
        found = read_operations(json.loads(repaired_json(value["query"]) or ""))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UnusableAnswerError(f"query is no JSON object with nodes and edges ({str(error)[:100]})") from error
    if len(found) != 1:
        raise UnusableAnswerError(f"query has {len(found)} nodes and edges instead of one")
    return found[0]
