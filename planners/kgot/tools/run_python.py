"""The tool that runs Python, in the sandbox, with the files of the task in its working folder."""

from __future__ import annotations

from collections.abc import Sequence

from egotools.calling.tool_answer import ToolAnswer
from planners.calls.sandbox import Sandbox
from planners.kgot.tools.task_files import TaskFiles
from planners.kgot.tools.tool_set import ToolSet

__all__ = ["PythonRunner", "register_run_python"]

_STARTING_S = 30.0  # files are copied before; the sandbox ends the code itself
_WHY = {
    "timeout": "the code took longer than {0.seconds:g} s",
    "output": "the code wrote more than {0.output_bytes:,} bytes",
    "killed": "the code was ended: too much memory, or a call that is not allowed",
}


class PythonRunner:
    """Runs code of a model."""

    def __init__(self, sandbox: Sandbox, files: TaskFiles) -> None:
        self._sandbox = sandbox
        self._files = files

    async def check(self) -> None:
        """Find out whether code can be isolated here.

        :raises IsolationError: when it cannot.
        """
        await self._sandbox.check()

    async def run_python(self, code: str, files: Sequence[str] | None = None) -> ToolAnswer:
        """Run code. The body is ``{"stdout": …}``; of code that failed also ``stderr`` and ``error``, and then it is not ``ok``.

        :param files: names of those that the code sees; None: all of the task.
        :raises ToolRequestError: for a name that the task does not have.
        :raises TooLargeError: when the files are together larger than a run may have.
        :raises IsolationError: when code cannot be isolated here; nothing was run.
        """
        chosen = self._files.all() if files is None else {name: self._files.find(name) for name in files}
        result = await self._sandbox.run(code, files=chosen)
        if result.ended == "ok":
            return ToolAnswer(ok=True, status="ok", body={"stdout": result.stdout})
        why = _WHY.get(result.ended, "the code raised an error").format(self._sandbox.limits)
        body = {"error": why, "stdout": result.stdout, "stderr": result.stderr}
        return ToolAnswer(ok=False, status=result.ended, body=body)


def register_run_python(tools: ToolSet, files: TaskFiles, sandbox: Sandbox) -> str:
    """Register the tool and return its id."""
    runner = PythonRunner(sandbox, files)
    return tools.register(
        runner.run_python,
        name="run_python",
        description=(
            "Run Python code and return what it prints: calculations, statistics, sorting and counting, dates, text processing,"
            " simulations, reading the files of the task by their names. Print every result. The code has no network, no other files,"
            f" no child processes, and {sandbox.limits.seconds:g} seconds."
        ),
        inputs={
            "code": {"type": "string", "description": "Python 3 that prints its results."},
            "files": {
                "type": "array",
                "items": {"type": "string"},
                "description": "Names of the files that the code opens; without it, all files of the task.",
            },
        },
        required=("code",),
        outputs={"stdout": {"type": "string", "description": "What the code printed."}},
        check=runner.check,
        timeout_s=sandbox.limits.seconds + _STARTING_S,
    )
