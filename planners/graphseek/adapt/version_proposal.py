"""Asking a model for a version of an operator, and asking again with the fault, until one passes or the attempts are used up."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from inference.chat import ChatModel, Message
from inference.structured_chat import StructuredChat, StructuredRequest, UnusableAnswerError
from ontology.errors import EgotoolsError
from planners.calls.clean_values import clean_text, cleaned
from planners.calls.fence_marks import FenceMarks
from planners.calls.sandbox import Sandbox
from planners.graphseek.adapt.operator_version import OperatorVersion
from planners.graphseek.adapt.version_contract import OperatorContract
from planners.graphseek.adapt.version_operator import VersionOperator, check_version, tried_version
from planners.graphseek.agent_events import ModelAsked
from planners.graphseek.catalog.catalog import SemanticCatalog
from planners.graphseek.catalog.catalog_text import catalog_text
from planners.graphseek.operators.operator import Operator, OperatorFault, check_arguments
from planners.graphseek.prompts.graphseek_prompt import graphseek_prompt
from planners.graphseek.turn import Fault
from planners.journal.metered_model import MeteredModel
from planners.journal.model_thread import on_a_thread
from planners.stores.graph_schema import GraphSchema, ReadableGraph
from planners.stores.property_graph import QueryLimits

__all__ = ["VersionMaker", "VersionRequest"]

_DRY_RUN = QueryLimits(rows=10, seconds=5.0)
"""Enough to see that it answers, and in which columns: a right template of the paper's special tools takes 0.1 s."""
_ASKED = 4  # one answer, and three more with the fault (the paper's loop of appendix A.3 names no number)
_TOKENS = 1_500  # of an answer: a template of thirty lines and as much Python
_SHOWN = 4_000  # characters of the operator's own text, and of an answer that is shown again
_FAULT = 500
_NAME = "operator_version"
_ANSWER: dict[str, Any] = {
    "type": "object",
    "properties": {
        "template": {"type": "string", "minLength": 1},
        "parameters": {"type": "object"},
        "process": {"type": "string"},
    },
    "required": ["template"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionRequest:
    """What a version is made for.

    :param arguments: of the call that failed last.
    :param faults: of the operator in this run.
    """

    operator: Operator
    contract: OperatorContract
    graph: ReadableGraph
    schema: GraphSchema
    arguments: Mapping[str, Any]
    faults: Sequence[Fault]

    def version(self, answer: Mapping[str, Any]) -> OperatorVersion:
        """Return what an answer of a model proposes; what it leaves out is as it was."""
        base = self.contract.parameters
        given = {**base.get("properties", {}), **answer.get("parameters", {})}
        return OperatorVersion(
            operator=self.operator.name,
            dialect=self.graph.dialect,
            schema=self.schema.fingerprint,
            template=answer["template"],
            parameters={**base, "properties": given},
            process=answer.get("process", ""),
            example=dict(self.arguments),
        )


class VersionMaker:
    """Asks one model.

    :param marks: around data in prompts.
    :param limits: of the dry run.
    :param attempts: answers that are asked for, until one passes.
    """

    def __init__(
        self,
        model: ChatModel,
        sandbox: Sandbox,
        marks: FenceMarks,
        limits: QueryLimits = _DRY_RUN,
        attempts: int = _ASKED,
    ) -> None:
        self._model = model
        self._sandbox = sandbox
        self._marks = marks
        self._limits = limits
        self._attempts = attempts

    async def made(self, request: VersionRequest) -> tuple[OperatorVersion | None, str]:
        """Return a version that passed every check, or why there is none.

        :raises BudgetExceededError: when the budget is used up.
        """
        talk = _Talk(self._messages(request))
        for _ in range(self._attempts):
            answer = await self._answer(talk.messages)
            if isinstance(answer, str):
                return None, answer
            try:
                proposed = check_version(request.version(_read(answer[0])), request.contract, request.schema)
                return await tried_version(
                    proposed, request.contract, request.graph, request.schema, self._limits, self._sandbox
                ), ""
            except UnusableAnswerError as error:
                talk.refuse(answer[0], str(error), self._marks)
            except EgotoolsError as error:
                talk.refuse(answer[0], f"{error.subject}: {error.problem}. {error.remedy}", self._marks)
        return None, f"{self._attempts} proposals were refused; the last: {talk.fault}"

    async def _answer(self, messages: Sequence[Message]) -> tuple[str] | str:
        """Return the text of an answer, or why there is none."""
        request = StructuredRequest(messages=tuple(messages), schema=_ANSWER, schema_name=_NAME, max_tokens=_TOKENS)
        with MeteredModel(self._model, _NAME, partial(ModelAsked, prompt=_NAME)) as metered:
            chat = StructuredChat(metered, kind="graphseek", repair_prompt=str, cache=None, attempts=1)
            given = await on_a_thread("graphseek-version", lambda: chat.call(request, "", str))
        return (given.text,) if given.failure is None else clean_text(str(given.failure))

    def _messages(self, request: VersionRequest) -> list[Message]:
        said = [
            f"Operator: {request.operator.name}: {request.operator.description}",
            f"Arguments: {json.dumps(request.contract.parameters, sort_keys=True)}",
            f"Columns it must give: {', '.join(_column(each) for each in request.contract.returns)}",
            f"As it is now:\n{self._marks.fenced(_own_text(request.operator))}",
            f"Cypher of: {request.graph.dialect}",
            f"Schema:\n{self._marks.fenced(catalog_text(SemanticCatalog(), request.schema, form='lean').text)}",
            f"A call that failed: {self._marks.fenced(json.dumps(dict(request.arguments), ensure_ascii=False))}",
            f"Faults:\n{self._marks.fenced(_lines(request.faults))}",
        ]
        return [
            Message(role="system", content=graphseek_prompt(_NAME)),
            Message(role="user", content="\n\n".join(said)),
        ]


@dataclass(slots=True)
class _Talk:
    """What was said so far."""

    messages: list[Message]
    fault: str = field(default="")

    def refuse(self, answer: str, fault: str, marks: FenceMarks) -> None:
        self.fault = clean_text(fault)[:_FAULT]
        said = f"That cannot be used:\n{marks.fenced(self.fault)}\nAnswer again with one JSON object of the form that was said."
        self.messages += [
            Message(role="assistant", content=answer[:_SHOWN]),
            Message(role="user", content=said),
        ]


def _read(text: str) -> Mapping[str, Any]:
    """Return an answer that has the form.

    :raises UnusableAnswerError: for any other text.
    """
    try:
        answer: Mapping[str, Any] = cleaned(json.loads(text))
        check_arguments(answer, _ANSWER, called="it")
    except (ValueError, RecursionError) as error:
        raise UnusableAnswerError(f"it is not one JSON object ({error})") from error
    except OperatorFault as fault:
        raise UnusableAnswerError(f"{fault.problem}. {fault.hint}") from fault
    return answer


def _own_text(operator: Operator) -> str:
    """Return what an operator does: the template of a version, else its code, where it can be read."""
    if isinstance(operator, VersionOperator):
        return operator.version.template
    try:
        return inspect.getsource(getattr(operator, "runs", None) or type(operator))[:_SHOWN]
    except (OSError, TypeError):
        return "not known"


def _column(column: Any) -> str:
    return f"{column.name} ({f'a node of type {column.node_type}' if column.node_type else column.type})"


def _lines(faults: Sequence[Fault]) -> str:
    return "\n".join(f"{each.problem}. {each.hint}" for each in faults)
