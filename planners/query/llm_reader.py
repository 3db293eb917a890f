"""The reader ``llm.v1``: a chat model writes the graph, the domain checks it, and the faults go back to the model, a bounded number of times.

Only the request, the schema of the domain and requests of the shipped sets as examples reach the model (QueryWeaver, appendix A1.1).
The model writes a short form, ``{"filters": ["p.name = Jane Doe"], "edges": ["e has_attachment f", "e from p"], "ask": "find all f"}``;
the name of a variable says its type. The paper's form takes three times the tokens.
"""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path
from typing import Annotated

from jinja2 import DictLoader, Environment, StrictUndefined
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from inference.chat import ChatModel, Message
from ontology.errors import InvalidArgumentError, ModelError
from ontology.files import read_yaml
from ontology.json_values import first_error
from planners.query.dates import date_spans, read_range
from planners.query.domain import Domain
from planners.query.graph_faults import date_notes, graph_faults
from planners.query.query_graph import (
    FindNames,
    GoldRequest,
    ParsedRequest,
    QueryGraph,
    request_set,
    request_text,
    words_of,
)

_PROMPTS = Environment(  # a prompt is no HTML
    loader=DictLoader(read_yaml(Path(__file__).parent / "prompt.yaml")), undefined=StrictUndefined, autoescape=False
)
_ATTEMPTS = 3
_MAX_TOKENS = 600
_MAX_REPEATED_CHARS = 4_000
_MAX_FAULTS = 8
_MOST_EXAMPLES = 4
_COMMAND = re.compile(r"^(?:please )?(?:show|give|tell|get|find|bring) me\b", re.IGNORECASE)
_LEAD = re.compile(r"^(?:(?:in|on|at|during|from|over|since|after|before|the)\s+)+")
_ASK = re.compile(r"(find|count) (all|one) (\w+)", re.ASCII)
_EDGE = re.compile(r"(\w+) (\w+) (\w+)", re.ASCII)
_FILTER = re.compile(r"(\w+)\.(\w+) (=|contains|<|>) (.+)", re.ASCII)
_Words = Annotated[str, Field(max_length=340)]


class LlmParser:
    """Parses requests with a chat model, which has its own retries and its own budget."""

    name = "llm.v1"

    def __init__(self, model: ChatModel) -> None:
        self._model = model

    def parse(
        self, request: str, domain: Domain, today: date, *, best_effort: bool = False, names: FindNames | None = None
    ) -> ParsedRequest:
        """Return the graph of a request; see :class:`planners.query.query_graph.Parser`. A model leaves nothing out by
        itself. Raises ModelError when the model fails, and when none of its answers is a graph without faults."""
        text = request_text(request)
        schema = WrittenGraph.model_json_schema()
        messages, faults = _messages(text, domain), list[str]()
        for attempt in range(_ATTEMPTS):
            answer = self._model.complete(messages, schema=schema, schema_name="query_graph", max_tokens=_MAX_TOKENS)
            try:
                graph = WrittenGraph.model_validate_json(answer.text).graph(domain)
            except ValidationError as error:
                faults = [f"The answer is no graph: {first_error(error)}."]
            except ValueError as error:
                faults = [f"The answer is no graph: {error}."]
            else:
                faults = list(graph_faults(graph, domain)) or _broken_rules(graph, text, domain, today)
                if not faults:
                    repaired = (f"The model needed {attempt + 1} attempts.",) if attempt else ()
                    return ParsedRequest(graph, (*repaired, *date_notes(graph, domain, today)))
            rejected = answer.text[:_MAX_REPEATED_CHARS]
            if attempt and rejected == messages[-2].content:
                break  # it would say so for ever
            # The request again: small models lose it from sight.
            repair = _render("repair", request=text, faults=faults[:_MAX_FAULTS])
            messages += [Message(role="assistant", content=rejected), Message(role="user", content=repair)]
        problem = f"no answer of the model was a graph without faults; the last one: {' '.join(faults[:_MAX_FAULTS])}"
        remedy = "Say the request in other words, or use the parser rules.v1"
        raise ModelError(problem, subject=self._model.name, remedy=remedy)


def _broken_rules(graph: QueryGraph, request: str, domain: Domain, today: date) -> list[str]:
    """The user and the dates of a request have variables, and dates are the words of the request."""
    faults, said = list[str](), set(re.findall(r"\w+", _COMMAND.sub("", request).casefold()))
    for name, entity in domain.types.items():
        if name in graph.vars.values() or entity.kind == "entity":
            continue
        words = [span.text for span in date_spans(request, today)] if entity.kind == "date" else entity.words
        if missing := next((word for word in words if entity.kind == "date" or word.casefold() in said), ""):
            faults.append(f'The request says "{missing}", so there must be a variable of the type {name} with an edge.')
    for each in graph.filters:
        if domain.types[graph.vars[each.var]].fields[each.field].kind != "date":
            continue
        if _LEAD.sub("", " ".join(str(each.value).casefold().split())) not in request.casefold():
            faults.append(f'The date "{each.value}" is not in the request; write its words unchanged.')
            continue
        try:
            read_range(str(each.value), today, each.op)  # type: ignore[arg-type]  # graph_faults reports another operator
        except InvalidArgumentError as error:
            faults.append(f'The date "{each.value}" with the operator {each.op}: {error.problem}.')
    return faults


# The prompt.


def _messages(request: str, domain: Domain) -> list[Message]:
    shown = worked_examples(request, domain)
    variables = {entity.kind: entity.variable for entity in domain.types.values()}
    user, dates = variables.get("self", ""), variables.get("date", "")
    system = _render("instructions", domain=domain, user=user, dates=dates, shown=shown)
    messages = [Message(role="system", content=system)]
    for each in shown:
        messages.append(Message(role="user", content=each.request))
        messages.append(Message(role="assistant", content=WrittenGraph.of(each.graph).model_dump_json()))
    return [*messages, Message(role="user", content=request)]


def _render(name: str, **values: object) -> str:
    return _PROMPTS.get_template(name).render(**values).strip()


def worked_examples(request: str, domain: Domain) -> tuple[GoldRequest, ...]:
    """Return the requests of the half ``dev`` that share the most words with a request, the most similar one last. The
    paper's requests are never among them, nor the request itself, so that what is measured was not shown; the half
    ``test`` is not looked at. A domain that is not shipped has none."""
    usable = [
        each
        for each in request_set(domain.name)
        if each.split == "dev" and not each.paper and each.request != request and not graph_faults(each.graph, domain)
    ]
    asked = set(request.casefold().split())

    def similarity(each: GoldRequest) -> float:
        words = set(each.request.casefold().split())
        return len(asked & words) / len(asked | words)

    return tuple(sorted(usable, key=lambda each: (similarity(each), each.id))[-_MOST_EXAMPLES:])


class WrittenGraph(BaseModel):
    """A query graph as a model writes it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    filters: tuple[_Words, ...] = Field(max_length=12)
    edges: tuple[_Words, ...] = Field(max_length=12)
    ask: _Words

    @classmethod
    def of(cls, graph: QueryGraph) -> WrittenGraph:
        """Return the form of a graph whose variables are named as their types say."""
        ask = f"{graph.action} {graph.return_mode} {graph.return_var}"
        return cls(ask=ask, edges=tuple(map(words_of, graph.edges)), filters=tuple(map(words_of, graph.filters)))

    def graph(self, domain: Domain) -> QueryGraph:
        """Return the graph; raises ValueError for text that is no edge, no filter, or no variable of the domain."""
        action, mode, returned = _parts(_ASK, self.ask, "an ask", "find all e")
        edges = [_parts(_EDGE, each, "an edge", "e from p") for each in dict.fromkeys(self.edges)]
        filters = [_parts(_FILTER, each, "a filter", "p.name = Jane Doe") for each in dict.fromkeys(self.filters)]
        known: dict[str, str] = {}  # every name that a variable may have → its type
        for name, kind in domain.types.items():
            for number in ("",) if kind.kind == "self" else ("", "1", "2", "3"):  # there is one user
                known.setdefault(f"{kind.variable}{number}", name)
        ends = [end for one, _, two in edges for end in (one, two)]
        used = dict.fromkeys([returned, *ends, *(each[0] for each in filters)])
        if unknown := next((var for var in used if var not in known), None):
            stems = ", ".join(f"{kind.variable} ({name})" for name, kind in domain.types.items())
            named = f"variables are named {stems}, with 1 to 3 where there are several"
            raise ValueError(f"{unknown!r} is no variable; {named}")
        written = [{"kind": "edge", "from": one, "edge": edge, "to": two} for one, edge, two in edges]
        names = ("var", "field", "op", "value")
        written += [{"kind": "filter", **dict(zip(names, each, strict=True))} for each in filters]
        form = {"action": action, "return_var": returned, "return_mode": mode, "constraints": written}
        return QueryGraph.model_validate({**form, "vars": {var: known[var] for var in used}})


def _parts(form: re.Pattern[str], text: str, what: str, example: str) -> tuple[str, ...]:
    found = form.fullmatch(text.strip())
    if not found:
        raise ValueError(f"{text!r} is not {what} such as {example!r}")
    return found.groups()
