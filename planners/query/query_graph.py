"""The query graph of a request: typed variables, typed edges between them, filters, an action, a return variable and a return mode.

The JSON form is that of the paper QueryWeaver (section 4.1): ``G = (V, E, F, a, r, m)``. Whether a graph fits a domain is checked by
:mod:`planners.query.graph_faults`; here only its form is.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["MAX_VARS", "Constraint", "EdgeConstraint", "FilterConstraint", "QueryGraph", "words_of"]

_Name: TypeAlias = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
MAX_VARS = 24
"""The most variables of a graph."""
_MAX_CONSTRAINTS = 64


class _Form(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, strict=True)


class EdgeConstraint(_Form):
    """An edge between two variables, written in the direction of the domain; it is traversed in either."""

    kind: Literal["edge"] = "edge"
    source: _Name = Field(alias="from")
    edge: _Name
    target: _Name = Field(alias="to")


class FilterConstraint(_Form):
    """A condition on a field of a variable."""

    kind: Literal["filter"] = "filter"
    var: _Name
    field: _Name
    op: Literal["=", "contains", "<", ">"]
    value: str | int | float | bool


Constraint: TypeAlias = Annotated[EdgeConstraint | FilterConstraint, Field(discriminator="kind")]


class QueryGraph(_Form):
    """A request as a graph.

    :param vars: variable → type of entity.
    :param return_mode: ``one`` where the words of the request force a single answer, else ``all``.
    """

    action: Literal["find", "count"]
    return_var: _Name
    return_mode: Literal["one", "all"] = "all"
    vars: dict[_Name, _Name] = Field(min_length=1, max_length=MAX_VARS)
    constraints: tuple[Constraint, ...] = Field(default=(), max_length=_MAX_CONSTRAINTS, strict=False)

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

    def to_json(self) -> dict[str, Any]:
        """The JSON form of the paper."""
        return self.model_dump(mode="json", by_alias=True)


def words_of(constraint: Constraint) -> str:
    """Return a constraint as a person writes it: ``e from p``, ``p.name = Jane Doe``."""
    if isinstance(constraint, EdgeConstraint):
        return f"{constraint.source} {constraint.edge} {constraint.target}"
    return f"{constraint.var}.{constraint.field} {constraint.op} {constraint.value}"
