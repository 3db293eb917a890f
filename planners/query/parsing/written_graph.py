"""The short form in which a chat model writes a query graph, and the JSON schema that admits no edge and no field but those of a domain.

``{"filters": ["p.name = Jane Doe"], "edges": ["e has_attachment f", "e from p"], "ask": "find all f"}``. The name of a variable says
its type, so that the edges there are fit into one pattern: a model whose decoding follows the schema cannot name an edge that does
not exist, nor turn one round. Small models do both in the paper's form, which takes three times the tokens. What stands in the
request comes first, what is concluded from it last.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from planners.query.dates.date_spans import date_spans
from planners.query.domain import Domain, FieldType
from planners.query.ordinals import names_ordinal
from planners.query.query_graph import QueryGraph, words_of

__all__ = ["WrittenGraph", "variables_of", "written_schema"]

_NUMBERS = ("", "1", "2", "3")  # as in the pattern
_MOST = 12  # edges, and filters
_MAX_VALUE = 200  # characters
_ASK = re.compile(r"(find|count) (all|one) (\w+)", re.ASCII)
_EDGE = re.compile(r"(\w+) (\w+) (\w+)", re.ASCII)
_FILTER = re.compile(r"(\w+)\.(\w+) (=|contains|<|>) (.+)", re.ASCII)
_MAX_WORDS = 11  # of a value, after the first
_ORDINAL = "(first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|last|second to last)"
_SPECIAL, _ESCAPED = re.compile(r"[][.^$*+?(){}|\\]"), r"\\\g<0>"
_Words = Annotated[str, Field(max_length=_MAX_VALUE + 140)]


class WrittenGraph(BaseModel):
    """A query graph as a model writes it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    filters: tuple[_Words, ...] = Field(max_length=_MOST)
    edges: tuple[_Words, ...] = Field(max_length=_MOST)
    ask: _Words

    @classmethod
    def of(cls, graph: QueryGraph) -> WrittenGraph:
        """Return the form of a graph whose variables are named as their types say."""
        return cls(
            ask=f"{graph.action} {graph.return_mode} {graph.return_var}",
            edges=tuple(map(words_of, graph.edges)),
            filters=tuple(map(words_of, graph.filters)),
        )

    def graph(self, domain: Domain) -> QueryGraph:
        """Return the graph.

        :raises ValueError: for text that is no edge, no filter, or no variable of the domain.
        """
        action, mode, returned = _parts(_ASK, self.ask, "an ask", "find all e")
        edges = [_parts(_EDGE, each, "an edge", "e from p") for each in dict.fromkeys(self.edges)]
        filters = [_parts(_FILTER, each, "a filter", "p.name = Jane Doe") for each in dict.fromkeys(self.filters)]
        known = variables_of(domain)
        used = dict.fromkeys(
            [returned, *(end for one, _, two in edges for end in (one, two)), *(each[0] for each in filters)]
        )
        unknown = next((var for var in used if var not in known), None)
        if unknown:
            stems = ", ".join(f"{kind.variable} ({name})" for name, kind in domain.types.items())
            raise ValueError(
                f"{unknown!r} is no variable; variables are named {stems}, with 1 to 3 where there are several"
            )
        return QueryGraph.model_validate(
            {
                "action": action,
                "return_var": returned,
                "return_mode": mode,
                "vars": {var: known[var] for var in used},
                "constraints": [
                    *({"kind": "edge", "from": one, "edge": edge, "to": two} for one, edge, two in edges),
                    *(
                        {"kind": "filter", "var": var, "field": field, "op": op, "value": value}
                        for var, field, op, value in filters
                    ),
                ],
            }
        )

    def text(self) -> str:
        """The JSON text."""
        return self.model_dump_json()


class _Said(NamedTuple):
    """What the values of filters can be, as regular expressions."""

    words: str
    dates: str
    ordinal: bool

    @classmethod
    def of(cls, request: str, today: date) -> _Said:
        """Read a request."""
        words = [word.strip("\"'“”‘’.,;:?!()") for word in request.split()]
        words += [word.removesuffix("'s").removesuffix("’s") for word in words]
        # Neither a quotation mark nor a backslash: some servers match the pattern against the JSON text.
        known = "|".join(
            _SPECIAL.sub(_ESCAPED, word) for word in dict.fromkeys(words) if word and not {*'"\\'} & {*word}
        )
        dates = (f"{each.op} {_SPECIAL.sub(_ESCAPED, each.text)}" for each in date_spans(request, today))
        return cls(f"({known})( ({known})){{0,{_MAX_WORDS}}}", "|".join(dict.fromkeys(dates)), names_ordinal(request))

    def condition(self, field: FieldType) -> str:
        """The operators and values of a field; empty where it can have none."""
        if field.kind == "date" and self.dates:
            return f"({self.dates})"
        if field.kind == "ordinal":
            return f"= {_ORDINAL}" if self.ordinal else ""
        declared = "".join(f"|{_SPECIAL.sub(_ESCAPED, value)}" for value in field.values)
        return f"({'|'.join(field.operators)}) ({self.words}{declared})"


def variables_of(domain: Domain) -> dict[str, str]:
    """Every name that a variable may have → its type. There is one user; of any other type there may be several."""
    names: dict[str, str] = {}
    for name, kind in domain.types.items():
        for number in _NUMBERS[:1] if kind.kind == "self" else _NUMBERS:
            names.setdefault(f"{kind.variable}{number}", name)
    return names


def written_schema(domain: Domain, request: str, today: date) -> dict[str, Any]:
    """The JSON schema of the form for a domain: values are words of the request, or those that the domain declares.

    A date is one of the date expressions of the request, where it has some, and without an ordinal in it there is none in the graph.
    """
    said = _Said.of(request, today)
    names = {
        name: kind.variable if kind.kind == "self" else f"{kind.variable}[1-3]?" for name, kind in domain.types.items()
    }
    ends: dict[tuple[str, str], list[str]] = {}
    for source, edge, target in domain.signatures():
        ends.setdefault((source, target), []).append(edge)
    edges = [f"{names[one]} ({'|'.join(between)}) {names[two]}" for (one, two), between in ends.items()]
    filters = [
        rf"{names[kind]}\.{name} {condition}"
        for kind, entity in domain.types.items()
        for name, field in entity.fields.items()
        if (condition := said.condition(field))
    ]
    properties = {
        "filters": _list(filters),
        "edges": _list(edges),
        "ask": _one_of([f"(find all|find one|count all) ({'|'.join(names.values())})"]),
    }
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _list(forms: Sequence[str]) -> dict[str, Any]:
    return {"type": "array", "items": _one_of(forms), "maxItems": _MOST} if forms else {"type": "array", "maxItems": 0}


def _one_of(forms: Sequence[str]) -> dict[str, Any]:
    # Patterns, not enumerations: of hundreds of values a server's grammar follows each one, at every token.
    return {"type": "string", "pattern": f"^({'|'.join(forms)})$"}


def _parts(form: re.Pattern[str], text: str, what: str, example: str) -> tuple[str, ...]:
    found = form.fullmatch(text.strip())
    if not found:
        raise ValueError(f"{text!r} is not {what} such as {example!r}")
    return found.groups()
