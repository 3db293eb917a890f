"""Python of a model in a process of its own: no network, no secrets, a read-only root, a folder that vanishes, limits of time and memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

__all__ = ["Sandbox", "SandboxLimits", "SandboxResult"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxLimits:
    """Of one run."""

    seconds: float = 20.0
    memory_bytes: int = 512 * 2**20
    output_bytes: int = 1 * 2**20
    file_bytes: int = 64 * 2**20
    processes: int = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxResult:
    """How a run ended.

    :param ended: ``ok``; ``error``: the code raised or exited otherwise; or the limit that stopped it.
    :param stdout: cut at the limit.
    """

    ended: Literal["ok", "error", "timeout", "output", "killed"]
    stdout: str
    stderr: str


class Sandbox:
    """Runs code under ``bwrap``; what cannot be isolated is refused, never run bare.

    :param limits: of each run.
    """

    def __init__(self, limits: SandboxLimits = SandboxLimits()) -> None:  # noqa: B008  # frozen
        self.limits = limits

    async def check(self) -> None:
        """Find out whether code can be isolated here.

        :raises IsolationError: when it cannot; the problem says what is missing.
        """
        raise NotImplementedError

    async def run(
        self, code: str, *, stdin: bytes = b"", files: Mapping[str, Path] | None = None
    ) -> SandboxResult:
        """Run Python. The working folder is empty but for the files, under these names, read-only.

        :raises IsolationError: when it cannot be isolated; nothing was run.
        """
        raise NotImplementedError
