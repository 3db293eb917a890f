"""What Linux accounts to a process: the memory that it holds, and the processor time that it and others used."""

from __future__ import annotations

import os
import re
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from scripts.speed.speed_results import Memory

__all__ = ["ProcessorTime", "processor_time", "read_memory"]

_MAPPING = re.compile(r"^[0-9a-f]+-[0-9a-f]+ \S+ \S+ \S+ \d+ *(.*)$")
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
        """Share of the machine that neither server nor client used, but other programs did, in [0, 1]."""
        return max(0.0, self.busy - self.server - self.client) / self.machine if self.machine else 0.0


def processor_time(server_pid: int, *, proc: Path = Path("/proc")) -> ProcessorTime:
    """What server, this process and the whole machine have used until now."""
    ticks = [int(text) for text in (proc / "stat").read_text(encoding="utf-8").splitlines()[0].split()[1:]][:_COUNTED]
    # The process's name stands in brackets and may itself hold spaces and brackets.
    process = (proc / str(server_pid) / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return ProcessorTime(
        server=(int(process[_USER]) + int(process[_SYSTEM])) / _TICKS_PER_S,
        client=time.process_time(),
        busy=(sum(ticks) - sum(ticks[place] for place in _IDLE)) / _TICKS_PER_S,
        machine=sum(ticks) / _TICKS_PER_S,
    )


def read_memory(pid: int, store: Path, *, proc: Path = Path("/proc")) -> Memory:
    """The memory of a process, and of it the files under ``store``."""
    prefix = f"{store.resolve()}/"
    held: Counter[str] = Counter()
    mapped = False
    for line in (proc / str(pid) / "smaps").read_text(encoding="utf-8").splitlines():
        if mapping := _MAPPING.match(line):
            mapped = mapping[1].startswith(prefix)
        elif line.startswith(("Rss:", "Pss:", "Anonymous:")):
            name, _, amount = line.partition(":")
            held[name] += _bytes(amount)
            held[f"mapped {name}"] += _bytes(amount) if mapped else 0
    status = (proc / str(pid) / "status").read_text(encoding="utf-8").splitlines()
    peak = next(_bytes(line.partition(":")[2]) for line in status if line.startswith("VmHWM:"))
    return Memory(
        rss=held["Rss"],
        pss=held["Pss"],
        mapped_rss=held["mapped Rss"],
        mapped_pss=held["mapped Pss"],
        private=held["Anonymous"],
        peak_rss=peak,
    )


def _bytes(amount: str) -> int:
    return int(amount.split()[0]) * 1024
