"""Row ``audit-log``: an audit log loses no entry to writers that are killed, and hides no entry that was changed."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from scripts.reliability.row import Figure, Row
from services.server.observe.audit_check import verify_audit_log
from services.server.observe.audit_log import AuditLog, segments_of

__all__ = ["ROWS", "found_damages", "killed_writers"]

_WRITER = """
import sys
from pathlib import Path
from services.server.observe.audit_log import AuditLog
log = AuditLog(Path(sys.argv[1]), max_bytes=20_000)
for number in range(1_000_000):
    log.write("publish", actor="writer", subject=str(number))
    print(number, flush=True)
"""
_ENTRIES = 50


def killed_writers(folder: Path, kills: int, *, seed: int = 1) -> tuple[int, int]:
    """Kill writers, two at a time, at random moments; return the entries that they were told are kept, and those lost.

    An entry is lost where the log is not whole after a kill, or has fewer entries than the writers reported.
    """
    path, chosen, told = folder / "audit.jsonl", random.Random(seed), 0
    for _ in range(kills):
        command = [sys.executable, "-c", _WRITER, str(path)]
        writers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
        first = [writer.stdout.readline() if writer.stdout else "" for writer in writers]
        time.sleep(chosen.uniform(0, 0.1))
        for writer in writers:
            writer.kill()
        rest = [writer.communicate()[0] for writer in writers]
        told += sum(text.count("\n") for text in (*first, *rest))
    verdict = verify_audit_log(path)
    return told, max(told - verdict.entries, 0) + len(verdict.faults)


def found_damages(folder: Path, trials: int, *, seed: int = 2) -> int:
    """Damage a log again and again, in one of five ways; return how often that was found."""
    path, chosen, found = folder / "damaged.jsonl", random.Random(seed), 0
    log = AuditLog(path)
    for number in range(_ENTRIES):
        log.write("publish", actor="ann", subject=f"snapshot-{number}")
    whole = path.read_bytes()
    for trial in range(trials):
        lines = whole.splitlines(keepends=True)
        damaged = _DAMAGES[trial % len(_DAMAGES)](lines, chosen)
        path.write_bytes(damaged)
        found += bool(damaged != whole and verify_audit_log(path).faults)
    return found


def _flipped(lines: list[bytes], chosen: random.Random) -> bytes:
    content = bytearray(b"".join(lines))
    content[chosen.randrange(len(content))] ^= 1 << chosen.randrange(8)
    return bytes(content)


def _removed(lines: list[bytes], chosen: random.Random) -> bytes:
    del lines[chosen.randrange(len(lines))]
    return b"".join(lines)


def _moved(lines: list[bytes], chosen: random.Random) -> bytes:
    place = chosen.randrange(len(lines) - 1)
    lines[place], lines[place + 1] = lines[place + 1], lines[place]
    return b"".join(lines)


def _put_in(lines: list[bytes], chosen: random.Random) -> bytes:
    lines.insert(chosen.randrange(len(lines)), chosen.choice(lines))
    return b"".join(lines)


def _cut(lines: list[bytes], chosen: random.Random) -> bytes:
    content = b"".join(lines)
    return content[: chosen.randrange(len(content) - 1)]


_DAMAGES: tuple[Callable[[list[bytes], random.Random], bytes], ...] = (_flipped, _removed, _moved, _put_in, _cut)


def _measure(folder: Path) -> Figure:
    kills, trials = 20, 1_000
    told, lost = killed_writers(folder, kills)
    found = found_damages(folder, trials)
    files = len(segments_of(folder / "audit.jsonl"))
    text = (
        f"{lost} of {told:,} entries in {files} files lost in {2 * kills} kills; {found:,} of {trials:,} damages found"
    )
    return Figure(text=text, held=lost == 0 and found == trials)


ROWS = [
    Row(
        key="audit-log",
        item="Writers of an audit log are killed, and lines altered, removed, moved, put in or cut off",
        bar="no entry lost, every damage found",
        measure=_measure,
    )
]
