"""The log of outcomes: durable before it is acknowledged, each request once, cut where it is torn, bounded."""

import errno
import os
import signal
import stat
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from ontology.errors import StorageError
from services.outcomes import Outcome, OutcomeLog, open_secret, read_outcomes
from tests.conftest import ROOT
from tests.harness.waiting import wait_until

MIB = 1024 * 1024


def outcome(number: int, *, used: tuple[str, ...] = ("a", "b")) -> Outcome:
    return Outcome(
        key=f"{number:024x}",
        time=1_700_000_000 + number,
        reporter="r1",
        used=used,
        succeeded=True,
        terms=("order", "顧客"),
    )


def appended(folder: Path, *numbers: int, max_bytes: int = MIB) -> None:
    log = OutcomeLog(folder, max_bytes=max_bytes)
    for number in numbers:
        log.append(outcome(number))
    log.close()


def files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.jsonl"))


@pytest.mark.parametrize("cut", [1, 40, 120])
def test_a_torn_line_is_left_out(tmp_path: Path, cut: int) -> None:
    appended(tmp_path, 1, 2)
    (file,) = files(tmp_path)
    with open(file, "r+b") as opened:
        opened.truncate(file.stat().st_size - cut)
    appended(tmp_path, 3)
    assert read_outcomes(tmp_path)[0][-1] == outcome(3)
    assert outcome(1) in read_outcomes(tmp_path)[0]


def test_a_damaged_line_is_counted_and_a_repeated_report_counts_once(tmp_path: Path) -> None:
    appended(tmp_path, 1, 2, 2)
    (file,) = files(tmp_path)
    first, *seconds = file.read_bytes().splitlines()
    lines = [first[:40], b"[]", *seconds]
    file.write_bytes(b"\n".join(lines) + b"\n")
    assert read_outcomes(tmp_path) == ([outcome(2)], 2)


def test_a_full_disk_is_a_typed_error_and_the_report_can_be_repeated(tmp_path: Path) -> None:
    failing = [True]

    def fsync(descriptor: int) -> None:
        if failing[0]:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    log = OutcomeLog(tmp_path, max_bytes=MIB, fsync=fsync)
    with pytest.raises(StorageError, match="No space left"):
        log.append(outcome(1))
    assert read_outcomes(tmp_path) == ([], 0)
    failing[0] = False
    log.append(outcome(1))
    log.close()
    assert read_outcomes(tmp_path) == ([outcome(1)], 0)


def test_the_folder_is_bounded_and_the_newest_stay(tmp_path: Path) -> None:
    appended(tmp_path, *range(600), max_bytes=64 * 1024)
    assert sum(file.stat().st_size for file in files(tmp_path)) <= 64 * 1024
    kept, damaged = read_outcomes(tmp_path)
    assert 0 < len(kept) < 600
    assert kept[-1] == outcome(599)
    assert damaged == 0


WRITER = """
import sys
from pathlib import Path
from services.outcomes import OutcomeLog
from tests.services.test_outcomes import outcome

log = OutcomeLog(Path(sys.argv[1]), max_bytes=1 << 20)
for number in range(1_000_000):
    log.append(outcome(number))
    print(number, flush=True)
"""


def _has_several_lines(path: Path) -> bool:
    return path.stat().st_size > 100


def test_nothing_that_was_acknowledged_is_lost_by_kill_9(tmp_path: Path) -> None:
    """The kill comes at a random moment between append and acknowledgement."""
    for _ in range(3):
        acknowledged = tmp_path / "acknowledged"
        with open(acknowledged, "w", encoding="utf-8") as output:
            process = subprocess.Popen(
                [sys.executable, "-c", WRITER, str(tmp_path / "log")], cwd=ROOT, stdout=output, text=True
            )
            wait_until(partial(_has_several_lines, acknowledged), process=process)
            process.send_signal(signal.SIGKILL)
            process.wait()
        last = int(acknowledged.read_text(encoding="utf-8").rsplit("\n", 2)[-2])
        kept, damaged = read_outcomes(tmp_path / "log")
        assert {each.key for each in kept} >= {outcome(number).key for number in range(last + 1)}
        assert damaged == 0
        appended(tmp_path / "log", 10**6)
        assert read_outcomes(tmp_path / "log")[0][-1] == outcome(10**6)


def test_replicas_have_one_secret_and_a_damaged_one_is_refused(tmp_path: Path) -> None:
    one, other = (open_secret(tmp_path / "outcomes") for _ in range(2))
    assert one == other and stat.S_IMODE((tmp_path / "outcomes" / "secret").stat().st_mode) == 0o600
    (tmp_path / "secret").write_bytes(b"short")
    with pytest.raises(StorageError, match="5 bytes"):
        open_secret(tmp_path)
