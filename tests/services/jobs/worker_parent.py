"""A program that has a worker of tools. The worker prints its process number, and is busy for minutes."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from services.jobs.tools_worker import ToolsWorker


def busy(ontology: Path | None, argument: Any) -> None:
    """Print the number of the process, and be busy for ten minutes."""
    os.write(1, f"{os.getpid()}\n".encode())
    time.sleep(600)


if __name__ == "__main__":
    from tests.services.jobs import worker_parent  # the worker imports the function by the name of its module

    ToolsWorker()._run(worker_parent.busy, None, 1)
