"""A run: one system asked one set of requests, its answers on disk line by line, so that a run that stops goes on.

The deadline is soft: a system is told how long it has and must give up by itself; what it answers later is no answer.
Whoever measures a system that can hang for good puts it behind a process boundary (a gRPC endpoint) that can be left.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

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
from eval.queries import QuerySet
from eval.system import Ranked, System
from ontology.digests import config_hash
from ontology.errors import (
    DeadlineError,
    DocumentError,
    EgotoolsError,
    InvalidArgumentError,
    ModelError,
    NotReadyError,
)
from ontology.files import only_writer, write_file
from ontology.progress import Progress, no_progress

__all__ = ["Answer", "Run", "keep_resources", "read_run", "read_runs", "run_system"]

_log = logging.getLogger(__name__)
_GONE_AFTER = 3  # requests in a row that the system itself failed: then it is gone
_GONE = (ModelError, NotReadyError)


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
) -> Run:
    """Ask a system every request that is not answered yet, one after the other.

    What an earlier run left in the folder is continued when system, configuration, snapshot, requests and ``k`` are the
    same, and replaced when any of them differs. A request that ended with an error is asked again. Before the first
    request that is asked, it is asked once to no account, so that indexes made at the first use are not its latency;
    the time is kept as ``warm_up_s``.

    :param folder: the folder of results; files as in :mod:`eval.answers`.
    :param k: how many tools an answer may hold; an answer with more, with duplicates or with ids that are not in
        ``known`` is an error, not a score.
    :param timeout_s: seconds a request; an answer that came later is an error.
    :param progress: called with the system's name, requests done and requests in all.
    :param resources: what the system cost so far, to be kept with the run.
    :param known: the tool ids of the catalogue; not checked where left out.
    :returns: the run; ``died`` says why when the system was gone three requests in a row. Running again resumes.
    :raises StorageError: when the disk refuses, or another process is writing there.
    """
    fresh = Run(
        system=system.name,
        config=dict(system.config),
        config_hash=config_hash(system.config),
        snapshot_id=snapshot_id,
        queries_sha256=queries.sha256,
        k=k,
        answers={},
        resources=dict(resources or {}),
    )
    asker = _Asker(system=system, k=k, timeout_s=timeout_s, known=None if known is None else frozenset(known))
    with only_writer(folder / "runs"):
        return _run(asker, queries, fresh, run_files(folder, system.name), progress)


def keep_resources(folder: Path, run: Run, resources: Mapping[str, float]) -> Run:
    """The run with what else its system cost, kept on disk too."""
    run = replace(run, resources={**run.resources, **resources})
    write_header(run_files(folder, run.system)[0], run)
    return run


def _run(asker: _Asker, queries: QuerySet, fresh: Run, files: tuple[Path, Path], progress: Progress) -> Run:
    header, rows = files
    run = _resume(fresh, header, rows)
    left = [query for query in queries.queries if query.id not in run.answers or run.answers[query.id].error]
    if not left:
        return run
    answers = dict(run.answers)
    done = len(queries.queries) - len(left)
    progress(run.system, done, len(queries.queries))
    resources = {**run.resources, **fresh.resources, "warm_up_s": asker.warm_up(left[0].text)}
    run = replace(run, resources=resources, died="")
    write_header(header, run)
    in_a_row = 0
    with open(rows, "a", encoding="utf-8") as file:
        for query in left:
            answer, gone = asker.answer(query.id, query.text)
            file.write(answer_line(answer))
            file.flush()  # before the next request is asked: a process that is killed loses nothing
            answers[query.id] = answer
            done += 1
            progress(run.system, done, len(queries.queries))
            in_a_row = in_a_row + 1 if gone else 0
            if in_a_row == _GONE_AFTER:
                break
    silent = all(answer.error for answer in answers.values())  # it never answered, with fewer requests than that
    dead = in_a_row == _GONE_AFTER or (in_a_row > 0 and silent)
    run = replace(run, answers=answers, died=answer.error if dead else "")
    write_header(header, run)
    return run


def _resume(fresh: Run, header: Path, rows: Path) -> Run:
    """What an earlier run left, mended, where it is of the same; else a fresh run, and nothing of the old one stays."""
    try:
        old = read_header(header) if header.exists() else None
    except DocumentError as error:
        _log.warning("%s", error)
        old = None
    if old is not None and _identity(old) == _identity(fresh):
        answers, faults = read_answers(rows)
        if faults:
            _log.warning("%s: %d damaged rows are dropped, and their requests asked again", rows, len(faults))
            write_file(rows, "".join(map(answer_line, answers)))
        return replace(old, answers={answer.query_id: answer for answer in answers})
    if old is not None:
        differs = [name for name, value in _identity(old).items() if value != _identity(fresh)[name]]
        _log.warning("%s: the old run differs in %s and is replaced", fresh.system, ", ".join(differs))
    # The rows go before the header comes: whatever stops us in between, no rows stand under a header not theirs.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asker:
    """One system under the rules of measuring."""

    system: System
    k: int
    timeout_s: float
    known: frozenset[str] | None

    def warm_up(self, text: str) -> float:
        """Ask to no account; returns seconds. What fails here fails again where it counts."""
        started = time.perf_counter()
        with contextlib.suppress(Exception):
            self.system.ask(text, k=self.k, timeout_s=self.timeout_s)
        return round(time.perf_counter() - started, 3)

    def answer(self, query_id: str, text: str) -> tuple[Answer, bool]:
        """The answer to account for, and whether the system itself failed."""
        started = time.perf_counter()
        try:
            ranked = self.system.ask(text, k=self.k, timeout_s=self.timeout_s)
            spent_s = time.perf_counter() - started
            self._check(ranked, spent_s)
        except Exception as error:  # whatever a system does is its result, and no reason to lose the others'
            spent = {"total": round((time.perf_counter() - started) * 1e3, 3)}
            gone = isinstance(error, _GONE) or not isinstance(error, EgotoolsError)
            return Answer(query_id=query_id, tools=(), ms=spent, error=_said(error)), gone
        ms = {stage: round(spent, 3) for stage, spent in {"total": spent_s * 1e3, **ranked.ms}.items()}
        return Answer(query_id=query_id, tools=tuple(ranked.tools), ms=ms, fallbacks=tuple(ranked.fallbacks)), False

    def _check(self, ranked: Ranked, spent_s: float) -> None:
        if spent_s > self.timeout_s:
            raise DeadlineError(f"the answer took {spent_s:.3f} s", subject=f"{self.timeout_s:g} s")
        tools = ranked.tools
        if len(tools) > self.k:
            raise InvalidArgumentError(f"the answer has {len(tools)} tools where {self.k} were asked for")
        repeated = sorted({tool for tool in tools if tools.count(tool) > 1})
        if repeated:
            raise InvalidArgumentError("the answer has a tool twice", subject=repeated[0])
        unknown = [tool for tool in tools if self.known is not None and tool not in self.known]
        if unknown:
            raise InvalidArgumentError("the answer has a tool that the catalogue does not have", subject=unknown[0])


def _said(error: Exception) -> str:
    kind = type(error).__name__
    return f"{kind}: {error}" if str(error) else kind
