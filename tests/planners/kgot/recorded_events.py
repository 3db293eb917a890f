"""The events of a recorded run as lines that tests compare."""

from __future__ import annotations

from ontology.json_object import canonical_text
from planners.journal.run_journal import RunJournal
from planners.kgot.recorded_run import _event_of

__all__ = ["event_lines"]


def event_lines(journal: RunJournal) -> bytes:
    """Return canonical JSON without measured seconds, an event a line: equal runs give equal bytes. Of an event told anew the last counts."""
    events = {each.data["nth"]: _event_of(journal, each) for each in journal.records if each.kind == "event"}
    count = journal.end["events"] if journal.end is not None else len(events)
    lines = "".join(canonical_text(events[nth]) + "\n" for nth in range(count))
    return lines.encode("utf-8", "surrogatepass")
