"""One run of ``egotools solve``: catalogue, parts and journal are opened, the task is solved or its run replayed."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from egotools import AsyncClient
from ontology.errors import InvalidArgumentError
from planners.calls.tool_access import Ask, ToolAccess
from planners.journal.run_journal import RunAccount, RunJournal, account_of, open_run_journal, read_run_journal
from planners.kgot.kgot_controller import KgotRun
from planners.kgot.kgot_task import KgotEvent, KgotTask
from planners.kgot.recorded_run import OtherRunError, header_of, replay_recorded, solve_recorded
from planners.kgot.steps import steps_factory
from services.cli.tools_client import tools_client
from services.jobs.cached_store import integrated_store
from services.jobs.solve_parts import SolveTools, open_solve_parts
from services.jobs.solve_plan import SolvePlan

__all__ = ["Catalogue", "Solved", "opened_tools", "replay", "solve"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalogue:
    """Where tools are found.

    :param store: of the tools; None and no server: the integrated tools alone.
    :param server: address of a running server.
    :param cache: folder for the store of the integrated tools; the user's cache where None.
    """

    store: Path | None = None
    server: str = ""
    allowed_models: tuple[str, ...] = ()
    cache: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Solved:
    """What came of a run."""

    run: KgotRun
    account: RunAccount


@contextlib.asynccontextmanager
async def opened_tools(catalogue: Catalogue, access: ToolAccess, ask: Ask) -> AsyncIterator[SolveTools]:
    """Open the catalogues, and close them at the end."""
    async with contextlib.AsyncExitStack() as stack:
        own = await stack.enter_async_context(tools_client("", integrated_store(catalogue.cache)))
        given: AsyncClient | None = None
        if catalogue.server or catalogue.store is not None:
            store = catalogue.store or Path()
            given = await stack.enter_async_context(tools_client(catalogue.server, store, catalogue.allowed_models))
        yield SolveTools(client=given or own, own=own if given is not None else None, access=access, ask=ask)


async def solve(
    plan: SolvePlan,
    catalogue: Catalogue,
    task: KgotTask,
    access: ToolAccess,
    ask: Ask,
    *,
    journal: Path | None,
    observe: Callable[[KgotEvent], None],
    unusable: Callable[[Mapping[str, str]], None],
) -> Solved:
    """Solve a task, or go on with its run.

    :param journal: None: it is kept in a temporary folder and removed at the end.
    :raises EgotoolsError: when a part cannot be opened, or the journal is of another run.
    :raises ClientError: when the server does not answer.
    """
    with _journal(journal) as kept:
        async with (
            opened_tools(catalogue, access, ask) as tools,
            open_solve_parts(plan, tools, task, kept, unusable=unusable) as parts,
        ):
            try:
                run = await solve_recorded(task, kept, parts, observe=observe)
            except OtherRunError as error:
                raise _other_run(error, str(journal)) from error
        return Solved(run=run, account=account_of(kept.records))


async def replay(path: Path, observe: Callable[[KgotEvent], None]) -> Solved:
    """Take the steps of a finished run again; nobody is asked and nothing is called.

    :raises InvalidArgumentError: when it is the journal of no finished run, or the replay differs.
    """
    journal = read_run_journal(path)
    header = header_of(journal)
    if header is None:
        raise InvalidArgumentError("the journal is empty", subject=str(path), remedy="Name the journal of a run")
    if not {"graph", "tool"} <= header.models.keys():
        problem = "the journal does not say who took its steps"
        raise InvalidArgumentError(problem, subject=str(path), remedy="Name the journal of a whole run")
    make = steps_factory(language=header.language, settings=header.replay_settings)
    run = await replay_recorded(journal, make, observe=observe)
    return Solved(run=run, account=account_of(journal.records))


_WORDS = {
    "files": "--file",
    "graph": "--graph",
    "language": "--graph",
    "models": "--llm-model",
    "num_next_steps_decision": "--votes",
    "question": "the question",
}
"""What a run must agree in → its option, where that has another name."""


def _other_run(error: OtherRunError, journal: str) -> InvalidArgumentError:
    """Return the error with the names of options."""
    named = dict.fromkeys(_WORDS.get(each, f"--{each.replace('_', '-')}") for each in error.differing)
    return InvalidArgumentError(
        f"it is the journal of another run, which differs in {', '.join(named)}",
        subject=journal,
        remedy="Give a new file, or the same question and options; to see a finished run, add --replay",
    )


@contextlib.contextmanager
def _journal(path: Path | None) -> Iterator[RunJournal]:
    with contextlib.ExitStack() as stack:
        if path is None:
            path = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="egotools-run-"))) / "run.jsonl"
        yield stack.enter_context(open_run_journal(path))
