"""Answers to questions about tables without a server, a store or a process: read, bound, asked in Python, said."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from datagen.kgot_tasks.task_rows import task_rows
from planners.graphs.property_graph import GraphNode, GraphState
from planners.kgot.asked import Unreadable
from planners.kgot.rules.answer_forms import final_text, maths_code
from planners.kgot.rules.bound_question import bind_question
from planners.kgot.rules.compiled_question import compiled
from planners.kgot.rules.graph_facts import GraphFacts
from planners.kgot.rules.resolved_question import ResolvedQuestion
from planners.kgot.rules.run_needs import RulesMemory
from planners.kgot.rules.shape_names import property_name, table_label
from services.task_reading.question_reader import DfsQuestionReader

__all__ = ["answered", "shipped"]

_READER = DfsQuestionReader(today=date(2026, 11, 20))


def shipped(*names: str) -> dict[str, Sequence[Mapping[str, Any]]]:
    """The rows of shipped tables by the names of their files."""
    return {f"{name}.csv": task_rows()[name] for name in names}


def answered(question: str, tables: Mapping[str, Sequence[Mapping[str, Any]]]) -> tuple[str, str]:
    """Return the answer to a question about tables, and why there is none.

    :param tables: rows by the name of their file.
    """
    import networkx

    state = _state(tables)
    facts = GraphFacts.of(state)
    asked = _READER.read(question, facts.tables(), list(tables))
    if isinstance(asked, Unreadable):
        return "", asked.reason
    if asked.expression:
        return str(eval(asked.expression)), ""
    found = bind_question(asked, facts, (), RulesMemory())
    if not isinstance(found, ResolvedQuestion):
        assert isinstance(found, Unreadable), found
        return "", found.reason
    graph: Any = networkx.MultiDiGraph()
    for node in state.nodes:
        graph.add_node(node.id, label=node.label, **node.properties)
    space: dict[str, Any] = {"G": graph}
    exec(compiled(found, "python"), space)
    partial = json.dumps(space["result"])
    if code := maths_code(asked, partial):
        with contextlib.redirect_stdout(said := io.StringIO()):
            exec(code, {})
        partial += f"\nComputed: {said.getvalue().strip()}"
    return final_text(asked, partial) or "", "nothing was found"


def _state(tables: Mapping[str, Sequence[Mapping[str, Any]]]) -> GraphState:
    rows = [
        (
            table_label(file.rpartition(".")[0]),
            {"of": f"{file}#1", "row": at, **{property_name(k): v for k, v in row.items()}},
        )
        for file, held in tables.items()
        for at, row in enumerate(held, start=1)
    ]
    return GraphState(
        nodes=tuple(
            GraphNode(id=f"n{number}", label=label, properties=properties)
            for number, (label, properties) in enumerate(rows, start=1)
        )
    )
