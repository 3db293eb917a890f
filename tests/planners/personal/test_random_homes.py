"""Data of other seeds: every edge, and every entity, is that of the truth."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.personal import write_personal_data
from benchmarks.personal.write_personal_data import TODAY, ZONE
from planners.personal import PersonalData, index_in_use, personal_tools, refresh_index
from tests.planners.personal.edge_tools import FINDERS, TOOLS, all_of, call_tool, lookup_of


@pytest.mark.slow
@settings(max_examples=6)
@given(seed=st.integers(0, 2**32), messages=st.integers(50, 120))
def test_every_edge_of_any_data(tmp_path_factory: pytest.TempPathFactory, seed: int, messages: int) -> None:
    folder: Path = tmp_path_factory.mktemp("home")
    truth = write_personal_data(folder, messages=messages, seed=seed)
    report = refresh_index(PersonalData.below(folder, zone=ZONE), folder / "index.sqlite", today=TODAY)
    assert report.faults == ()
    with index_in_use(folder / "index.sqlite"):
        for kind, find in FINDERS.items():
            (found,) = (value for value in getattr(personal_tools, find)().values() if isinstance(value, list))
            assert {each["id"] for each in found} == set(truth.entities.get(kind, ())), kind
        for signature, names in TOOLS.items():
            for name, forward in zip(names, (True, False), strict=True):
                asked = sorted(all_of(truth, signature[0 if forward else 2]))
                found = call_tool(name, lookup_of(signature, forward=forward), asked)
                pairs = {(each["source_id"], each["id"])[:: 1 if forward else -1] for each in found}
                assert pairs == truth.pairs(*signature), name
