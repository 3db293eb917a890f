"""Commands that read the snapshot say how many changes they do not see."""

from __future__ import annotations

import json
from pathlib import Path

from scripts.reliability.changing import Changing, built, row
from tests.services.conftest import Run, run

__all__ = ["run"]


def test_search_and_show_say_what_waits_for_a_merge(run: Run, tmp_path: Path) -> None:
    store = tmp_path / "store"
    built(store)
    for command in (("search", "an invoice"), ("show", row(0)["id"])):
        assert "wait for a merge" not in run(*command, "--store", store)[1]
    changing = Changing(store)
    changing.upsert(row(20), row(21))
    changing.delete(row(20)["id"])
    for command in (("search", "an invoice"), ("show", row(0)["id"])):
        code, printed, _ = run(*command, "--store", store)
        assert code == 0 and "2 changed tools wait for a merge" in printed
        assert json.loads(run(*command, "--store", store, "--json")[1])["waiting_changes"] == 2
