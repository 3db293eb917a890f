"""Write the shipped questions: ``python -m scripts.graphseek.write_tasks [--snapshot STORE] [--countries FOLDER]``.

Those on the EV graph are always written, those on the tool graph with a store of the shipped catalogue, those on countries with the
folder of the unpacked npm package ``world-countries`` and ``pycountry`` installed.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.ev_graph.ev_tables import ev_tables
from retrieval.snapshot.reader import open_snapshot
from scripts.graphseek.countries_questions import countries_questions
from scripts.graphseek.ev_frames import ev_frames
from scripts.graphseek.ev_questions import ev_questions
from scripts.graphseek.ev_use_cases import ev_use_cases
from scripts.graphseek.question import TASKS, Question, write_questions
from scripts.graphseek.tool_graph_questions import tool_graph_questions

__all__ = ["all_ev_questions", "main"]


def all_ev_questions(scale: float = 1.0) -> list[Question]:
    """Return the 15 questions, the use cases, and those that show failures, with the truths of a graph of this size."""
    frames = ev_frames(ev_tables(scale))
    asked = ev_questions(frames)
    return [*asked, *ev_use_cases(frames, asked)]


def main(arguments: list[str] | None = None) -> int:
    """Write the files; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--snapshot", type=Path, help="store of examples/enterprise/catalog")
    parser.add_argument("--countries", type=Path, help="folder of the unpacked npm package world-countries")
    options = parser.parse_args(arguments)
    write_questions(TASKS / "ev.jsonl", all_ev_questions())
    if options.snapshot:
        write_questions(TASKS / "tool_graph.jsonl", tool_graph_questions(open_snapshot(options.snapshot)))
    if options.countries:
        write_questions(TASKS / "countries.jsonl", countries_questions(options.countries))
    return 0


if __name__ == "__main__":
    sys.exit(main())
