"""What the interpreter in a sandbox runs first: it takes the limits, gives up its user, then runs the code.

Its text is given to the interpreter, which sees nothing else of this package; so it imports only the standard library.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import select
import sys
import time
import traceback
from types import TracebackType
from typing import Any

__all__ = ["start"]

_PATIENCE_S = 10.0
_NICENESS = 10  # other processes of the machine go first


def start(options: dict[str, Any]) -> None:
    """Take the limits, then run the code as the main module.

    :param options: ``code``: path of the code; ``lifeline``: a pipe that whoever started the sandbox holds open; ``path``: further folders of modules; ``uid``: to become, or None;
        ``limits``: name of a limit → its soft and its hard value.
    """
    _await_first_process(options["lifeline"])
    os.nice(_NICENESS)
    if options["uid"] is not None:
        os.setgroups([])
        os.setresgid(options["uid"], options["uid"], options["uid"])
        os.setresuid(options["uid"], options["uid"], options["uid"])
    os.closerange(3, max(options["lifeline"] + 1, options["limits"]["RLIMIT_NOFILE"][1]))
    for name, (soft, hard) in options["limits"].items():
        resource.setrlimit(getattr(resource, name), (soft, hard))
    sys.path.extend(options["path"])
    sys.argv[:] = [options["code"]]
    _run(options["code"])


def _await_first_process(lifeline: int) -> None:
    """Wait until the first process of the sandbox dies with its parent, then end where that parent is gone already.

    ``bwrap`` takes the filter right after it has asked to die with its parent. Without this, what is killed in its first milliseconds
    would leave an interpreter that nobody ends.
    """
    end = time.monotonic() + _PATIENCE_S
    while "\nSeccomp:\t2\n" not in _status_of_first():
        if time.monotonic() > end:
            sys.exit("the first process of the sandbox has no filter")
        time.sleep(0.001)
    held = select.poll()  # select() takes no descriptor above 1,023, and a server has more
    held.register(lifeline, select.POLLIN)
    if held.poll(0):
        os._exit(1)


def _status_of_first() -> str:
    with open("/proc/1/status", encoding="utf-8") as file:
        return file.read()


def _run(path: str) -> None:
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        text = file.read()
    names = {"__name__": "__main__", "__file__": path, "__builtins__": __builtins__}
    sys.modules["__main__"].__dict__.update(names)
    try:
        exec(compile(text, path, "exec"), sys.modules["__main__"].__dict__)
    except Exception as error:
        with contextlib.suppress(OSError):
            sys.stdout.flush()
        traceback.print_exception(error.with_traceback(_of_code(error.__traceback__)))
        sys.exit(1)


def _of_code(frames: TracebackType | None) -> TracebackType | None:
    """Leave out the frame of this module."""
    return frames.tb_next if frames is not None else None


if __name__ == "__main__":
    start(json.loads(sys.argv[1]))
