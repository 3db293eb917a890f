"""The query graph of a request: typed variables, typed edges between them, filters, an action, a return variable and a return mode.

The JSON form is that of the paper QueryWeaver (section 4.1): ``G = (V, E, F, a, r, m)``. What goes beyond it (exclusion, alternatives,
steps, counts, groups, orders) is left out of the JSON where it is not used. Whether a graph fits a domain is checked by
:mod:`planners.query.graph_faults`; here only its form is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer

from ontology.errors import InvalidArgumentError
from planners.query.domain import Domain

_Name: TypeAlias = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
_OfDomain: TypeAlias = Annotated[str, Field(min_length=1)]  # a type, an edge or a field: those of a graph have any name
Scalar: TypeAlias = str | int | float | bool
MAX_VARS = 24  # the most variables of a graph
_MAX_CONSTRAINTS = 64
_MAX_CHARS = 1_000
_REQUESTS = Path(__file__).parent / "requests"
_PAPER = frozenset(
    "kind source edge target from to var field op value action return_var return_mode vars constraints".split()
)


class _Form(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, strict=True)

    @model_serializer(mode="wrap")
    def _without_defaults(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """What the paper does not have stands in the JSON only where it says something."""
        defaults = {name: field.default for name, field in type(self).model_fields.items()}
        written: dict[str, Any] = handler(self)
        return {
            name: value for name, value in written.items() if name in _PAPER or value not in ([], defaults.get(name))
        }


class EdgeConstraint(_Form):
    """An edge between two variables, written in the direction of the domain; it is traversed in either.

    :param negated: nothing is joined by it: it and what lies behind it, seen from the return variable, must not exist.
    :param max_hops: the edge may be followed so many times in a row, 1 to 6.
    :param only: whatever is joined by it meets what is said behind it, and something is.
    """

    kind: Literal["edge"] = "edge"
    source: _Name = Field(alias="from")
    edge: _OfDomain
    target: _Name = Field(alias="to")
    negated: bool = False
    only: bool = False
    max_hops: int = Field(default=1, ge=1, le=6)


class FilterConstraint(_Form):
    """A condition on a field of a variable.

    :param others: further values, of which any may be meant in place of the first.
    """

    kind: Literal["filter"] = "filter"
    var: _Name
    field: _OfDomain
    op: Literal["=", "contains", "<", ">", "<=", ">="]
    value: Scalar
    others: Annotated[tuple[Scalar, ...], Field(max_length=20, strict=False)] = ()

    @property
    def values(self) -> tuple[Scalar, ...]:
        """The values of which any may be meant."""
        return (self.value, *self.others)


Constraint: TypeAlias = Annotated[EdgeConstraint | FilterConstraint, Field(discriminator="kind")]


class Measure(_Form):
    """A number of each answer (or of all answers): by which it is chosen, ordered, or which is told.

    :param function: ``count`` counts the entities of ``var`` that are joined to it; others are of the ``field`` of ``var``.
    :param op: with ``value``: which numbers are meant.
    """

    function: Literal["count", "sum", "average", "least", "greatest", "value"] = "count"
    var: _Name
    field: str = ""
    op: Literal["", "=", "<", ">", "<=", ">="] = ""
    value: float = 0


class QueryGraph(_Form):
    """A request as a graph.

    :param action: ``find`` and ``count`` as in the paper; ``group`` counts the return variable for each ``by``; ``top`` finds the first
        ``limit`` in the order of ``measure``; ``measure`` tells the measure of the return variable alone.
    :param vars: variable → type of entity.
    :param return_mode: ``one`` where the words of the request force a single answer, else ``all``.
    :param by: of ``group``: a variable.
    :param ascending: of ``top``: the least first.
    :param show: the field of the return variable that is asked for.
    """

    action: Literal["find", "count", "group", "top", "measure"]
    return_var: _Name
    return_mode: Literal["one", "all"] = "all"
    vars: dict[_Name, _OfDomain] = Field(min_length=1, max_length=MAX_VARS)
    constraints: tuple[Constraint, ...] = Field(default=(), max_length=_MAX_CONSTRAINTS, strict=False)
    measure: Measure | None = None
    by: str = ""
    limit: int = Field(default=0, ge=0, le=1_000)
    ascending: bool = False
    show: str = ""

    @property
    def edges(self) -> tuple[EdgeConstraint, ...]:
        """The edges, in their order."""
        return tuple(each for each in self.constraints if isinstance(each, EdgeConstraint))

    @property
    def filters(self) -> tuple[FilterConstraint, ...]:
        """The filters, in their order."""
        return tuple(each for each in self.constraints if isinstance(each, FilterConstraint))

    def filters_of(self, var: str) -> tuple[FilterConstraint, ...]:
        """The filters of one variable, in their order."""
        return tuple(each for each in self.filters if each.var == var)

    def edges_of(self, var: str) -> tuple[EdgeConstraint, ...]:
        """The edges at one variable, in their order."""
        return tuple(each for each in self.edges if var in (each.source, each.target))

    def reached(self, start: str, without: EdgeConstraint | None = None) -> set[str]:
        """The variables that edges join to one, itself among them; by way of all edges but one."""
        found, waiting = {start}, [start]
        for here in waiting:
            edges = (each for each in self.edges_of(here) if each is not without)
            new = {end for each in edges for end in (each.source, each.target)} - found
            found |= new
            waiting += new
        return found

    def to_json(self) -> dict[str, Any]:
        """The JSON form of the paper, with what goes beyond it where it is used."""
        return self.model_dump(mode="json", by_alias=True)


def words_of(constraint: Constraint) -> str:
    """Return a constraint as a person writes it: ``e from p``, ``p.name = Jane Doe``."""
    if isinstance(constraint, EdgeConstraint):
        return f"{constraint.source} {constraint.edge} {constraint.target}"
    return f"{constraint.var}.{constraint.field} {constraint.op} {constraint.value}"


@dataclass(frozen=True, slots=True)
class ParsedRequest:
    """A graph without faults under its domain."""

    graph: QueryGraph
    notes: tuple[str, ...] = ()  # what was assumed or left out, and how each date was read; one sentence each
    left_out: tuple[str, ...] = ()  # of these, what names or narrows something and is not in the graph


# Texts, and those of them in quotation marks → for each that is a name in the data: the types it is of, and the name as
# written there
FindNames: TypeAlias = Callable[[Sequence[str], Sequence[str]], Mapping[str, Sequence[tuple[str, str]]]]


class Parser(Protocol):
    """Turns words into graphs. May be used by several threads at once."""

    name: str

    def parse(
        self, request: str, domain: Domain, today: date, *, best_effort: bool = False, names: FindNames | None = None
    ) -> ParsedRequest:
        """Return the graph of a request; it has no faults under the domain, and each of its dates can be read.

        :param best_effort: whether a graph that lacks a part of the request is returned too, with what was left out.
        :param names: looks up which texts are names in the data; a model takes names as the request writes them.
        :raises InvalidArgumentError: when a word of the request is not known, or no graph without faults was found.
        """
        ...


def request_text(request: str) -> str:
    """A request with single blanks; raises InvalidArgumentError when it is empty or a novel."""
    text = " ".join(request.split())
    if not text or len(text) > _MAX_CHARS:
        problem = f"a request has 1 to {_MAX_CHARS} characters"
        raise InvalidArgumentError(problem, subject="request", remedy="Write one sentence")
    return text


class GoldRequest(BaseModel):
    """One request.

    :param split: rules may be written in view of ``dev``, never of ``test``.
    :param paper: whether it stands in the paper QueryWeaver.
    :param hops: number of edges of the graph.
    """

    model_config = ConfigDict(frozen=True)

    id: str
    split: Literal["dev", "test"]
    paper: bool
    hops: int = Field(ge=0)
    request: str
    graph: QueryGraph

    @property
    def domain(self) -> str:
        """The name of its domain."""
        return self.id.rpartition("-")[0]


@cache
def request_set(domain: str) -> tuple[GoldRequest, ...]:
    """Return the requests of a shipped domain; of any other domain there are none."""
    path = _REQUESTS / f"{domain}.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    return tuple(map(GoldRequest.model_validate_json, lines))
