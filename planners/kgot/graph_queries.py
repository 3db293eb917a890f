"""Asking the graph: a failing query is corrected, and one that gives nothing is written anew from the failed one (C.3.1 and C.4)."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from ontology.errors import StatementError
from planners.calls.clean_values import clean_text, cleaned
from planners.journal.recorded import error_text as said
from planners.journal.step_log import emit
from planners.kgot.kgot_events import Queried
from planners.kgot.run_state import RunState
from planners.kgot.step_makers import GraphReader
from planners.stores.property_graph import QueryRows

__all__ = ["GraphAsker", "rows_text"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphAsker:
    """How a graph is asked.

    :param kind: ``query`` or ``script``.
    :param ask: runs a query or a script.
    :param reader: writes and corrects them.
    """

    kind: str
    ask: Callable[[str], Awaitable[QueryRows]]
    reader: GraphReader

    async def rows(self, run: RunState, query: str, *, forced: bool = False) -> QueryRows | None:
        """Return the rows of a query or of those that replace it; None where none gives any.

        :param query: empty: the reader writes one first.
        :param forced: the limit of iterations is reached.
        """
        tried: list[str] = []
        current: str | None = query or await self._anew(run, "", forced=forced)
        for retry in range(run.settings.max_retrieve_query_retry + 1):
            if retry:
                current = await self._anew(run, tried[-1], forced=forced)
            if not current or current in tried:
                break
            rows = await self._fixed(run, current, tried)
            if rows is not None and _has_value(rows):
                return rows
        run.fruitless.extend(each for each in tried if each not in run.fruitless)
        return None

    async def _anew(self, run: RunState, wrong: str, *, forced: bool) -> str | None:
        return await run.contained("query", self.reader.query(run.view(), wrong, forced=forced), None)

    async def _fixed(self, run: RunState, query: str, tried: list[str]) -> QueryRows | None:
        """Run a query, corrected as often as the settings allow, and add to what was tried."""
        for fix in range(run.settings.max_cypher_fixing_retry + 1):
            tried.append(query)
            try:
                rows = cleaned(await self.ask(query))
            except StatementError as error:
                fault = run.faults[query] = clean_text(error.problem)
                emit(Queried(iteration=run.iteration, kind=self.kind, query=query, fault=fault))
            except Exception as error:  # of the store, or of the sandbox: another query would not mend it
                run.faults[query] = said(error)
                raise
            else:
                run.faults.pop(query, None)
                emit(Queried(iteration=run.iteration, kind=self.kind, query=query, rows=rows))
                return rows
            if fix == run.settings.max_cypher_fixing_retry:
                break
            fixed = await run.contained("fix query", self.reader.fix(query, fault), None)
            if not fixed or fixed in tried:
                break
            query = fixed
        return None


def rows_text(rows: QueryRows, most: int) -> str:
    """Return rows on one line as a JSON list of objects by column; as lists where two columns have one name.

    :param most: characters of the list. Rows beyond are left out, and a second line says so; of a first row that is longer, each value is cut.
    """
    by_name = len(set(rows.columns)) == len(rows.columns)
    shown: list[str] = []
    size = 0
    for row in rows.rows:
        text = _row_text(rows.columns if by_name else (), row)
        if len(text) > most and not shown:
            text = _row_text(rows.columns if by_name else (), [_cut(value, most // len(row)) for value in row])
        size += len(text) + 2
        if size > most and shown:
            break
        shown.append(text)
    line = f"[{', '.join(shown)}]"
    left_out = len(rows.rows) - len(shown)
    if not left_out and not rows.cut:
        return line
    return f"{line}\n({f'{left_out} more rows' if left_out and not rows.cut else 'more rows'} are left out)"


def _row_text(columns: Sequence[str], row: Sequence[object]) -> str:
    value = dict(zip(columns, row, strict=True)) if columns else list(row)
    return json.dumps(value, ensure_ascii=False, default=str)


def _cut(value: object, most: int) -> object:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return f"{text[:most]}…" if len(text) > most else value


def _has_value(rows: QueryRows) -> bool:
    return any(value not in (None, "", [], ()) for row in rows.rows for value in row)
