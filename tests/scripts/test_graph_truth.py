"""The truth of query graphs over tables small enough to see it."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from datagen.personal import TruthTables, write_personal_data
from datagen.personal.write_personal_data import TODAY
from planners.dfs.request_set import request_set
from scripts.execution_accuracy import named_anew
from scripts.graph_truth import true_answer
from tests.planners.dfs.personal_tables import graph_of


@pytest.fixture(scope="module")
def truth() -> TruthTables:
    """Three mails: two of Ann with a file each, one of Bea to the user; Ann and Bea were at one party."""
    tables = TruthTables()
    for name in ("Ann", "Bea"):
        tables.add("Person", name.casefold(), name=name, email_addresses=[f"{name}@example.com"])
    mails = [("e1", "ann", "2025-01-10"), ("e2", "ann", "2025-01-12"), ("e3", "bea", "2025-02-01")]
    for id_, sender, day in mails:
        tables.add("Email", id_, subject=f"About {id_}", content="text", sent_at=f"{day}T12:00:00+00:00")
        tables.link(("Email", id_), "from", ("Person", sender))
        tables.link(("Email", id_), "sent_on", ("Date", f"{day}/{day[:-2]}{int(day[-2:]) + 1:02}"))
    for id_, name in (("e1", "a.pdf"), ("e2", "b.TXT")):
        tables.add("File", name, name=name)
        tables.link(("Email", id_), "has_attachment", ("File", name))
    tables.add("Event", "party", name="Party")
    for person in ("ann", "bea"):
        tables.link(("Person", person), "attended", ("Event", "party"))
    tables.link(("Email", "e3"), "to", ("Self", "self"))
    return tables


@pytest.mark.parametrize(
    ("returned", "mode", "constraints", "wanted"),
    [
        ("p1", "all", "p1 attended ev; p attended ev; p.name = ann", ["bea"]),  # two people are two
        ("e", "all", "e from p; p.email_address = ann@EXAMPLE.com", ["e1", "e2"]),
        ("e", "all", "e sent_on d; d.value = in January 2025", ["e1", "e2"]),
        ("e", "all", "e sent_on d; d.value > 2025-01-12", ["e2", "e3"]),
        ("e", "one", "e sent_on d; e.ordinal = last; d.value < 2025-02-01", ["e2"]),
        ("f", "all", "e has_attachment f; f.extension = txt", ["b.TXT"]),
        ("d", "all", "e sent_on d; e to self", ["2025-02-01/2025-02-02"]),
        ("d", "all", "e1 sent_on d; e2 sent_on d; e1 from p", []),  # no two mails share a day
        ("e", "one", "e from p; e.subject contains ABOUT", ["e1"]),
    ],
)
def test_the_answer_is_what_the_tables_say(
    truth: TruthTables, returned: str, mode: str, constraints: str, wanted: list[str]
) -> None:
    assert true_answer(graph_of(returned, mode, constraints), truth, date(2026, 2, 15)) == wanted


def test_requests_get_names_that_have_an_answer(tmp_path: Path) -> None:
    truth = write_personal_data(tmp_path / "home", messages=60, seed=3)
    gold = next(each for each in request_set("personal") if each.id == "personal-006")
    anew = named_anew(gold, truth)
    (name,) = (str(each.value) for each in anew.graph.filters)
    assert name in anew.request and name in {fields["name"] for fields in truth.entities["Person"].values()}
    assert true_answer(anew.graph, truth, TODAY)
