"""The prompt for writes into the graph."""

from __future__ import annotations

from collections.abc import Sequence

from planners.kgot.kgot_task import MadeCall, TaskView
from planners.kgot.llm.view_inputs import view_inputs
from planners.stores.property_graph import Language

__all__ = ["OPERATIONS", "WRITE_GRAPH", "write_inputs", "write_language"]

WRITE_GRAPH = "write_graph"
"""Name of the prompt."""
OPERATIONS = "operations"
"""The language of writes that are nodes and edges as JSON."""


def write_language(language: Language) -> str:
    """Return the language of writes: that of the graph, or nodes and edges as JSON for a graph that is asked by Python."""
    return OPERATIONS if language == "python" else language


def write_inputs(view: TaskView, missing: str, answers: Sequence[MadeCall]) -> dict[str, str]:
    """Return the inputs of the prompt."""
    new = "\n\n".join(answer.text for answer in answers)
    return {**view_inputs(view), "missing_information": missing, "new_information": new}
