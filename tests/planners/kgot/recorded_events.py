"""The events of a recorded run as lines that tests compare."""

from __future__ import annotations

from ontology.json_values import canonical_text
from planners.journal.run_journal import RunJournal


def event_lines(journal: RunJournal) -> bytes:
    """Return canonical JSON without measured seconds, an event a line: equal runs give equal bytes. Of an event told anew the last counts."""
    whats = {each.data["nth"]: dict(each.data["what"]) for each in journal.records if each.kind == "event"}
    count = journal.end["events"] if journal.end is not None else len(whats)
    lines = [{name: value for name, value in whats[nth].items() if name != "seconds"} for nth in range(count)]
    return "".join(f"{canonical_text(line)}\n" for line in lines).encode("utf-8", "surrogatepass")
