"""Writing into the graph: each write is validated by applying it, corrected a few times, then left out; tables are loaded whole; noise is removed."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any, NamedTuple

from ontology.errors import StatementError
from ontology.names import noun_lemma, words
from planners.calls.untrusted import clean_text
from planners.journal.recorded import error_text as said
from planners.journal.step_log import emit
from planners.kgot.kgot_events import DroppedWrite, NoiseRemoved, Written
from planners.kgot.run_state import RunState, value_counts
from planners.stores.property_graph import (
    InsertNode,
    NoiseRemoval,
    Operation,
    Value,
    merge_duplicates,
    remove_irrelevant,
)

__all__ = ["Table", "apply_writes", "load_table", "remove_noise", "table_of"]

_LEAST_ROWS = 51  # of a table: fewer rows a model writes itself, in one answer
_DESCRIBING = ("file", "kind", "pages", "columns", "row_count")  # members that say nothing beside all rows
_SAMPLES = 5  # rows of a table in a prompt
_LEAST_CHARS = 4
"""Of a word of the task that a node may hold: shorter ones (who, and, the) name nothing. More words keep more nodes."""


async def apply_writes(run: RunState, operations: Sequence[Operation]) -> Written:
    """Apply operations as a whole; where that fails, one by one, so that one that is refused can be corrected. Return what was written."""
    outcomes: list[Operation | DroppedWrite] = list(operations)
    if len(operations) == 1 or (operations and (await _apply(run, operations))[0]):
        outcomes = [await _one(run, operation) for operation in operations]
    return Written(
        iteration=run.iteration,
        operations=tuple(each for each in outcomes if not isinstance(each, DroppedWrite)),
        dropped=tuple(each for each in outcomes if isinstance(each, DroppedWrite)),
        chains=int(bool(operations)),
    )


async def _one(run: RunState, operation: Operation) -> Operation | DroppedWrite:
    """Apply one write, corrected as often as the settings allow."""
    tried = [operation]
    fault, is_wrong = await _apply(run, [operation])
    while is_wrong and len(tried) <= run.settings.max_cypher_fixing_retry:
        fixed = await run.contained("fix write", run.steps.fix_write(tried[-1], fault), None)
        if fixed is None or fixed in tried:
            break
        tried.append(fixed)
        fault, is_wrong = await _apply(run, [fixed])
    if not fault:
        return tried[-1]
    run.drop("write", fault)
    return DroppedWrite(operation=tried[-1], fault=fault)


async def _apply(run: RunState, operations: Sequence[Operation]) -> tuple[str, bool]:
    """Apply writes as a whole; return their fault, empty where there is none, and whether other statements could do."""
    try:
        await run.graph.apply(operations)
    except StatementError as error:
        return clean_text(error.problem), True
    except Exception as error:  # the store is gone, its disk is full, or its engine met what nobody foresaw
        return said(error), False
    return "", False


class Table(NamedTuple):
    """Rows of an answer that are too many for a prompt: they become nodes, and a prompt has what :meth:`shown` says.

    :ivar label: of the nodes.
    :ivar rest: of the answer, for example where its next page is.
    """

    label: str
    rows: tuple[Mapping[str, Value], ...]
    rest: Mapping[str, Any]

    def shown(self) -> dict[str, Any]:
        """Return what a model is told of it, as JSON values: where it stands, its columns with the number of their values, the first rows."""
        return {
            **self.rest,
            "note": f"All {len(self.rows)} rows stand in the graph already, each as a node with the label {self.label}: do not write them again.",
            "columns": value_counts(self.rows),
            "first_rows": list(self.rows[:_SAMPLES]),
        }


def table_of(tool: str, body: Any) -> Table | None:
    """Return the table that an answer is or has under a key: a list of 51 objects or more; None where it has none.

    :param tool: name of the tool, after which nodes are called where the answer names no file.
    """
    named = body if isinstance(body, Mapping) else {}
    lists = [each for each in (body, *named.values()) if isinstance(each, list)]
    rows = max(lists, key=len, default=[])
    if len(rows) < _LEAST_ROWS or not all(isinstance(row, Mapping) for row in rows):
        return None
    file = named.get("file")
    stem = PurePath(file).stem if isinstance(file, str) else tool
    label = "".join(word[:1].upper() + word[1:] for word in re.findall(r"[^\W_]+", stem))
    described = _DESCRIBING if named.get("row_count") == len(rows) else ()
    rest = {name: value for name, value in named.items() if value is not rows and name not in described}
    return Table(f"{label if label[:1].isalpha() else ''}Row", tuple(dict(_cells(row)) for row in rows), rest)


def _cells(row: Mapping[Any, Any]) -> Iterator[tuple[str, Value]]:
    used = Counter[str]()
    for name, value in row.items():
        key = re.sub(r"\W+", "_", str(name)).strip("_") or "column"
        used[key] += 1
        key += "_" * (used[key] - 1)
        if isinstance(value, bool | int | float | str):
            yield key, value
        elif value is not None:
            yield key, json.dumps(value, ensure_ascii=False, default=str)


async def load_table(run: RunState, table: Table) -> bool:
    """Write the rows of a table into the graph, but those that stand there of an earlier answer; return whether all of them stand there."""
    known = run.rows.setdefault(table.label, set())
    new = {at: key for at, row in enumerate(table.rows) if (key := frozenset(row.items())) not in known}
    known.update(new.values())
    rows = [InsertNode(label=table.label, properties=table.rows[at]) for at in new]
    if rows and not await run.contained("table", _applied(run, rows), False):
        known.difference_update(new.values())
        return False
    return True


async def _applied(run: RunState, operations: Sequence[Operation]) -> bool:
    await run.graph.apply(operations)
    return True


async def remove_noise(run: RunState) -> None:
    """Remove near-duplicates, and by setting what joins to nothing that is asked; tell what, so that it can be taken back (appendix B.6)."""
    await _remove(run, merge_duplicates(run.state))
    if run.settings.noise == "all":
        await _remove(run, remove_irrelevant(run.state, _asked_terms(run.task.question)))


async def _remove(run: RunState, removal: NoiseRemoval) -> None:
    if not removal.removed:
        return
    if await run.contained("noise", _applied(run, removal.operations), False):
        emit(NoiseRemoved(iteration=run.iteration, removed=removal.removed, merged=removal.merged))
        await run.read_graph()


def _asked_terms(question: str) -> list[str]:
    """Return the words of a task that a node may hold: numbers, and words with four letters or more, also in the singular."""
    found = [word for word in words(question) if word.isdigit() or len(word) >= _LEAST_CHARS]
    return list(dict.fromkeys(term for word in found for term in (word, noun_lemma(word))))
