"""Retrievals with a journal: a run that goes on, or is replayed, has the tools that it found first."""

from __future__ import annotations

from typing import Protocol

from pydantic import TypeAdapter

from ontology.errors import InvalidArgumentError
from planners.finding.tool_finder import FoundTools
from planners.runs.run_journal import RunJournal

__all__ = ["RecordedFinder"]

_FOUND = TypeAdapter(FoundTools)


class _Finder(Protocol):
    async def find(self, request: str) -> FoundTools: ...


class RecordedFinder:
    """Asks for the tools of each request once in the life of a run.

    :param inner: None in a replay, which asks nobody.
    """

    def __init__(self, inner: _Finder | None, journal: RunJournal) -> None:
        self._inner = inner
        self._journal = journal
        self._known = {each.data["request"]: each.data["tools"] for each in journal.records if each.kind == "found"}

    async def find(self, request: str) -> FoundTools:
        """Return the tools for a request.

        :raises InvalidArgumentError: in a replay, when the run did not ask it.
        :raises ClientError: when the server does not answer, or refuses.
        """
        if request not in self._known:
            if self._inner is None:
                problem = "the journal has no answer of the tool service to this request"
                raise InvalidArgumentError(problem, subject=request, remedy="Replay with the same request and domain")
            found = await self._inner.find(request)
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
