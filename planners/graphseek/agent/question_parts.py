"""What a question's run works with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ontology.errors import InvalidArgumentError
from planners.calls.tool_finder import Finder
from planners.graphseek.adapt.operator_adapter import OperatorAdapter
from planners.graphseek.catalog.catalog import SemanticCatalog
from planners.graphseek.operators.operator import Operator
from planners.graphseek.results.result_store import ResultStore
from planners.graphseek.turn import TurnMaker
from planners.stores.graph_schema import ReadableGraph

__all__ = ["QuestionParts", "needed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionParts:
    """The parts of a run.

    :param catalog: the accepted one of the graph; an empty one where there is none.
    :param operators: all there are.
    :param results: of this run; those of the turns before it may stand in it.
    :param finder: finds operators for a question, by their names; all are offered where None.
    :param adapter: knows other versions of operators, and may ask for new ones; there are none where None.
    """

    graph: ReadableGraph
    catalog: SemanticCatalog
    operators: Sequence[Operator]
    results: ResultStore
    turns: TurnMaker
    finder: Finder | None = None
    adapter: OperatorAdapter | None = None

    def operator(self, name: str) -> Operator | None:
        """Return an operator by its name."""
        return next((each for each in self.operators if each.name == name), None)


def needed(parts: QuestionParts | None) -> QuestionParts:
    """Return the parts of a run; a replay has none, and its journal knows what each step gave.

    :raises InvalidArgumentError: when a replay needs them.
    """
    if parts is None:
        raise InvalidArgumentError(
            "the journal lacks a step of the run", subject="replay", remedy="Replay with the release that wrote it"
        )
    return parts
