"""The writer by rules: what tools answer becomes nodes and edges by its shape alone; nothing is added that the answer does not say.

An object with an identifier is one node, however often it is answered; a field that holds the identifier of another thing is an edge
to it; a row of a table is a node. Each call is a node as well, with edges to what it gave: which things a filter found stands in no
other place. Beside a model (``--write rules``) it saves the prompt and the answer of each write.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import PurePath

from planners.graphs.property_graph import Operation
from planners.kgot.kgot_task import MadeCall, TaskView
from planners.kgot.rules.answer_shapes import MOST_NODES, AnswerShapes, Known, known_identifiers
from planners.kgot.rules.made_calls import arguments_text

__all__ = ["ShapeWriter"]


class ShapeWriter:
    """Implements :class:`planners.kgot.step_makers.GraphWriter`; deterministic.

    :param most_nodes: of one answer; what is left out is counted in the node of its call.
    :param expected: tool id → field that identifies what the tool gives, or empty: some records name several things.
    """

    def __init__(self, *, most_nodes: int = MOST_NODES, expected: Callable[[str], str] = lambda tool_id: "") -> None:
        self._most_nodes = most_nodes
        self._expected = expected

    async def write(self, view: TaskView, missing: str, answers: Sequence[MadeCall]) -> tuple[Operation, ...]:
        """See :class:`planners.kgot.step_makers.GraphWriter`. A call without an answer is left out."""
        made = [answer for answer in answers if answer.ok]
        named = known_identifiers(view.graph)
        for answer in made:
            for value, things in self._shapes(view, answer, {})[0].named.items():
                named.setdefault(value, set()).update(things)
        known = {value: next(iter(things)) for value, things in named.items() if len(things) == 1}
        first: dict[str, Operation] = {}
        for answer in made:
            for each in self._shapes(view, answer, known)[1]:
                first.setdefault(repr(each), each)  # later ones lean on it
        return tuple(first.values())

    def _shapes(self, view: TaskView, answer: MadeCall, known: Known) -> tuple[AnswerShapes, list[Operation]]:
        expected = self._expected(answer.tool_id)
        shapes = AnswerShapes(known, expected=expected, most_nodes=self._most_nodes)
        return shapes, shapes.of_call(answer.tool_id, arguments_text(answer.arguments), answer.body, _named(answer))

    async def fix(self, operation: Operation, fault: str) -> None:
        """Return None: what a rule wrote is not written better by the same rule."""


def _named(answer: MadeCall) -> str:
    """Return the file that a call is about: the first argument that is the name of one, or empty."""
    texts = [each for each in answer.arguments.values() if isinstance(each, str) and PurePath(each).suffix]
    return next((each for each in texts if len(each) < 256), "")
