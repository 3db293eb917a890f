"""The seam of operators: a name, a schema of arguments made from the graph's own, and a function that gives a result."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

from planners.graphseek.catalog.semantic_catalog import SemanticCatalog
from planners.graphseek.dialects.cypher_text import Compiled, Dialect
from planners.graphseek.dialects.known_dialects import DIALECTS
from planners.graphseek.results.result import Result
from planners.graphseek.results.result_store import ResultStore
from planners.stores.graph_schema import GraphSchema, ReadableGraph

__all__ = ["Group", "Operator", "OperatorContext", "OperatorFault"]

Group: TypeAlias = Literal["graph data", "retrieval", "presentation", "agent"]
"""Section 3.1 of the paper."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorContext:
    """What an operator works with.

    :param schema: as the graph has it now.
    :param catalog: the accepted one; an empty one where there is none.
    :param seconds: that one query may take.
    :param ran: is told each query before it is run, for the trace.
    :param subtask: answers a request with a context of its own; None where this is one already.
    """

    graph: ReadableGraph
    schema: GraphSchema
    catalog: SemanticCatalog
    results: ResultStore
    seconds: float
    ran: Callable[[Compiled], None] = lambda compiled: None
    subtask: Callable[[str, Sequence[str]], Awaitable[Result]] | None = None

    @property
    def dialect(self) -> Dialect:
        """In which the graph is asked."""
        return DIALECTS[self.graph.dialect]


class OperatorFault(Exception):  # the paper's word for what comes back to the plan
    """An invocation that failed, as the next step is told.

    :param kind: what happened.
    :param problem: one sentence.
    :param hint: what to do instead; one sentence.
    """

    def __init__(
        self,
        kind: Literal[
            "arguments",
            "unknown name",
            "no such handle",
            "empty",
            "too large",
            "timeout",
            "refused",
            "engine",
            "repeated",
        ],
        problem: str,
        hint: str,
    ) -> None:
        super().__init__(f"{problem}. {hint}")
        self.kind = kind
        self.problem = problem
        self.hint = hint


class Operator(Protocol):
    """One operator. Its module has ``OPERATOR``, and the registry finds it there."""

    @property
    def name(self) -> str:
        """As plans write it."""
        ...

    @property
    def group(self) -> Group:
        """The group that it belongs to."""
        ...

    @property
    def description(self) -> str:
        """What it does and when to take it: its descriptor, and the text that the search for operators reads; at most 400 characters."""
        ...

    def parameters(self, schema: GraphSchema, handles: Sequence[str]) -> dict[str, Any]:
        """Return the JSON schema of its arguments: types, relationships and properties are enums of the schema, handles of the run."""
        ...

    async def run(self, arguments: Mapping[str, Any], context: OperatorContext) -> Result:
        """Run it. Arguments are inside the schema of its parameters.

        :raises OperatorFault: for what the plan can correct.
        :raises StorageError: when the graph or the disk is gone.
        """
        ...
