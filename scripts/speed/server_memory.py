"""What a server process holds in memory, by what it is for."""

from __future__ import annotations

import re
from pathlib import Path

__all__ = ["read_memory"]

_MAPPING = re.compile(r"^[0-9a-f]+-[0-9a-f]+ \S+ \S+ \S+ \d+ *(.*)$")


def read_memory(pid: int, store: Path, *, proc: Path = Path("/proc")) -> dict[str, int]:
    """Bytes of a process, from Linux's account of its mappings.

    - ``rss``: resident pages; a page that other processes hold too counts whole. ``peak_rss``: the most it ever was.
    - ``pss``: resident pages; a shared page counts for its share.
    - ``mapped_rss``, ``mapped_pss``: of those, the files under ``store``: pages that the system can drop and read again,
      and that every server of the same snapshot shares.
    - ``private``: pages that no file backs: the heap of Python, the weights, arrays made at load.
    """
    prefix = f"{store.resolve()}/"
    held = {"rss": 0, "pss": 0, "mapped_rss": 0, "mapped_pss": 0, "private": 0, "peak_rss": 0}
    mapped = False
    for line in (proc / str(pid) / "smaps").read_text(encoding="utf-8").splitlines():
        mapping = _MAPPING.match(line)
        if mapping:
            mapped = mapping[1].startswith(prefix)
            continue
        name, _, amount = line.partition(":")
        if name in ("Rss", "Pss"):
            held[name.lower()] += _bytes(amount)
            if mapped:
                held[f"mapped_{name.lower()}"] += _bytes(amount)
        elif name == "Anonymous":
            held["private"] += _bytes(amount)
    for line in (proc / str(pid) / "status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmHWM:"):
            held["peak_rss"] = _bytes(line.partition(":")[2])
    return held


def _bytes(amount: str) -> int:
    return int(amount.split()[0]) * 1024
