"""The log of outcomes: durable before it is acknowledged, each request once, cut where it is torn, bounded."""

import errno
import json
import os
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from eval.learning import Outcome
from ontology.errors import StorageError
from services.outcomes import OUTCOMES, OutcomeLog, read_outcomes
from tests.conftest import ROOT

MIB = 1024 * 1024


def outcome(number: int) -> Outcome:
    used = ("a", "b")
    return Outcome(key=f"{number:024x}", time=1.7e9 + number, used=used, succeeded=True, terms=("order", "顧客"))


def appended(file: Path, *numbers: int, max_bytes: int = MIB) -> None:
    replicas = [OutcomeLog(file, max_bytes=max_bytes) for _ in range(2)]
    for number in numbers:
        replicas[number % 2].append(outcome(number), "caller:ci")


def kept(file: Path) -> list[Outcome]:
    """What the log has, without the pseudonyms."""
    return [replace(each, reporter="") for each in read_outcomes(file)[0]]


def test_torn_damaged_and_hostile_lines_are_counted_and_a_repeated_report_counts_once(tmp_path: Path) -> None:
    file = tmp_path / OUTCOMES
    appended(file, 1, 2, 2)
    salt, first, *seconds = file.read_bytes().splitlines()
    row = json.loads(seconds[0])
    wrong = {"key": 1, "time": "soon", "used": [[1]], "reporter": None, "terms": 5, "query": "\ud800"}
    hostile = [json.dumps({**row, name: value}).encode() for name, value in wrong.items()]
    bad = [first[:40], b"[]", b"[" * 100_000, b'{"time": NaN}', b"\xff\x00", *hostile]
    file.write_bytes(b"\n".join([salt, *bad, *seconds, first[:-1]]))
    assert kept(file) == [outcome(2)]
    assert read_outcomes(file)[1] == len(bad), "what was not written to its end is no damage"
    appended(file, 3)
    assert kept(file) == [outcome(2), outcome(3)] and read_outcomes(file)[1] == len(bad) + 1


def test_a_full_disk_is_a_typed_error_and_the_report_can_be_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fsync(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    log = OutcomeLog(tmp_path / OUTCOMES, max_bytes=MIB)
    with monkeypatch.context() as patched, pytest.raises(StorageError, match="No space left"):
        patched.setattr(os, "fsync", fsync)
        log.append(outcome(1), "caller:ci")
    assert kept(log.path) == []
    log.append(outcome(1), "caller:ci")
    assert kept(log.path) == [outcome(1)]


def test_the_log_is_bounded_the_newest_stay_and_a_reporter_keeps_its_pseudonym(tmp_path: Path) -> None:
    file = tmp_path / OUTCOMES
    appended(file, *range(600), max_bytes=64 * 1024)
    assert [each.name for each in tmp_path.iterdir()] == [OUTCOMES]
    assert file.stat().st_size <= 64 * 1024 and stat.S_IMODE(file.stat().st_mode) == 0o600
    (found, damaged), least = read_outcomes(file), 32 * 1024 // 200
    assert kept(file) == [outcome(number) for number in range(600 - len(found), 600)]
    assert least < len(found) < 600 and damaged == 0
    assert len({each.reporter for each in found}) == 1 and "ci" not in found[0].reporter


WRITER = """
import sys, time
from pathlib import Path
from services.outcomes import OutcomeLog
from tests.services.test_outcomes import outcome

log = OutcomeLog(Path(sys.argv[1]), max_bytes=1 << 20)
for number in range(int(sys.argv[2]), 1_000_000, 2):
    log.append(outcome(number), "caller:ci")
    print(number, flush=True)
    time.sleep(0.01)  # the other has its turn
"""


def test_nothing_that_replicas_acknowledged_is_lost_by_kill_9(tmp_path: Path) -> None:
    """The kill comes at a random moment between append and acknowledgement."""
    file = tmp_path / OUTCOMES
    command = [sys.executable, "-c", WRITER, str(file)]
    writers = [subprocess.Popen([*command, first], cwd=ROOT, stdout=subprocess.PIPE, text=True) for first in "01"]
    acknowledged = [writer.stdout.readline() for writer in writers for _ in range(50) if writer.stdout]
    for writer in writers:
        writer.kill()
        acknowledged += writer.communicate()[0].splitlines()
    assert {each.key for each in kept(file)} >= {outcome(int(number)).key for number in acknowledged}
    assert read_outcomes(file)[1] <= 1, "the first that was killed may have torn its line"
    assert len({each.reporter for each in read_outcomes(file)[0]}) == 1
