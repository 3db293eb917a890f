"""The reader ``llm.v1``: a chat model writes the graph, the domain checks it, and the faults go back to the model, a bounded number of times.

Only the request, the schema of the domain and requests of the shipped sets as examples reach the model (QueryWeaver, appendix A1.1).
The model writes a short form, ``{"filters": ["p.name = Jane Doe"], "edges": ["e has_attachment f", "e from p"], "ask": "find all f"}``.
The name of a variable says its type, so that the edges there are fit into one pattern: a model whose decoding follows the JSON schema
cannot name an edge that does not exist, nor turn one round. Small models do both in the paper's form, which takes three times the tokens.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

from jinja2 import Environment, StrictUndefined
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from inference.chat import ChatModel, Message
from ontology.errors import InvalidArgumentError, ModelError
from ontology.files import read_yaml
from ontology.json_values import first_error
from planners.query.dates import date_spans, read_range
from planners.query.domain import Domain, FieldType
from planners.query.graph_faults import date_notes, graph_faults, names_ordinal
from planners.query.query_graph import (
    Constraint,
    EdgeConstraint,
    FilterConstraint,
    GoldRequest,
    ParsedRequest,
    QueryGraph,
    request_set,
    request_text,
    words_of,
)

__all__ = ["LlmParser", "WrittenGraph", "worked_examples"]

_TEXTS: Mapping[str, str] = read_yaml(Path(__file__).parent / "prompt.yaml")
_ATTEMPTS = 3
_MAX_TOKENS = 600
_MAX_REPEATED_CHARS = 4_000
_MAX_FAULTS = 8
_MOST_EXAMPLES = 4
_COMMAND = re.compile(r"^(?:please )?(?:show|give|tell|get|find|bring) me\b", re.IGNORECASE)
_LEAD = re.compile(r"^(?:(?:in|on|at|during|from|over|since|after|before|the)\s+)+")
_NAME = re.compile(r"(?<!^)\b[A-Z]\w+|\"[^\"]*\"|'[^']*'")

_NUMBERS = ("", "1", "2", "3")  # as in the pattern
_MOST = 12  # edges, and filters
_MAX_VALUE = 200  # characters
_MAX_WORDS = 11  # of a value, after the first
_ASK = re.compile(r"(find|count) (all|one) (\w+)", re.ASCII)
_EDGE = re.compile(r"(\w+) (\w+) (\w+)", re.ASCII)
_FILTER = re.compile(r"(\w+)\.(\w+) (=|contains|<|>) (.+)", re.ASCII)
_ORDINAL = (
    "(first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|last|second to last|(first|last) [1-9][0-9]?)"
)
_SPECIAL, _ESCAPED = re.compile(r"[][.^$*+?(){}|\\]"), r"\\\g<0>"
_Words = Annotated[str, Field(max_length=_MAX_VALUE + 140)]


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

    def parse(self, request: str, domain: Domain, today: date, *, best_effort: bool = False) -> ParsedRequest:
        """Return the graph of a request; see :class:`planners.query.query_graph.Parser`. A model leaves nothing out by itself.

        :raises ModelError: when the model fails, and when none of its answers is a graph without faults.
        """
        text = request_text(request)
        schema = _schema(domain, text, today)
        messages, faults = _messages(text, domain), list[str]()
        for attempt in range(self._attempts):
            answer = self._model.complete(messages, schema=schema, schema_name="query_graph", max_tokens=_MAX_TOKENS)
            graph, faults = _read(answer.text, text, domain, today)
            if graph is not None and not faults:
                repaired = (f"The model needed {attempt + 1} attempts.",) if attempt else ()
                return ParsedRequest(graph, (*repaired, *date_notes(graph, domain, today)))
            rejected = answer.text[:_MAX_REPEATED_CHARS]
            if attempt and rejected == messages[-2].content:
                break  # it would say so for ever
            # The request again: small models lose it from sight.
            repair = _render("repair", request=text, faults=faults[:_MAX_FAULTS])
            messages += [Message(role="assistant", content=rejected), Message(role="user", content=repair)]
        raise ModelError(
            f"no answer of the model was a graph without faults; the last one: {' '.join(faults[:_MAX_FAULTS])}",
            subject=self._model.name,
            remedy="Say the request in other words, or use the parser rules.v1",
        )


def _read(text: str, request: str, domain: Domain, today: date) -> tuple[QueryGraph | None, list[str]]:
    """The graph of an answer, and its faults."""
    try:
        graph = WrittenGraph.model_validate_json(text).graph(domain)
    except ValidationError as error:
        return None, [f"The answer is no graph: {first_error(error)}."]
    except ValueError as error:
        return None, [f"The answer is no graph: {error}."]
    graph = _mended(graph, domain)
    return graph, [*graph_faults(graph, domain), *_broken_rules(graph, request, domain, today)]


# The prompt. Its first message is the same for every request of a domain, so that a server that keeps the beginning reads it once.


def _messages(request: str, domain: Domain) -> list[Message]:
    shown = worked_examples(request, domain)
    variables = {entity.kind: entity.variable for entity in domain.types.values()}
    user, dates = variables.get("self", ""), variables.get("date", "")
    system = _render("instructions", domain=domain, user=user, dates=dates, shown=shown)
    messages = [Message(role="system", content=system)]
    for each in shown:
        messages.append(Message(role="user", content=each.request))
        messages.append(Message(role="assistant", content=WrittenGraph.of(each.graph).text()))
    return [*messages, Message(role="user", content=request)]


def _render(name: str, **values: object) -> str:
    text: str = _template(name).render(**values)
    return text.strip()


@cache
def _template(name: str) -> Any:
    # A prompt is no HTML.
    return Environment(undefined=StrictUndefined, autoescape=False, trim_blocks=False).from_string(_TEXTS[name])


def worked_examples(request: str, domain: Domain) -> tuple[GoldRequest, ...]:
    """Return the requests of the half ``dev`` that share the rarest words and pairs of words with a request, the most similar one last.

    The paper's requests are never among them, nor the request itself, so that what is measured was not shown; the half ``test`` is
    not looked at. A domain that is not shipped has none.
    """
    usable = [
        each
        for each in request_set(domain.name)
        if each.split == "dev" and not each.paper and each.request != request and not graph_faults(each.graph, domain)
    ]
    terms = {each.id: _terms(each.request) for each in usable}
    frequency = Counter(term for found in terms.values() for term in found)
    weight = {term: math.log((1 + len(usable)) / count) ** 2 for term, count in frequency.items()}
    asked = _terms(request)

    def similarity(each: GoldRequest) -> float:
        shown = terms[each.id]
        length = math.sqrt(sum(weight[term] for term in shown)) or 1.0
        return sum(weight[term] for term in shown & asked) / length

    return tuple(sorted(usable, key=lambda each: (similarity(each), each.id))[-_MOST_EXAMPLES:])


def _terms(request: str) -> set[object]:
    """The words and pairs of words of a request, names and quoted text left out."""
    words = re.findall(r"[^\W\d_]+", _NAME.sub(" ", request).casefold())
    return {*words, *pairwise(words)}


# The short form, and the JSON schema that admits no edge and no field but those of a domain.


class WrittenGraph(BaseModel):
    """A query graph as a model writes it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    filters: tuple[_Words, ...] = Field(max_length=_MOST)
    edges: tuple[_Words, ...] = Field(max_length=_MOST)
    ask: _Words

    @classmethod
    def of(cls, graph: QueryGraph) -> WrittenGraph:
        """Return the form of a graph whose variables are named as their types say."""
        ask = f"{graph.action} {graph.return_mode} {graph.return_var}"
        return cls(ask=ask, edges=tuple(map(words_of, graph.edges)), filters=tuple(map(words_of, graph.filters)))

    def graph(self, domain: Domain) -> QueryGraph:
        """Return the graph.

        :raises ValueError: for text that is no edge, no filter, or no variable of the domain.
        """
        action, mode, returned = _parts(_ASK, self.ask, "an ask", "find all e")
        edges = [_parts(_EDGE, each, "an edge", "e from p") for each in dict.fromkeys(self.edges)]
        filters = [_parts(_FILTER, each, "a filter", "p.name = Jane Doe") for each in dict.fromkeys(self.filters)]
        known = _variables(domain)
        used = dict.fromkeys(
            [returned, *(end for one, _, two in edges for end in (one, two)), *(each[0] for each in filters)]
        )
        unknown = next((var for var in used if var not in known), None)
        if unknown:
            stems = ", ".join(f"{kind.variable} ({name})" for name, kind in domain.types.items())
            raise ValueError(
                f"{unknown!r} is no variable; variables are named {stems}, with 1 to 3 where there are several"
            )
        written = [{"kind": "edge", "from": one, "edge": edge, "to": two} for one, edge, two in edges]
        names = ("var", "field", "op", "value")
        written += [{"kind": "filter", **dict(zip(names, each, strict=True))} for each in filters]
        form = {"action": action, "return_var": returned, "return_mode": mode, "constraints": written}
        return QueryGraph.model_validate({**form, "vars": {var: known[var] for var in used}})

    def text(self) -> str:
        """The JSON text."""
        return self.model_dump_json()


def _parts(form: re.Pattern[str], text: str, what: str, example: str) -> tuple[str, ...]:
    found = form.fullmatch(text.strip())
    if not found:
        raise ValueError(f"{text!r} is not {what} such as {example!r}")
    return found.groups()


def _variables(domain: Domain) -> dict[str, str]:
    """Every name that a variable may have → its type. There is one user; of any other type there may be several."""
    names: dict[str, str] = {}
    for name, kind in domain.types.items():
        for number in _NUMBERS[:1] if kind.kind == "self" else _NUMBERS:
            names.setdefault(f"{kind.variable}{number}", name)
    return names


def _schema(domain: Domain, request: str, today: date) -> dict[str, Any]:
    """The JSON schema of the form: values are words of the request, or those that the domain declares; dates are those of the request."""
    values = _values(request)
    spans = (f"{each.op} {_SPECIAL.sub(_ESCAPED, each.text)}" for each in date_spans(request, today))
    dates = "|".join(dict.fromkeys(spans))
    names = {
        name: kind.variable if kind.kind == "self" else f"{kind.variable}[1-3]?" for name, kind in domain.types.items()
    }
    ends: dict[tuple[str, str], list[str]] = {}
    for source, edge, target in domain.signatures():
        ends.setdefault((source, target), []).append(edge)
    edges = [f"{names[one]} ({'|'.join(between)}) {names[two]}" for (one, two), between in ends.items()]

    def condition(field: FieldType) -> str:
        """The operators and values of a field; empty where it can have none."""
        if field.kind == "date" and dates:
            return f"({dates})"
        if field.kind == "ordinal":
            return f"= {_ORDINAL}" if names_ordinal(request) else ""
        declared = "".join(f"|{_SPECIAL.sub(_ESCAPED, value)}" for value in field.values)
        return f"({'|'.join(field.operators)}) ({values}{declared})"

    filters = [
        rf"{names[kind]}\.{name} {said}"
        for kind, entity in domain.types.items()
        for name, field in entity.fields.items()
        if (said := condition(field))
    ]
    ask = f"(find all|find one|count all) ({'|'.join(names.values())})"
    properties = {"filters": _list(filters), "edges": _list(edges), "ask": _one_of([ask])}
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _values(request: str) -> str:
    words = [word.strip("\"'“”‘’.,;:?!()") for word in request.split()]
    words += [word.removesuffix("'s").removesuffix("’s") for word in words]
    # Neither a quotation mark nor a backslash: some servers match the pattern against the JSON text.
    known = "|".join(_SPECIAL.sub(_ESCAPED, word) for word in dict.fromkeys(words) if word and not {*'"\\'} & {*word})
    return f"({known})( ({known})){{0,{_MAX_WORDS}}}"


def _list(forms: Sequence[str]) -> dict[str, Any]:
    return {"type": "array", "items": _one_of(forms), "maxItems": _MOST} if forms else {"type": "array", "maxItems": 0}


def _one_of(forms: Sequence[str]) -> dict[str, Any]:
    # Patterns, not enumerations: of hundreds of values a server's grammar follows each one, at every token.
    return {"type": "string", "pattern": f"^({'|'.join(forms)})$"}


# What the schema cannot say.


def _broken_rules(graph: QueryGraph, request: str, domain: Domain, today: date) -> list[str]:
    """The user has a variable, and dates are the words of the request."""
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
    for each in _dates(graph, domain):
        value = " ".join(str(each.value).casefold().split())
        if _LEAD.sub("", value) not in request.casefold():
            faults.append(f'The date "{each.value}" is not in the request; write its words unchanged.')
            continue
        try:
            read_range(str(each.value), today, each.op)  # type: ignore[arg-type]  # graph_faults reports another operator
        except InvalidArgumentError as error:
            faults.append(f'The date "{each.value}" with the operator {each.op}: {error.problem}.')
    return faults


def _dates(graph: QueryGraph, domain: Domain) -> list[FilterConstraint]:
    found = ((each, _field_of(each, graph, domain)) for each in graph.filters)
    return [each for each, field in found if field and field.kind == "date" and each.op != "contains"]


def _field_of(each: FilterConstraint, graph: QueryGraph, domain: Domain) -> FieldType | None:
    kind = domain.types.get(graph.vars.get(each.var, ""))
    return kind.fields.get(each.field) if kind else None


def _mended(graph: QueryGraph, domain: Domain) -> QueryGraph:
    """Turn an edge where only the other way exists (edges are said without a direction), and take the dot off an extension."""
    return graph.model_copy(update={"constraints": tuple(_tidied(each, graph, domain) for each in graph.constraints)})


def _tidied(each: Constraint, graph: QueryGraph, domain: Domain) -> Constraint:
    if isinstance(each, EdgeConstraint):
        source, target = graph.vars[each.source], graph.vars[each.target]
        turned = not domain.edge(each.edge, source, target) and domain.edge(each.edge, target, source)
        return each.model_copy(update={"source": each.target, "target": each.source}) if turned else each
    field = _field_of(each, graph, domain)
    return each.model_copy(update={"value": str(each.value).lstrip(".")}) if field and ".*" in field.words else each
