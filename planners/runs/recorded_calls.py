"""Calls of tools with a journal: what a run has finished is not called again, and a finished run is replayed without any tool."""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Mapping
from typing import Any

from egotools import ClientError, PermissionDeniedError, Tool
from egotools.calling.invoker import ToolInvoker
from egotools.calling.tool_answer import ToolAnswer
from egotools.client_errors import client_error_of
from ontology.errors import InvalidArgumentError
from ontology.json_object import canonical_text
from planners.calling.consent import Ask, never
from planners.runs.account import rows_of
from planners.runs.run_journal import RunJournal, RunRecord

__all__ = ["RecordingInvoker", "ReplayInvoker"]

_CALL_KINDS = ("call_begun", "call_ended", "call_failed")
_NOTHING_SENT = ("INVALID_ARGUMENT", "PERMISSION_DENIED", "FAILED_PRECONDITION")


class _Calls:
    """The calls of a journal by tool, arguments and how often the same call was made before."""

    def __init__(self, journal: RunJournal) -> None:
        self._made: Counter[str] = Counter()
        self.last: dict[tuple[str, int], RunRecord] = {}
        for record in journal.records:
            if record.kind in _CALL_KINDS:
                if not {"key", "nth"} <= record.data.keys():
                    raise InvalidArgumentError(
                        f"record {record.n} of the journal names no call",
                        subject="journal",
                        remedy="Give the journal of a run",
                    )
                self.last[record.data["key"], record.data["nth"]] = record

    def next(self, tool: Tool, arguments: Mapping[str, Any]) -> tuple[str, int]:
        """Return the key of the next call: which call, and its number among equal ones."""
        key = hashlib.sha256(canonical_text([tool.id, dict(arguments)]).encode("utf-8", "surrogatepass")).hexdigest()
        self._made[key] += 1
        return key, self._made[key] - 1


class RecordingInvoker:
    """Writes each call to a journal before and after it is made, and answers from the journal what an earlier process has finished.

    A call that was begun and not finished is made again where it only reads. Of one that may write it is not known whether it was
    done; ``repeat`` is asked.

    :param repeat: whether a write whose effect is not known shall be made again.
    """

    def __init__(
        self,
        inner: ToolInvoker,
        journal: RunJournal,
        *,
        repeat: Ask = never,
    ) -> None:
        self._inner = inner
        self._journal = journal
        self._repeat = repeat
        self._calls = _Calls(journal)
        self.answered = 0
        """Number of calls that the journal answered."""

    async def invoke(self, tool: Tool, arguments: Mapping[str, Any]) -> ToolAnswer:
        """See :class:`ToolInvoker`.

        :raises StorageError: when the journal cannot be written; the call is then not made, or its answer is lost.
        """
        key, nth = self._calls.next(tool, arguments)
        earlier = self._calls.last.get((key, nth))
        if earlier is not None and earlier.kind == "call_ended":
            self.answered += 1
            return _answer(self._journal, earlier)
        reads = tool.effect == "read"
        if earlier is not None and _may_be_done(earlier) and not reads:
            if not await self._repeat(tool, arguments):
                raise PermissionDeniedError(
                    "this call may change something; it was begun before, and it is not known whether it was done",
                    code="PERMISSION_DENIED",
                    reason="EFFECT_NOT_KNOWN",
                    subject=tool.id,
                    remedy="Look whether it was done, then confirm that it shall be made again.",
                )
        self._journal.append(
            "call_begun",
            key=key,
            nth=nth,
            tool=tool.id,
            reads=reads,
            arguments=self._journal.keep(dict(arguments)),
        )
        started = time.perf_counter()
        try:
            answer = await self._inner.invoke(tool, arguments)
        except ClientError as error:
            failure = {name: getattr(error, name) for name in ("code", "message", "reason", "subject", "remedy")}
            self._journal.append("call_failed", key=key, nth=nth, tool=tool.id, seconds=_since(started), **failure)
            raise
        self._journal.append(
            "call_ended",
            key=key,
            nth=nth,
            tool=tool.id,
            seconds=_since(started),
            ok=answer.ok,
            status=answer.status,
            media_type=answer.media_type,
            size=answer.size,
            rows=rows_of(answer.body),
            body=self._journal.keep(answer.body),
        )
        return answer


class ReplayInvoker:
    """Answers every call from a journal, its failures too; it calls nothing."""

    def __init__(self, journal: RunJournal) -> None:
        self._journal = journal
        self._calls = _Calls(journal)

    async def invoke(self, tool: Tool, arguments: Mapping[str, Any]) -> ToolAnswer:
        """See :class:`ToolInvoker`.

        :raises InvalidArgumentError: when the run did not make this call, or was killed amid it.
        """
        record = self._calls.last.get(self._calls.next(tool, arguments))
        if record is None or record.kind == "call_begun":
            raise InvalidArgumentError(
                "the journal has no answer to this call",
                subject=tool.id,
                remedy="Replay with the same request and domain",
            )
        if record.kind == "call_failed":
            given = {name: str(record.data.get(name, "")) for name in ("reason", "subject", "remedy")}
            raise client_error_of(record.data["code"], record.data["message"], **given)
        return _answer(self._journal, record)


def _answer(journal: RunJournal, record: RunRecord) -> ToolAnswer:
    given = record.data
    return ToolAnswer(
        ok=given["ok"],
        status=given["status"],
        media_type=given["media_type"],
        body=journal.payload(given["body"]),
        size=given["size"],
    )


def _may_be_done(record: RunRecord) -> bool:
    """Whether a call that is not known to be finished may have reached its tool."""
    return record.kind == "call_begun" or record.data["code"] not in _NOTHING_SENT


def _since(started: float) -> float:
    return round(time.perf_counter() - started, 6)
