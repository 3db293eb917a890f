"""The world of the tasks: the shipped catalogue and the integrated tools behind a gRPC server, the mock company over HTTP, the tools of a run."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from egotools import AsyncClient
from egotools.calling.invoker import ToolInvoker
from examples.company.mock_company import served_company
from examples.company.shipped_documents import SHIPPED_CATALOG
from inference import DEFAULT_ENCODER, load_encoder
from inference.chat import ChatModel
from planners.calls.sandbox import Sandbox
from planners.calls.tool_access import CallLimits, ToolAccess, never
from planners.calls.tool_finder import Documents, ToolFinder
from planners.kgot.tools.task_files import TaskFiles
from planners.kgot.tools.tool_set import NAMESPACE, ToolModels, standard_tools
from scripts.kgot.account_tasks import AccountTask
from services.jobs.build import build_snapshot
from services.server.process import server_process

__all__ = ["TaskWorld", "task_world"]

_MOST_TOOLS = 8
_LIMITS = CallLimits(calls=1_000, seconds=3_600.0)


@dataclass(slots=True, kw_only=True)
class TaskWorld:
    """What runs of tasks share.

    :param company: calls the tools of the mock company.
    """

    client: AsyncClient
    company: ToolInvoker
    sandbox: Sandbox
    documents: Documents
    folder: Path

    def finder(self, *, auto_k: bool = False) -> ToolFinder:
        """Return what finds tools: at most eight, as many as the service chooses; or eight."""
        return ToolFinder(self.client, k=_MOST_TOOLS, auto_k=auto_k, schema_format="openai", documents=self.documents)

    async def invoker(self, task: AccountTask, model: ChatModel) -> ToolInvoker:
        """Return what calls the tools of a run: the integrated ones with the files of the task, the others at the company."""
        folder = Path(tempfile.mkdtemp(dir=self.folder))
        tools = standard_tools(TaskFiles(task.files, folder), self.sandbox, models=ToolModels(chat=model))
        await tools.ready()
        return tools.invoker(self.company)


@asynccontextmanager
async def task_world(folder: Path) -> AsyncIterator[TaskWorld]:
    """Build the catalogue in a folder, where it is not built yet, and serve it and the company until the end of the block."""
    sandbox = Sandbox()
    await sandbox.check()
    store = _built(folder, sandbox)
    runs = Path(tempfile.mkdtemp(prefix="runs-", dir=folder))
    company = runs / "company"
    company.mkdir()
    with served_company(SHIPPED_CATALOG, company) as systems, server_process(store) as server:
        async with (
            AsyncClient(server["address"]) as client,
            ToolAccess(servers=systems).calling(never, _LIMITS) as inner,
        ):
            yield TaskWorld(
                client=client,
                company=inner,
                sandbox=sandbox,
                documents=Documents(),
                folder=runs,
            )


def _built(folder: Path, sandbox: Sandbox) -> Path:
    """Return the store of the catalogue and the integrated tools."""
    documents = json.dumps(standard_tools(TaskFiles(), sandbox).documents())
    store = folder / f"store-{hashlib.sha256(documents.encode()).hexdigest()[:12]}"
    built = store / "is-built"
    if not built.exists():
        rows = folder / f"{NAMESPACE}.json"
        rows.write_text(documents, encoding="utf-8")
        build_snapshot([str(SHIPPED_CATALOG), str(rows)], store, encoder=load_encoder(DEFAULT_ENCODER))
        built.touch()
    return store
