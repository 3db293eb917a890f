"""Rows of learning from use: acknowledged reports survive kill -9 and full disks, and a spammer moves little."""

from __future__ import annotations

import copy
import errno
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from scripts.reliability.row import Figure, Row

if TYPE_CHECKING:
    from eval.learning import Session
    from inference.encoder import Encoder
    from retrieval.snapshot.reader import Snapshot
    from services.outcomes import Outcome

__all__ = ["ROWS", "SPAM", "places_moved", "spam_of"]

_ROOT = Path(__file__).resolve().parents[2]
_BENCHMARK = _ROOT / "examples" / "enterprise" / "benchmark"
_KILLS, _LIMIT_S = 100, 60.0
_REPORTERS, _HONEST, _SPAM_REPORTS, _START = 50, 1_000, 10_000, 1_700_000_000
_REQUEST_WEIGHT = 32.0  # what `egotools learn` chose on ToolLens, or more
SPAM = ("one tool", "tools at random", "one tool for the requests that are asked")
"""What the spammer reports."""

_WRITER = """
import sys
from pathlib import Path
from scripts.reliability.chaos_learn import outcome_number
from services.outcomes import OutcomeLog

log = OutcomeLog(Path(sys.argv[1]), max_bytes=1 << 28)
for number in range(int(sys.argv[2]), 1 << 40):
    log.append(outcome_number(number)).result()
    print(number, flush=True)
"""


def outcome_number(number: int) -> Outcome:
    """An outcome of its own for each number."""
    from services.outcomes import Outcome

    return Outcome(key=f"{number:024x}", time=_START, snapshot="0" * 16, reporter="r", used=("a", "b"), succeeded=True)


def _killed(folder: Path) -> Figure:
    """Kill a process that reports, at a random moment; the next one goes on with its file."""
    from services.outcomes import read_outcomes

    draws, lost, damaged, first = random.Random(0), 0, 0, 0
    acknowledged: set[str] = set()
    for trial in range(_KILLS):
        printed = folder / f"printed-{trial}"
        with open(printed, "w", encoding="utf-8") as output:
            command = [sys.executable, "-c", _WRITER, str(folder / "log"), str(first)]
            process = subprocess.Popen(command, cwd=_ROOT, stdout=output, text=True)
            _await(partial(_has_lines, printed))
            time.sleep(draws.uniform(0.0, 0.05))
            process.send_signal(signal.SIGKILL)
            process.wait()
        numbers = [int(line) for line in printed.read_text(encoding="utf-8").split("\n")[:-1]]
        acknowledged |= {outcome_number(number).key for number in numbers}
        kept, faulty = read_outcomes(folder / "log")
        lost += len(acknowledged - {each.key for each in kept})
        damaged += faulty
        first = numbers[-1] + 2  # the one after the last may have been written without an acknowledgement
    text = f"{lost} of {len(acknowledged):,} acknowledged reports lost, {damaged} damaged lines, {_KILLS} kills"
    return Figure(text=text, held=not lost and not damaged)


def _has_lines(path: Path) -> bool:
    return path.stat().st_size > 0


def _await(reached: Callable[[], bool]) -> None:
    end = time.monotonic() + _LIMIT_S
    while not reached():
        if time.monotonic() > end:
            raise TimeoutError("the process reports nothing")
        time.sleep(0.002)


def _full_disk(folder: Path) -> Figure:
    """Fail the flush of each append in turn, with each error: the report is refused, and what was acknowledged stays."""
    from ontology.errors import StorageError
    from services.outcomes import OutcomeLog, read_outcomes

    typed = whole = trials = 0
    for code in (errno.ENOSPC, errno.EIO, errno.EDQUOT):
        for failing in range(20):
            trials += 1
            at = folder / f"{code}-{failing}"
            calls: list[int] = []

            def fsync(descriptor: int, code: int = code, failing: int = failing, calls: list[int] = calls) -> None:
                calls.append(descriptor)
                if len(calls) == failing + 1:
                    raise OSError(code, os.strerror(code))

            log = OutcomeLog(at, max_bytes=1 << 20, fsync=fsync)
            kept = set()
            for number in range(20):
                try:
                    log.append(outcome_number(number)).result(_LIMIT_S)
                    kept.add(outcome_number(number).key)
                except StorageError:
                    typed += 1
            log.close()
            found, damaged = read_outcomes(at)
            whole += {each.key for each in found} == kept and not damaged and len(kept) == 19
    return Figure(text=f"{typed} typed refusals and {whole} whole logs of {trials}", held=typed == whole == trials)


def _spammed(folder: Path) -> Figure:
    """One spammer against fifty honest reporters, on the shipped catalogue."""
    from eval.learning import Session
    from eval.queries import read_queries
    from inference import DEFAULT_ENCODER, load_encoder
    from retrieval.snapshot.reader import open_snapshot
    from services.jobs.build import build_snapshot

    encoder = load_encoder(DEFAULT_ENCODER)
    build_snapshot([str(_BENCHMARK / "tools.jsonl")], folder / "store", encoder=encoder)
    snapshot = open_snapshot(folder / "store")
    queries = [query for query in read_queries([_BENCHMARK / "hand.jsonl"]).queries if query.tools]
    draws = random.Random(0)
    draws.shuffle(queries)
    asked, past = [query.text for query in queries[:120]], queries[120:]
    honest = [
        Session(
            id=f"h{number}",
            tools=query.tools,
            time=_START + 600 * number,
            reporter=f"h{number % _REPORTERS}",
            query=query.text,
        )
        for number, query in enumerate(draws.choices(past, k=_HONEST))
    ]
    texts = [query.text for query in past]
    moved = {
        kind: places_moved(snapshot, encoder, honest, spam_of(kind, snapshot, asked, texts), asked) for kind in SPAM
    }
    worst = max(moved.values())
    each = ", ".join(f"{kind} {share:.2%}" for kind, share in moved.items())
    return Figure(text=f"at most {worst:.2%} of the places among the best five ({each})", held=worst <= 0.01)


def spam_of(kind: str, snapshot: Snapshot, asked: Sequence[str], texts: Sequence[str]) -> list[Session]:
    """10,000 sessions of one reporter in the time of the honest ones.

    :param asked: the requests that are asked afterwards.
    :param texts: other requests.
    """
    from eval.learning import Session

    draws = random.Random(1)
    ids = [snapshot.tool_id(number) for number in range(snapshot.tool_count)]
    return [
        Session(
            id=f"s{number}",
            tools=tuple(draws.sample(ids, 3)) if kind == SPAM[1] else (ids[7],),
            time=_START + 60 * number,
            reporter="spammer",
            query=draws.choice(asked if kind == SPAM[2] else texts),
        )
        for number in range(_SPAM_REPORTS)
    ]


def places_moved(
    snapshot: Snapshot, encoder: Encoder, honest: Sequence[Session], added: Sequence[Session], asked: Sequence[str]
) -> float:
    """The share of the places among the best five that sessions change when they are added to honest ones, in [0, 1]."""
    before, after = (_answers(snapshot, encoder, past, asked) for past in (honest, [*honest, *added]))
    return sum(len(new - old) for new, old in zip(after, before, strict=True)) / (5 * len(asked))


def _answers(snapshot: Snapshot, encoder: Encoder, past: Sequence[Session], asked: Sequence[str]) -> list[set[str]]:
    from eval.learning import bounded_sessions, encode_sessions, known_sessions, make_past_requests
    from retrieval.graph_retriever import GraphRetriever
    from retrieval.query.request import Request

    known = frozenset(map(snapshot.tool_id, range(snapshot.tool_count)))
    kept = bounded_sessions(known_sessions(past, known), 2)
    vectors_PD = encode_sessions(kept, snapshot, encoder)
    view = copy.copy(snapshot)
    learned = make_past_requests(kept, vectors_PD, snapshot, min_reporters=2)
    view.learned = replace(learned, weight=_REQUEST_WEIGHT)
    retriever = GraphRetriever(view, encoder)
    return [{tool.id for tool in retriever.retrieve(Request(query=one, k=5)).tools} for one in asked]


ROWS = [
    Row(
        key="outcomes-kill",
        item="A report that was acknowledged survives kill -9 at a random moment; the next process goes on with the file",
        bar=f"0 lost, 0 damaged lines, {_KILLS} kills",
        measure=_killed,
        fast=False,
    ),
    Row(
        key="outcomes-disk",
        item="A full or failing disk refuses a report with a typed error, and the log stays whole",
        bar="60 of 60",
        measure=_full_disk,
    ),
    Row(
        key="learn-spam",
        item="A reporter with 10,000 reports against 50 honest reporters changes few answers",
        bar="at most 1 % of the places among the best five",
        measure=_spammed,
        fast=False,
    ),
]
