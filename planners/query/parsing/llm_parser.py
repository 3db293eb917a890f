"""The ``llm`` parser: a chat model writes the graph, the domain checks it, and the faults go back to the model, a bounded number of times.

Only the request, the schema of the domain and requests of the shipped sets as examples reach the model (QueryWeaver, appendix A1.1).
"""

from __future__ import annotations

import re
from datetime import date

from pydantic import ValidationError

from inference.chat import ChatModel, Message
from ontology.errors import InvalidArgumentError, ModelError
from ontology.first_error import first_error
from planners.query.dates.date_spans import date_spans
from planners.query.dates.read_range import read_range
from planners.query.domain import Domain
from planners.query.graph_faults import graph_faults
from planners.query.parsing.graph_prompt import repair_message, request_messages
from planners.query.parsing.model_slips import field_of, mended
from planners.query.parsing.request_parser import ParsedRequest
from planners.query.parsing.worked_examples import worked_examples
from planners.query.parsing.written_graph import WrittenGraph, written_schema
from planners.query.query_graph import QueryGraph

__all__ = ["LlmParser"]

_ATTEMPTS = 3
_MAX_TOKENS = 600
_MAX_CHARS = 1_000
_MAX_REPEATED_CHARS = 4_000
_MAX_FAULTS = 8
_COMMAND = re.compile(r"^(?:please )?(?:show|give|tell|get|find|bring) me\b", re.IGNORECASE)
_LEAD = re.compile(r"^(?:(?:in|on|at|during|from|over|since|after|before|the)\s+)+")


class LlmParser:
    """Parses requests with a chat model.

    :param model: the chat model; it has its own retries and its own budget.
    :param attempts: answers that are asked for at most, at least 1.
    """

    name = "llm.v1"

    def __init__(self, model: ChatModel, *, attempts: int = _ATTEMPTS) -> None:
        if attempts < 1:
            raise InvalidArgumentError("attempts must be at least 1", subject="attempts", remedy="Use 1 or more")
        self._model = model
        self._attempts = attempts

    def parse(self, request: str, domain: Domain, today: date) -> ParsedRequest:
        """Return the graph of a request; see :class:`planners.query.parsing.request_parser.Parser`.

        :raises ModelError: when the model fails, and when none of its answers is a graph without faults.
        """
        text = " ".join(request.split())
        if not text or len(text) > _MAX_CHARS:
            raise InvalidArgumentError(
                f"a request has 1 to {_MAX_CHARS} characters", subject="request", remedy="Write one sentence"
            )
        schema = written_schema(domain, text, today)
        messages, faults = request_messages(text, domain, worked_examples(text, domain)), list[str]()
        for attempt in range(self._attempts):
            answer = self._model.complete(messages, schema=schema, schema_name="query_graph", max_tokens=_MAX_TOKENS)
            graph, faults, slips = _read(answer.text, text, domain, today)
            if graph is not None and not faults:
                repaired = (f"The model needed {attempt + 1} attempts.",) if attempt else ()
                return ParsedRequest(graph, (*repaired, *slips, *_readings(graph, domain, today)))
            rejected = answer.text[:_MAX_REPEATED_CHARS]
            if attempt and rejected == messages[-2].content:
                break  # it would say so for ever
            messages += [Message(role="assistant", content=rejected), repair_message(text, faults[:_MAX_FAULTS])]
        raise ModelError(
            f"no answer of the model was a graph without faults; the last one: {' '.join(faults[:_MAX_FAULTS])}",
            subject=self._model.name,
            remedy="Say the request in other words, or use the parser rules.v1",
        )


def _read(text: str, request: str, domain: Domain, today: date) -> tuple[QueryGraph | None, list[str], tuple[str, ...]]:
    """The graph of an answer, its faults, and how slips in it were mended, a sentence each."""
    try:
        graph = WrittenGraph.model_validate_json(text).graph(domain)
    except ValidationError as error:
        return None, [f"The answer is no graph: {first_error(error)}."], ()
    except ValueError as error:
        return None, [f"The answer is no graph: {error}."], ()
    graph, slips = mended(graph, request, domain)
    return graph, [*graph_faults(graph, domain), *_broken_rules(graph, request, domain, today)], slips


def _broken_rules(graph: QueryGraph, request: str, domain: Domain, today: date) -> list[str]:
    """What the schema cannot say: the user has a variable, and dates are the words of the request."""
    faults = []
    user = next((name for name, entity in domain.types.items() if entity.kind == "self"), None)
    words = set(re.findall(r"\w+", _COMMAND.sub("", request).casefold()))
    if user and user not in graph.vars.values():
        said = [word for word in domain.types[user].words if word.casefold() in words]
        if said:
            faults.append(f'The request says "{said[0]}", so there must be a variable of the type {user} with an edge.')
    dates = next((name for name, entity in domain.types.items() if entity.kind == "date"), None)
    if dates and dates not in graph.vars.values():
        edges = ", ".join(
            f"{source} {edge} {target}" for source, edge, target in domain.signatures() if target == dates
        )
        faults += [
            f'The request says "{span.text}", so there must be a variable of the type {dates} with that value, joined by one of: {edges}.'
            for span in date_spans(request, today)
        ]
    for each in graph.filters:
        field = field_of(each, graph, domain)
        if field is None or field.kind != "date" or each.op == "contains":
            continue
        value = " ".join(str(each.value).casefold().split())
        if _LEAD.sub("", value) not in request.casefold():
            faults.append(f'The date "{each.value}" is not in the request; write its words unchanged.')
            continue
        try:
            read_range(str(each.value), today, each.op)
        except InvalidArgumentError as error:
            faults.append(f'The date "{each.value}" with the operator {each.op}: {error.problem}.')
    return faults


def _readings(graph: QueryGraph, domain: Domain, today: date) -> tuple[str, ...]:
    return tuple(
        read_range(str(each.value), today, each.op).said
        for each in graph.filters
        if each.op != "contains" and (field := field_of(each, graph, domain)) and field.kind == "date"
    )
