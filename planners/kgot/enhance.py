"""Enlarging the graph: what is missing, tools for it, their calls, and their answers as writes (appendix C.2 of the paper).

The paper binds every tool into the prompt; here a search with the missing information finds the few that fit.
"""

from __future__ import annotations

from collections.abc import Sequence

from planners.journal.step_log import emit
from planners.kgot.graph_writes import apply_writes
from planners.kgot.kgot_events import Missing, ToolsFound
from planners.kgot.noise_step import remove_noise
from planners.kgot.run_state import RunState
from planners.kgot.tool_calling import call_tools, wanted_calls

__all__ = ["enhance", "missing_without_reasons"]

_MISSING_CHARS = 4_000  # of a text that a model wrote; a search takes 20,000


async def enhance(run: RunState, reasons: Sequence[str]) -> None:
    """Enlarge the graph once, and tell it as it is then.

    :param reasons: of the votes; without one, the task itself is what is missing.
    """
    await run.contained("enhance", _enlarge(run, reasons), None)
    await run.read_graph()
    if run.settings.noise != "keep":
        await remove_noise(run)


async def _enlarge(run: RunState, reasons: Sequence[str]) -> None:
    run.missing = await _missing(run, reasons)
    emit(Missing(iteration=run.iteration, text=run.missing))
    found = await run.contained("find", run.finder.find(run.missing), None)
    if found is None:
        return
    emit(
        ToolsFound(
            iteration=run.iteration,
            tool_ids=tuple(each.tool.id for each in found.tools),
            snapshot_id=found.snapshot_id,
        )
    )
    if not found.tools:
        run.drop("calls", "no tool fits what is missing")
        return
    calls = await wanted_calls(run, run.missing, found)
    before = run.view()  # the new answers go beside it
    made = await call_tools(run, calls, found)
    answers = [call for call in made if call.ok]
    if not answers:
        return
    operations = await run.contained("write", run.makers.writer.write(before, run.missing, answers), ())
    emit(await apply_writes(run, operations))


def missing_without_reasons(run: RunState) -> str:
    """Return what is missing where no vote says it: the task itself."""
    return run.task.question.strip()[:_MISSING_CHARS]


async def _missing(run: RunState, reasons: Sequence[str]) -> str:
    if not reasons:
        return missing_without_reasons(run)
    text = await run.contained("missing", run.makers.chooser.missing(run.view(), reasons), "")
    return (text.strip() or "\n".join(reasons))[:_MISSING_CHARS]
