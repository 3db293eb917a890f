"""The searches of the twenty tasks alone, by each preset: ``python -m research.agent_runs.search_presets``.

A task counts where each of its tools is among ten of the search for its step, what was called before being said as done. Nothing is called.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from research.agent_runs.agent_world import Task, build_catalogue, read_tasks
from scripts.run_command import run_command
from services.threads import pin_threads

if TYPE_CHECKING:
    from retrieval.retriever import Retriever

_PRESETS = ("default", "fusion", "rrf", "semantic", "bm25")
_TOOLS = 10


def main() -> None:
    """Print for each preset the tasks that are complete: by words for each step, and by the request itself."""
    pin_threads()
    from retrieval.engine import open_engine
    from retrieval.query.request import Request

    def is_complete(retriever: Retriever, task: Task, words: str, auto_k: bool) -> bool:
        done: list[str] = []
        for call in task.calls:
            query = call["need"] if words == "need" else task.request
            asked = Request(query=query, k=_TOOLS, auto_k=auto_k, done=tuple(done), explain=False)
            if call["tool"] not in {tool.id for tool in retriever.retrieve(asked).tools}:
                return False
            done.append(call["tool"])
        return True

    with tempfile.TemporaryDirectory(prefix="egotools-agents-") as name:
        build_catalogue(Path(name) / "store", Path(name))
        engine = open_engine(Path(name) / "store")
        tasks = read_tasks()
        for preset in _PRESETS:
            retriever = engine.retriever(preset)
            for auto_k in (False, True) if preset == "default" else (False,):
                need, request = (
                    sum(is_complete(retriever, task, words, auto_k) for task in tasks) for words in ("need", "request")
                )
                cut = ", only the likely tools" if auto_k else ""
                print(f"{preset}{cut}: {need} of {len(tasks)} by need, {request} by request")


if __name__ == "__main__":
    run_command(main)
