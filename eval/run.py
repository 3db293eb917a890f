"""Run one system on one set of requests. Answers are written one by one, so an interrupted run can resume.

The deadline is soft: the system gets the time limit and must stop by itself; a later answer counts as no answer. A
system that may hang must run in its own process (a gRPC endpoint).
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from eval.answers import (
    Answer,
    Run,
    answer_line,
    read_answers,
    read_header,
    read_run,
    read_runs,
    run_files,
    write_header,
)
from eval.queries import LabelledQuery, QuerySet
from eval.system import NEEDS_ALONE, WHOLE, Ranked, System, asked_name
from ontology.errors import (
    DeadlineError,
    DocumentError,
    EgotoolsError,
    InvalidArgumentError,
    ModelError,
    NotReadyError,
)
from ontology.files import config_hash, only_writer, write_file
from ontology.redaction import redact
from ontology.reporting import Progress, no_progress

__all__ = ["Answer", "Run", "keep_resources", "read_run", "read_runs", "run_system"]

_log = logging.getLogger(__name__)
_MAX_FAILURES = 3  # consecutive failures of the system itself, after which its run ends
_UNAVAILABLE = (ModelError, NotReadyError)


def run_system(
    system: System,
    queries: QuerySet,
    folder: Path,
    *,
    snapshot_id: str,
    k: int,
    timeout_s: float,
    progress: Progress = no_progress,
    resources: Mapping[str, float] | None = None,
    known: Collection[str] | None = None,
    asked: str = WHOLE,
) -> Run:
    """Send every request without an answer to a system, one after the other.

    An earlier run in the folder is resumed when system, configuration, snapshot, requests and ``k`` are the same, and
    replaced when any of them differs. A request that ended with an error is sent again. The first request is also sent
    as a warm-up that does not count, so that indexes built at first use are not part of its latency; its time is stored
    as ``warm_up_s``.

    :param folder: the folder of results; files as in :mod:`eval.answers`.
    :param k: maximum number of tools in an answer; an answer with more tools, with duplicates or with ids that are not in
        ``known`` is an error.
    :param timeout_s: seconds for each request; a later answer is an error.
    :param progress: called with the system's name, the number of requests done and the number of all requests.
    :param resources: cost of the system so far, stored with the run.
    :param known: the tool ids of the catalogue; None skips the check.
    :param asked: what is sent of a request, one of :data:`eval.system.ASKED`; the run has the name :func:`eval.system.asked_name`.
    :returns: the run; ``failure`` is the reason when the system failed at three consecutive requests; run again to resume.
    :raises StorageError: when a file cannot be written, or another process writes there.
    """
    config = dict(system.config) if asked == WHOLE else {**system.config, "asked": asked}
    fresh = Run(
        system=asked_name(system.name, asked),
        config=config,
        config_hash=config_hash(config),
        snapshot_id=snapshot_id,
        queries_sha256=queries.sha256,
        k=k,
        answers={},
        resources=dict(resources or {}),
    )
    client = _MeasuredSystem(
        system=system, k=k, timeout_s=timeout_s, known=None if known is None else frozenset(known), asked=asked
    )
    with only_writer(folder / "runs"):
        return _run(client, queries, fresh, run_files(folder, fresh.system), progress)


def keep_resources(folder: Path, run: Run, resources: Mapping[str, float]) -> Run:
    """Return the run with further costs of its system, and write them to its header."""
    run = replace(run, resources={**run.resources, **resources})
    write_header(run_files(folder, run.system)[0], run)
    return run


def _run(client: _MeasuredSystem, queries: QuerySet, fresh: Run, files: tuple[Path, Path], progress: Progress) -> Run:
    header, rows = files
    run = _resume(fresh, header, rows)
    left = [query for query in queries.asked if query.id not in run.answers or run.answers[query.id].error]
    if not left:
        return run
    answers = dict(run.answers)
    done = len(queries.asked) - len(left)
    progress(run.system, done, len(queries.asked))
    resources = {**run.resources, **fresh.resources, "warm_up_s": client.warm_up(left[0])}
    run = replace(run, resources=resources, failure="")
    write_header(header, run)
    in_a_row = 0
    with open(rows, "a", encoding="utf-8") as file:
        for query in left:
            result = client.ask(query)
            answer = answers[query.id] = result.answer
            file.write(answer_line(answer))
            file.flush()  # before the next request is sent, so that a killed process loses no answer
            done += 1
            progress(run.system, done, len(queries.asked))
            in_a_row = in_a_row + 1 if result.system_failed else 0
            if in_a_row == _MAX_FAILURES:
                break
    no_answer = all(answer.error for answer in answers.values())  # also for fewer than three requests
    failed = in_a_row == _MAX_FAILURES or (in_a_row > 0 and no_answer)
    run = replace(run, answers=answers, failure=answer.error if failed else "")
    write_header(header, run)
    return run


def _resume(fresh: Run, header: Path, rows: Path) -> Run:
    """Return the earlier run without its damaged lines if its identity is the same; else delete it and return a new
    run.
    """
    try:
        old = read_header(header) if header.exists() else None
    except DocumentError as error:
        _log.warning("%s", error)
        old = None
    if old is not None and _identity(old) == _identity(fresh):
        answers, damaged = read_answers(rows)
        if damaged:
            _log.warning("%s: %d damaged lines are dropped, and their requests sent again", rows, len(damaged))
            write_file(rows, "".join(map(answer_line, answers)))
        return replace(old, answers={answer.query_id: answer for answer in answers})
    if old is not None:
        differs = [name for name, value in _identity(old).items() if value != _identity(fresh)[name]]
        _log.warning("%s: the old run differs in %s and is replaced", fresh.system, ", ".join(differs))
    # The answers are deleted first, so that after an interruption they are never combined with another run's header.
    rows.unlink(missing_ok=True)
    write_header(header, fresh)
    return fresh


def _identity(run: Run) -> dict[str, object]:
    return {
        "system": run.system,
        "configuration": run.config_hash,
        "snapshot": run.snapshot_id,
        "requests": run.queries_sha256,
        "k": run.k,
    }


class _Result(NamedTuple):
    """An answer, and whether the system itself failed, not only this request."""

    answer: Answer
    system_failed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _MeasuredSystem:
    """A system whose answers are timed and checked."""

    system: System
    k: int
    timeout_s: float
    known: frozenset[str] | None
    asked: str

    def warm_up(self, query: LabelledQuery) -> float:
        """Send a request that does not count; return the seconds. An error is ignored here: the measured request repeats it."""
        started = time.perf_counter()
        with contextlib.suppress(Exception):
            self._send(query)
        return round(time.perf_counter() - started, 3)

    def ask(self, query: LabelledQuery) -> _Result:
        """Send one request and check its answer."""
        started = time.perf_counter()
        try:
            ranked = self._send(query)
            spent_s = time.perf_counter() - started
            self._check(ranked, spent_s)
        except Exception as error:  # any error of a system is a result; the other systems are still measured
            spent = {"total": round((time.perf_counter() - started) * 1e3, 3)}
            failed = isinstance(error, _UNAVAILABLE) or not isinstance(error, EgotoolsError)
            return _Result(Answer(query_id=query.id, tools=(), ms=spent, error=_text(error)), failed)
        ms = {stage: round(spent, 3) for stage, spent in {"total": spent_s * 1e3, **ranked.ms}.items()}
        answer = Answer(
            query_id=query.id,
            tools=tuple(ranked.tools),
            ms=ms,
            fallbacks=tuple(ranked.fallbacks),
            abstained=ranked.abstained,
        )
        return _Result(answer, False)

    def _send(self, query: LabelledQuery) -> Ranked:
        if self.asked == WHOLE:
            return self.system.ask(query.text, k=self.k, timeout_s=self.timeout_s)
        text = "" if self.asked == NEEDS_ALONE else query.text
        return self.system.ask(text, needs=query.needs or (), k=self.k, timeout_s=self.timeout_s)

    def _check(self, ranked: Ranked, spent_s: float) -> None:
        if spent_s > self.timeout_s:
            raise DeadlineError(f"the answer took {spent_s:.3f} s", subject=f"{self.timeout_s:g} s")
        tools = ranked.tools
        if len(tools) > self.k:
            raise InvalidArgumentError(f"the answer has {len(tools)} tools; at most {self.k} were requested")
        repeated = sorted({tool for tool in tools if tools.count(tool) > 1})
        if repeated:
            raise InvalidArgumentError("the answer has a tool twice", subject=repeated[0])
        unknown = [tool for tool in tools if self.known is not None and tool not in self.known]
        if unknown:
            raise InvalidArgumentError("the answer has a tool that the catalogue does not have", subject=unknown[0])


def _text(error: Exception) -> str:
    kind = type(error).__name__
    return f"{kind}: {redact(str(error))}" if str(error) else kind
