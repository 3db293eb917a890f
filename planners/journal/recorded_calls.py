"""Calls of tools with a journal: what a run has finished is not called again, and a finished run is replayed without any tool."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from egotools import ClientError, PermissionDeniedError, Tool
from egotools.calling.invoker import ToolInvoker
from egotools.calling.tool_answer import ToolAnswer
from egotools.client_errors import client_error_of
from ontology.errors import BudgetExceededError, EgotoolsError, InvalidArgumentError, StorageError
from planners.calls.consent import Ask, never
from planners.journal.account import rows_of
from planners.journal.journal_index import JournalIndex, request_key
from planners.journal.recorded_faults import client_fault, client_fault_json
from planners.journal.run_journal import RunJournal, RunRecord, as_kept, seconds_since

__all__ = ["RecordingInvoker", "ReplayInvoker"]

_CALL = "call"
_RARE = ("notes", "retry_after")  # of an answer
_NOTHING_SENT = ("INVALID_ARGUMENT", "PERMISSION_DENIED", "FAILED_PRECONDITION")


def _key(tool: Tool, arguments: Mapping[str, Any]) -> str:
    return request_key([tool.id, dict(arguments)])


class RecordingInvoker:
    """Writes each call to a journal before and after it is made, and answers from the journal what an earlier process has finished.

    A call that was begun and not finished is made again where it only reads. Of one that may write it is not known whether it was
    done; ``repeat`` is asked.

    :param repeat: whether a write whose effect is not known shall be made again.
    :param index: of the journal, where there is one already.
    :param as_written: whether answers are given as the journal will have them, from the first time on, and a call that failed fails
        again: a run goes on, and is replayed, as it went. A call that a limit of the run refused is made again.
    """

    def __init__(
        self,
        inner: ToolInvoker,
        journal: RunJournal,
        *,
        repeat: Ask = never,
        index: JournalIndex | None = None,
        as_written: bool = False,
    ) -> None:
        self._inner = inner
        self._journal = journal
        self._repeat = repeat
        self._index = index or JournalIndex(journal)
        self._as_written = as_written
        self.answered = 0
        """Number of calls that the journal answered."""

    async def invoke(self, tool: Tool, arguments: Mapping[str, Any]) -> ToolAnswer:
        """See :class:`ToolInvoker`.

        :raises StorageError: when the journal cannot be written; the call is then not made, or its answer is lost.
        """
        key = _key(tool, arguments)
        nth = self._index.next(_CALL, key)
        earlier = self._index.last(_CALL, key, nth)
        if earlier is not None and earlier.kind == "call_ended":
            self.answered += 1
            return _answer(self._journal, earlier)
        if earlier is not None and self._as_written and earlier.kind == "call_failed" and not _of_the_run(earlier):
            raise client_fault(earlier.data)
        reads = tool.effect == "read"
        if earlier is not None and _may_be_done(earlier) and not reads:
            if not await self._repeat(tool, arguments):
                refused = _not_repeated(tool)
                if self._as_written:
                    self._failed(tool, key, nth, refused, 0.0)
                raise refused
        self._journal.append(
            "call_begun",
            key=key,
            nth=nth,
            tool=tool.id,
            reads=reads,
            arguments=self._journal.keep(dict(arguments)),
        )
        if not reads:
            self._journal.flush()  # before the call, also where records reach the disk in batches
        started = time.perf_counter()
        try:
            answer = await self._inner.invoke(tool, arguments)
        except ClientError as error:
            self._failed(tool, key, nth, error, seconds_since(started))
            raise
        except (BudgetExceededError, StorageError):  # a limit of the run; a disk that is full
            raise
        except Exception as error:  # a tool is foreign code, which raises what it likes
            if not self._as_written:
                raise
            failure = _client_error(error, tool)
            self._failed(tool, key, nth, failure, seconds_since(started))
            raise failure from error
        self._journal.append(
            "call_ended",
            key=key,
            nth=nth,
            tool=tool.id,
            seconds=seconds_since(started),
            ok=answer.ok,
            status=answer.status,
            media_type=answer.media_type,
            size=answer.size,
            rows=rows_of(answer.body),
            body=self._journal.keep(answer.body),
            **{name: getattr(answer, name) for name in _RARE if getattr(answer, name)},
        )
        return replace(answer, body=as_kept(answer.body)) if self._as_written else answer

    def _failed(self, tool: Tool, key: str, nth: int, error: ClientError, seconds: float) -> None:
        fault = client_fault_json(error)
        self._journal.append("call_failed", key=key, nth=nth, tool=tool.id, seconds=seconds, **fault)


class ReplayInvoker:
    """Answers every call from a journal, its failures too; it calls nothing."""

    def __init__(self, journal: RunJournal, *, index: JournalIndex | None = None) -> None:
        self._journal = journal
        self._index = index or JournalIndex(journal)

    async def invoke(self, tool: Tool, arguments: Mapping[str, Any]) -> ToolAnswer:
        """See :class:`ToolInvoker`.

        :raises InvalidArgumentError: when the run did not make this call, or was killed amid it.
        """
        key = _key(tool, arguments)
        record = self._index.last(_CALL, key, self._index.next(_CALL, key))
        if record is None or record.kind == "call_begun":
            raise InvalidArgumentError(
                "the journal has no answer to this call",
                subject=tool.id,
                remedy="Replay with the same request and domain",
            )
        if record.kind == "call_failed":
            raise client_fault(record.data)
        return _answer(self._journal, record)


def _not_repeated(tool: Tool) -> PermissionDeniedError:
    return PermissionDeniedError(
        "this call may change something; it was begun before, and it is not known whether it was done",
        code="PERMISSION_DENIED",
        reason="EFFECT_NOT_KNOWN",
        subject=tool.id,
        remedy="Look whether it was done, then confirm that it shall be made again.",
    )


def _client_error(error: Exception, tool: Tool) -> ClientError:
    """Return the error of a call for whatever a tool raised: the journal can give it again."""
    if isinstance(error, EgotoolsError):
        return client_error_of(
            error.grpc_code,
            error.problem,
            subject=error.subject or tool.id,
            remedy=f"{error.remedy}." if error.remedy else "",
        )
    return client_error_of("ABORTED", f"{type(error).__name__}: {error}", subject=tool.id)


def _of_the_run(failed: RunRecord) -> bool:
    """Whether a limit of the run refused the call: the run may go on with another limit."""
    return failed.data.get("reason") == "RUN_LIMIT"


def _answer(journal: RunJournal, record: RunRecord) -> ToolAnswer:
    given = record.data
    return ToolAnswer(
        ok=given["ok"],
        status=given["status"],
        media_type=given["media_type"],
        body=journal.payload(given["body"]),
        size=given["size"],
        notes=tuple(given.get("notes", ())),
        retry_after=given.get("retry_after", ""),
    )


def _may_be_done(record: RunRecord) -> bool:
    """Whether a call that is not known to be finished may have reached its tool."""
    return record.kind == "call_begun" or record.data["code"] not in _NOTHING_SENT
