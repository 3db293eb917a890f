"""Processor time: of the server, of this client, and of everybody else on the machine."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

__all__ = ["ProcessorTime", "processor_time"]

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_IDLE = (3, 4)  # places of idle and iowait in the first line of /proc/stat
_COUNTED = 8  # user, nice, system, idle, iowait, irq, softirq, steal; guests are in user already
_USER, _SYSTEM = 11, 12  # places after the process's name in /proc/PID/stat


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessorTime:
    """Seconds of processor time so far, or between two moments.

    :param machine: of all processors, used or not; ``busy`` the used ones.
    """

    server: float
    client: float
    busy: float
    machine: float

    def __sub__(self, earlier: ProcessorTime) -> ProcessorTime:
        return ProcessorTime(
            server=self.server - earlier.server,
            client=self.client - earlier.client,
            busy=self.busy - earlier.busy,
            machine=self.machine - earlier.machine,
        )

    @property
    def others(self) -> float:
        """Share of the machine that neither server nor client used, but somebody did, in [0, 1]."""
        return max(0.0, self.busy - self.server - self.client) / self.machine if self.machine else 0.0


def processor_time(server_pid: int, *, proc: Path = Path("/proc")) -> ProcessorTime:
    """What server, this process and the whole machine have used until now, from Linux's accounts."""
    ticks = [int(text) for text in (proc / "stat").read_text(encoding="utf-8").splitlines()[0].split()[1:]][:_COUNTED]
    # The process's name stands in brackets and may itself hold spaces and brackets.
    process = (proc / str(server_pid) / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return ProcessorTime(
        server=(int(process[_USER]) + int(process[_SYSTEM])) / _TICKS_PER_S,
        client=time.process_time(),
        busy=(sum(ticks) - sum(ticks[place] for place in _IDLE)) / _TICKS_PER_S,
        machine=sum(ticks) / _TICKS_PER_S,
    )
