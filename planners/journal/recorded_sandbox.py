"""Runs of model-written code with a journal: what a run has computed is not computed again, and a replay needs no sandbox."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from ontology.errors import EgotoolsError
from planners.calls.sandbox import Sandbox, SandboxResult
from planners.journal.journal_index import JournalIndex, request_key
from planners.journal.recorded_faults import fault_json, not_recorded, raise_fault
from planners.journal.run_journal import RunJournal, seconds_since

__all__ = ["RecordedSandbox"]

_SANDBOX = "sandbox"


class RecordedSandbox(Sandbox):
    """Writes what each code printed to a journal, and takes it from there afterwards.

    :param inner: None in a replay, which runs nothing.
    """

    def __init__(self, inner: Sandbox | None, journal: RunJournal, *, index: JournalIndex | None = None) -> None:
        super().__init__(*(() if inner is None else (inner.limits,)))
        self._inner = inner
        self._journal = journal
        self._index = index or JournalIndex(journal)

    async def check(self) -> None:
        """See :class:`Sandbox`; a replay needs none."""
        if self._inner is not None:
            await self._inner.check()

    async def run(self, code: str, *, stdin: bytes = b"", files: Mapping[str, Path] | None = None) -> SandboxResult:
        """See :class:`Sandbox`.

        :raises InvalidArgumentError: in a replay, when the run did not run this.
        """
        given = [code, hashlib.sha256(stdin).hexdigest(), sorted(files or ())]
        key = request_key(given)
        nth = self._index.next(_SANDBOX, key)
        earlier = self._index.last(_SANDBOX, key, nth)
        if earlier is not None:
            raise_fault(earlier.data)
            return SandboxResult(**self._journal.payload(earlier.data["result"]))
        if self._inner is None:
            raise not_recorded("the journal does not say what this code printed", subject="sandbox")
        started = time.perf_counter()
        try:
            result = await self._inner.run(code, stdin=stdin, files=files)
        except EgotoolsError as error:
            self._journal.append(
                "sandbox_failed", key=key, nth=nth, seconds=seconds_since(started), **fault_json(error)
            )
            raise
        self._journal.append(
            "sandbox_ended",
            key=key,
            nth=nth,
            ended=result.ended,
            seconds=seconds_since(started),
            arguments=self._journal.keep(given),
            result=self._journal.keep(asdict(result)),
        )
        return result
