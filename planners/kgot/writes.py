"""Writing into the graph: each write is validated by applying it, corrected a few times, then left out; tables are loaded whole; noise is removed."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any, NamedTuple, TypeAlias

from ontology.errors import StatementError
from ontology.names import noun_lemma, words
from planners.calls.clean_values import clean_text
from planners.journal.step_log import emit, in_order
from planners.kgot.contained_parts import said
from planners.kgot.kgot_events import DroppedWrite, NoiseRemoved, Written
from planners.kgot.run_state import RunState
from planners.stores.graph_noise import NoiseRemoval, merge_duplicates, remove_irrelevant
from planners.stores.property_graph import InsertNode, MergeEdge, MergeNode, Operation, Statement, Value

__all__ = ["Table", "apply_writes", "load_table", "remove_noise", "table_of"]

_Outcome: TypeAlias = Operation | DroppedWrite

_LEAST_ROWS = 51  # of a table: fewer rows a model writes itself, in one answer
_SAMPLES = 5  # rows of a table in a prompt
_LEAST_CHARS = 4
"""Of a word of the task that a node may hold: shorter ones (who, and, the) name nothing. More words keep more nodes."""
_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"", re.DOTALL)
_NODE = re.compile(r"\(\s*(\w*)\s*(?::\s*(\w+))?\s*(?=[{)])")
_ANY_NODE = re.compile(
    r"[*`]|\b(?:WITH|UNWIND|DELETE|DETACH|REMOVE|OPTIONAL|UNION|CALL|FOREACH|EXISTS|COUNT|ON)\b|\bSET\b[^{}()]*:",
    re.IGNORECASE,
)
"""What lets a statement touch nodes that its patterns do not name by a label."""


async def apply_writes(run: RunState, operations: Sequence[Operation]) -> Written:
    """Apply operations, chains at once, and return what was written. The final graph is that of their serial order."""
    chains = _chains(operations)
    ended = await in_order([_chain(run, [operations[at] for at in chain]) for chain in chains])
    outcomes: dict[int, _Outcome] = {}
    for chain, results in zip(chains, ended, strict=True):
        outcomes.update(zip(chain, results, strict=True))
    ordered = [outcomes[at] for at in range(len(operations))]
    return Written(
        iteration=run.iteration,
        operations=tuple(each for each in ordered if not isinstance(each, DroppedWrite)),
        dropped=tuple(each for each in ordered if isinstance(each, DroppedWrite)),
        chains=len(chains),
    )


def _chains(operations: Sequence[Operation]) -> list[list[int]]:
    """Return the indexes of operations in chains, of which no two touch nodes of one label (appendix B.5 of the paper, where a model says it).

    Where the labels of one operation are not known, as of SPARQL, there is one chain.
    """
    chains: list[tuple[set[str], list[int]]] = []
    for at, operation in enumerate(operations):
        labels = _labels(operation)
        if not labels:
            return [list(range(len(operations)))]
        joined = [chain for chain in chains if chain[0] & labels]
        indexes = sorted(each for _, chain in joined for each in chain)
        chains = [chain for chain in chains if chain not in joined]
        chains.append((labels.union(*(others for others, _ in joined)), [*indexes, at]))
    return sorted(indexes for _, indexes in chains)


def _labels(operation: Operation) -> set[str]:
    """Return the labels of the nodes that a write can touch; none where they are not known."""
    match operation:
        case MergeNode():
            return {operation.node.label.casefold()}
        case MergeEdge():
            return {operation.source.label.casefold(), operation.target.label.casefold()}
        case Statement():
            text = _QUOTED.sub("''", operation.text)
            nodes = _NODE.findall(text)
            named = {variable for variable, label in nodes if label}
            if (
                _ANY_NODE.search(text)
                or len(nodes) != text.count("(")
                or any(not n[1] and n[0] not in named for n in nodes)
            ):
                return set()
            return {label.casefold() for _, label in nodes if label}
    return set()


async def _chain(run: RunState, operations: Sequence[Operation]) -> list[_Outcome]:
    """Apply the writes of a chain as a whole; where that fails, one by one."""
    if len(operations) > 1:
        try:
            await run.graph.apply(operations)
        except Exception:
            pass  # one by one it shows which, and that one is corrected
        else:
            return list(operations)
    return [await _one(run, operation) for operation in operations]


async def _one(run: RunState, operation: Operation) -> _Outcome:
    """Apply one write, corrected as often as the settings allow."""
    tried = [operation]
    fault, is_wrong = await _apply(run, operation)
    while is_wrong and len(tried) <= run.settings.max_cypher_fixing_retry:
        fixed = await run.contained("fix write", run.steps.fix_write(tried[-1], fault), None)
        if fixed is None or fixed in tried:
            break
        tried.append(fixed)
        fault, is_wrong = await _apply(run, fixed)
    if not fault:
        return tried[-1]
    run.drop("write", fault)
    return DroppedWrite(operation=tried[-1], fault=fault)


async def _apply(run: RunState, operation: Operation) -> tuple[str, bool]:
    """Apply one write and return its fault, empty where there is none, and whether another statement could do."""
    try:
        await run.graph.apply([operation])
    except StatementError as error:
        return clean_text(error.problem), True
    except Exception as error:  # the store is gone, its disk is full, or its engine met what nobody foresaw
        return said(error), False
    return "", False


class Table(NamedTuple):
    """Rows of an answer that are too many for a prompt: they become nodes, and a prompt has what :meth:`shown` says.

    :ivar label: of the nodes.
    """

    label: str
    rows: tuple[Mapping[str, Value], ...]

    def shown(self) -> dict[str, Any]:
        """Return what a model is told of it, as JSON values: where it stands, its columns with the number of their values, the first rows."""
        values: dict[str, set[Value]] = {}
        for name, value in (cell for row in self.rows for cell in row.items()):
            values.setdefault(name, set()).add(value)
        return {
            "note": f"All {len(self.rows)} rows stand in the graph already, each as a node with the label {self.label}: do not write them again.",
            "columns": {name: f"{len(found)} values" for name, found in values.items()},
            "first_rows": list(self.rows[:_SAMPLES]),
        }


def table_of(tool: str, body: Any) -> Table | None:
    """Return the table that an answer is or has under a key: a list of 51 objects or more without objects in them; None where it has none.

    :param tool: name of the tool, after which nodes are called where the answer names no file.
    """
    named = body if isinstance(body, Mapping) else {}
    lists = [each for each in (body, *named.values()) if isinstance(each, list) and len(each) >= _LEAST_ROWS]
    rows = max(lists, key=len, default=[])
    if not rows or not all(isinstance(row, Mapping) for row in rows):
        return None
    file = named.get("file")
    stem = PurePath(file).stem if isinstance(file, str) else tool
    label = "".join(word[:1].upper() + word[1:] for word in re.findall(r"[^\W_]+", stem))
    return Table(f"{label if label[:1].isalpha() else ''}Row", tuple(dict(_cells(row)) for row in rows))


def _cells(row: Mapping[Any, Any]) -> Iterator[tuple[str, Value]]:
    for name, value in row.items():
        key = re.sub(r"\W+", "_", str(name)).strip("_") or "column"
        if isinstance(value, bool | int | float | str):
            yield key, value
        elif value is not None:
            yield key, json.dumps(value, ensure_ascii=False, default=str)


async def load_table(run: RunState, table: Table) -> bool:
    """Write the rows of a table into the graph, but those that stand there of an earlier answer; return whether all of them stand there."""
    standing = run.rows.setdefault(table.label, Counter())
    keys = [frozenset(row.items()) for row in table.rows]
    left = standing - Counter()
    new = [row for key, row in zip(keys, table.rows, strict=True) if not _taken(left, key)]
    if not new:
        return True
    added = Counter(frozenset(row.items()) for row in new)
    standing.update(added)
    operations = [InsertNode(label=table.label, properties=row) for row in new]
    if await run.contained("table", _applied(run, operations), False):
        return True
    standing.subtract(added)
    return False


def _taken(left: Counter[frozenset[Any]], key: frozenset[Any]) -> bool:
    left[key] -= 1
    return left[key] >= 0


async def _applied(run: RunState, operations: Sequence[Operation]) -> bool:
    await run.graph.apply(operations)
    return True


async def remove_noise(run: RunState) -> None:
    """Remove near-duplicates, and by setting what joins to nothing that is asked; tell what, so that it can be taken back (appendix B.6)."""
    await _remove(run, merge_duplicates(run.state))
    if run.settings.noise == "all":
        await _remove(run, remove_irrelevant(run.state, _asked_terms(run.task.question)))


async def _remove(run: RunState, removal: NoiseRemoval) -> None:
    if removal.removed and await run.contained("noise", _applied(run, removal.operations), False):
        emit(NoiseRemoved(iteration=run.iteration, removed=removal.removed, merged=removal.merged))
        await run.read_graph()


def _asked_terms(question: str) -> list[str]:
    """Return the words of a task that a node may hold: numbers, and words with four letters or more, also in the singular."""
    found = [word for word in words(question) if word.isdigit() or len(word) >= _LEAST_CHARS]
    return list(dict.fromkeys(term for word in found for term in (word, noun_lemma(word))))
