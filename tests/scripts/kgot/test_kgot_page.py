"""The tables of the page, from figures that a test gives."""

from __future__ import annotations

from scripts.kgot.kgot_page import page_blocks


def test_a_store_of_which_not_all_tasks_were_run_says_so() -> None:
    rows = [
        {"store": "ladybug", "retrieve": "query", "solved": 83, "in_graph": 84, "tasks": 84},
        {"store": "ladybug", "retrieve": "script", "solved": 62, "in_graph": 63, "tasks": 63},
    ]
    lines = page_blocks({"oracle": rows})["oracle"].splitlines()
    assert lines[2:] == [
        "| ladybug | query | 83 of 84 | 84 of 84 |",
        "| ladybug | script | 62 of 63 run, of 84 | 63 of 63 run, of 84 |",
    ]
