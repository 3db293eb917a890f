"""Retrievals with a journal: a run that goes on, or is replayed, has the tools that it found first."""

from __future__ import annotations

from pydantic import TypeAdapter

from egotools.client_errors import ClientError
from ontology.errors import InvalidArgumentError
from planners.calls.tool_finder import Finder, FoundTools
from planners.journal.journal_index import JournalIndex, request_key
from planners.journal.recorded_faults import client_fault, client_fault_json
from planners.journal.run_journal import RunJournal

__all__ = ["RecordedFinder"]

_FOUND = TypeAdapter(FoundTools)


class RecordedFinder:
    """Asks for the tools of each request once in the life of a run.

    :param inner: None in a replay, which asks nobody.
    :param index: of the journal, where a search that failed is written too and fails again: the run goes on as it went.
    """

    def __init__(self, inner: Finder | None, journal: RunJournal, *, index: JournalIndex | None = None) -> None:
        self._inner = inner
        self._journal = journal
        self._index = index
        self._known = {each.data["request"]: each.data["tools"] for each in journal.records if each.kind == "found"}

    async def find(self, request: str) -> FoundTools:
        """Return the tools for a request.

        :raises InvalidArgumentError: in a replay, when the run did not ask it.
        :raises ClientError: when the server does not answer, or refuses.
        """
        nth = self._nth(request)
        if request not in self._known:
            if self._inner is None:
                problem = "the journal has no answer of the tool service to this request"
                raise InvalidArgumentError(problem, subject=request, remedy="Replay with the same request and domain")
            try:
                found = await self._inner.find(request)
            except ClientError as error:
                if self._index is not None:
                    fault = client_fault_json(error)
                    self._journal.append("find_failed", key=request_key(request), nth=nth, **fault)
                raise
            digest = self._journal.keep(_FOUND.dump_python(found, mode="json"))
            self._journal.append(
                "found",
                request=request,
                snapshot=found.snapshot_id,
                ids=[each.tool.id for each in found.tools],
                tools=digest,
            )
            self._known[request] = digest
        return _FOUND.validate_python(self._journal.payload(self._known[request]))

    def _nth(self, request: str) -> int:
        """Count a search.

        :raises ClientError: when the same one failed in an earlier process.
        """
        if self._index is None:
            return 0
        key = request_key(request)
        nth = self._index.next("find", key)
        failed = self._index.last("find", key, nth)
        if failed is not None:
            raise client_fault(failed.data)
        return nth
