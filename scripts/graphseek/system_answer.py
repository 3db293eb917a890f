"""What a system answered to a question of the account, and what a run's results show."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from planners.graphseek.operators.pattern import NodeReader
from planners.graphseek.results import ResultStore
from scripts.graphseek.account_graph import AccountGraph
from scripts.graphseek.answer_score import Answer, Table

__all__ = ["SystemAnswer", "shown_tables"]

_MOST_ROWS = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemAnswer:
    """An answer.

    :param steps: that were taken, or attempts.
    :param last: the last query or the operators, for whoever reads the rows.
    """

    answer: Answer
    outcome: str
    steps: int
    last: str = ""


async def shown_tables(graph: AccountGraph, results: ResultStore, of: Sequence[str]) -> list[Table]:
    """Return the results that an answer rests on as tables; a graph is a column of names for each type of nodes."""
    reader = NodeReader(graph.schema, graph.catalog)
    tables: list[Table] = []
    for handle in of:
        shown = (await results.presentation(handle)).of if handle.startswith("p") else handle
        found = results.result(shown)
        if found.kind == "table":
            rows = await results.rows(shown, limit=_MOST_ROWS)
            tables.append({column.name: [row[at] for row in rows] for at, column in enumerate(found.columns)})
        else:
            names: dict[str, list[object]] = defaultdict(list)
            for node in (await results.graph(shown)).nodes:
                names[node.type].append(reader.name(node))
            tables.append(names)
    return tables
