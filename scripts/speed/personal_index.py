"""What indexing generated mail takes, against parsing the same messages with the standard library alone.

    python -m scripts.speed.personal_index --messages 25000

Times are those of the processor, so that other programs do not count.
"""

from __future__ import annotations

import argparse
import email
import mailbox
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.personal import write_personal_data
from benchmarks.personal.write_personal_data import TODAY, ZONE
from planners.personal import PersonalData, refresh_index


def _timed(work: Callable[[], object]) -> tuple[float, object]:
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def _parse(home: Path) -> int:
    archive = mailbox.mbox(home / "mail" / "archive.mbox", create=False)
    count = sum(1 for _ in archive)
    archive.close()
    for path in (home / "mail" / "INBOX").rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                email.message_from_binary_file(file)
            count += 1
    return count


def main() -> None:
    """Measure once each: parse, index, index again."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=5_000)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        write_personal_data(home, messages=parser.parse_args().messages)
        data, index = PersonalData.below(home, zone=ZONE), home / "index.sqlite"
        parsed_s, count = _timed(lambda: _parse(home))
        indexed_s, _ = _timed(lambda: refresh_index(data, index, today=TODAY))
        reused_s, _ = _timed(lambda: refresh_index(data, index, today=TODAY))
        print(f"{count:,} messages: parsed {parsed_s:.2f} s, indexed {indexed_s:.2f} s = {indexed_s / parsed_s:.2f} ×")
        print(f"nothing changed: {reused_s:.2f} s; index {index.stat().st_size / 2**20:.0f} MiB")


if __name__ == "__main__":
    main()
