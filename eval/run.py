"""Run one system on one set of requests. Answers are written one by one, so an interrupted run can resume.

The deadline is soft: the system gets the time limit and must stop by itself; a later answer counts as no answer. A
system that may hang must run in its own process (a gRPC endpoint).
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from eval.measured_set import Answer, Run, answer_line, read_answers, read_header, run_files, write_header
from eval.queries import LabelledQuery, QuerySet
from ontology.errors import DeadlineError, DocumentError, EgotoolsError, InvalidArgumentError, ModelError, NotReadyError
from ontology.files import config_hash, only_writer, write_file
from ontology.redaction import redact
from ontology.reporting import Progress, no_progress

_log = logging.getLogger(__name__)
_MAX_FAILURES = 3  # consecutive failures of the system itself, after which its run ends

WHOLE, NEEDS, NEEDS_ALONE = "whole", "needs", "needs-alone"
ASKED: Mapping[str, str] = {
    WHOLE: "the whole request",
    NEEDS: "its recorded needs, with the request as context",
    NEEDS_ALONE: "its recorded needs alone",
}
"""What a system is sent of a request."""


def asked_name(system: str, asked: str) -> str:
    """The name of a system that is asked in this way: ``default`` for whole requests, ``default@needs``, ``default@needs-alone``."""
    return system if asked == WHOLE else f"{system}@{asked}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """One answer.

    :param tools: tool ids, best first, distinct.
    :param ms: map from stage to milliseconds; always has ``total``.
    :param fallbacks: parts that the system left out, and why.
    :param abstained: whether it says that no tool serves the request; it may return tools all the same.
    """

    tools: tuple[str, ...]
    ms: Mapping[str, float]
    fallbacks: tuple[str, ...] = ()
    abstained: bool = False


class System(Protocol):
    """Answers requests. Not shared between threads."""

    @property
    def name(self) -> str:
        """The name in the tables: ``default``, ``bm25``, ``grpc:127.0.0.1:50051/paper``, …"""

    @property
    def config(self) -> Mapping[str, Any]:
        """Everything that its answers depend on in addition to the request, as JSON values; its hash is stored with results."""

    def ask(self, query: str, *, k: int, timeout_s: float, needs: Sequence[str] = ()) -> Ranked:
        """Return the best ``k`` tools for a request.

        :param query: the request; empty where it is asked by its needs alone.
        :param needs: what it needs, a phrase each; only given where the system is measured on needs.

        :raises DeadlineError: when it took longer than ``timeout_s``; the next request may be sent.
        :raises EgotoolsError: when this request cannot be answered. ModelError and NotReadyError mean that the system
            is unavailable.
        """


def run_system(
    system: System,
    queries: QuerySet,
    folder: Path,
    *,
    snapshot_id: str,
    k: int,
    timeout_s: float,
    progress: Progress = no_progress,
    known: Collection[str] | None = None,
    asked: str = WHOLE,
) -> Run:
    """Send every request without an answer to a system, one after the other.

    An earlier run in the folder is resumed when system, configuration, snapshot, requests and ``k`` are the same, and
    replaced when any of them differs. A request that ended with an error is sent again. The first request is also sent
    as a warm-up that does not count, so that indexes built at first use are not part of its latency.

    :param folder: the folder of results; files as in :mod:`eval.measured_set`.
    :param k: maximum number of tools in an answer; an answer with more tools, with duplicates or with ids that are not in
        ``known`` is an error.
    :param timeout_s: seconds for each request; a later answer is an error.
    :param progress: called with the system's name, the number of requests done and the number of all requests.
    :param known: the tool ids of the catalogue; None skips the check.
    :param asked: what is sent of a request, one of :data:`ASKED`; the run has the name :func:`asked_name`.
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
    )
    client = _Client(system, k, timeout_s, None if known is None else frozenset(known), asked)
    header, rows = run_files(folder, fresh.system)
    with only_writer(folder / "runs"):
        run = _resumed(fresh, header, rows)
        left = [query for query in queries.asked if query.id not in run.answers or run.answers[query.id].error]
        if not left:
            return run
        answers, done = dict(run.answers), len(queries.asked) - len(left)
        progress(run.system, done, len(queries.asked))
        with contextlib.suppress(Exception):  # the measured request repeats an error
            client.send(left[0])
        run = replace(run, failure="")
        write_header(header, run)
        in_a_row = 0
        with open(rows, "a", encoding="utf-8") as file:
            for number, query in enumerate(left, start=done + 1):
                answer, system_failed = client.ask(query)
                answers[query.id] = answer
                file.write(answer_line(answer))
                file.flush()  # before the next request is sent, so that a killed process loses no answer
                progress(run.system, number, len(queries.asked))
                in_a_row = in_a_row + 1 if system_failed else 0
                if in_a_row == _MAX_FAILURES:
                    break
        no_answer = all(answer.error for answer in answers.values())  # also for fewer than three requests
        failed = in_a_row == _MAX_FAILURES or (in_a_row > 0 and no_answer)
        run = replace(run, answers=answers, failure=answer.error if failed else "")
        write_header(header, run)
    return run


def _resumed(fresh: Run, header: Path, rows: Path) -> Run:
    """The earlier run, without its damaged lines, where it is of the same things; else it is deleted, and the fresh run begins."""
    try:
        old = read_header(header) if header.exists() else None
    except DocumentError as error:
        _log.warning("%s", error)
        old = None
    if old is not None:
        names = {"config_hash": "configuration", "snapshot_id": "snapshot", "queries_sha256": "requests"}
        fields = ("system", *names, "k")
        differs = [names.get(name, name) for name in fields if getattr(old, name) != getattr(fresh, name)]
        if not differs:
            answers, damaged = read_answers(rows)
            if damaged:
                _log.warning("%s: %d damaged lines are dropped, and their requests sent again", rows, len(damaged))
            write_file(rows, "".join(map(answer_line, answers)))
            return replace(old, answers={answer.query_id: answer for answer in answers})
        _log.warning("%s: the old run differs in %s and is replaced", fresh.system, ", ".join(differs))
    # The answers are deleted first, so that after an interruption they are never combined with another run's header.
    rows.unlink(missing_ok=True)
    write_header(header, fresh)
    return fresh


@dataclass(frozen=True, slots=True)
class _Client:
    """Asks a system; times and checks its answers."""

    system: System
    k: int
    timeout_s: float
    known: frozenset[str] | None
    asked: str

    def ask(self, query: LabelledQuery) -> tuple[Answer, bool]:
        """Send one request: its answer, and whether the system itself failed, not only this request."""
        started = time.perf_counter()
        try:
            ranked = self.send(query)
            spent_s = time.perf_counter() - started
            self._check(ranked.tools, spent_s)
        except Exception as error:  # any error of a system is a result; the other systems are still measured
            failed = isinstance(error, ModelError | NotReadyError) or not isinstance(error, EgotoolsError)
            told = ": ".join(filter(None, (type(error).__name__, redact(str(error)))))
            spent = {"total": round((time.perf_counter() - started) * 1e3, 3)}
            return Answer(query_id=query.id, tools=(), ms=spent, error=told), failed
        answer = Answer(
            query_id=query.id,
            tools=tuple(ranked.tools),
            ms={stage: round(ms, 3) for stage, ms in {"total": spent_s * 1e3, **ranked.ms}.items()},
            fallbacks=tuple(ranked.fallbacks),
            abstained=ranked.abstained,
        )
        return answer, False

    def send(self, query: LabelledQuery) -> Ranked:
        if self.asked == WHOLE:
            return self.system.ask(query.text, k=self.k, timeout_s=self.timeout_s)
        text = "" if self.asked == NEEDS_ALONE else query.text
        return self.system.ask(text, needs=query.needs or (), k=self.k, timeout_s=self.timeout_s)

    def _check(self, tools: Sequence[str], spent_s: float) -> None:
        if spent_s > self.timeout_s:
            raise DeadlineError(f"the answer took {spent_s:.3f} s", subject=f"{self.timeout_s:g} s")
        if len(tools) > self.k:
            raise InvalidArgumentError(f"the answer has {len(tools)} tools; at most {self.k} were requested")
        for tool in tools:
            if tools.count(tool) > 1:
                raise InvalidArgumentError("the answer has a tool twice", subject=tool)
            if self.known is not None and tool not in self.known:
                raise InvalidArgumentError("the answer has a tool that the catalogue does not have", subject=tool)
