"""Writing into the graph: each write is validated by applying it, corrected a few times, then left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from ontology.errors import StatementError
from planners.calls.clean_values import clean_text
from planners.journal.recorded import error_text as said
from planners.journal.step_log import in_order
from planners.kgot.kgot_events import DroppedWrite, Written
from planners.kgot.run_state import RunState
from planners.kgot.write_chains import write_chains
from planners.stores.property_graph import Operation

__all__ = ["apply_writes"]

_Outcome: TypeAlias = Operation | DroppedWrite


async def apply_writes(run: RunState, operations: Sequence[Operation]) -> Written:
    """Apply operations, chains at once, and return what was written. The final graph is that of their serial order."""
    chains = write_chains(operations)
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
        fixed = await run.contained("fix write", run.makers.writer.fix(tried[-1], fault), None)
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
