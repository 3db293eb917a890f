"""A proper name is a capitalised word inside a sentence that the catalogue does not know."""

from __future__ import annotations

import pytest

from retrieval.completion.proper_names import has_proper_name
from retrieval.query.query import analyse
from retrieval.query.typed_values import find_values

KNOWN = {"sap": 3, "order": 9, "employee": 4}


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("who is the manager of Darren Pike", True),
        ("what does Kuźnia owe us", True),
        ("movies by Ångström", True),
        ("Show me the latest bookings. Then close them", False),
        ("what happened on Monday and on 4 March", False),
        ("let R2087 and EV-118 through", False),
        ("send the SAP Order to the QA team", False),
        ("is the Sap order there", False),
        ("cancel the meetings with nia", False),
        ("", False),
    ],
)
def test_what_is_a_proper_name(text: str, named: bool) -> None:
    query = analyse(text, None, {}, values=find_values(text))
    assert has_proper_name(query, lambda term: KNOWN.get(term, 0)) is named


def test_a_long_list_of_capitalised_words_takes_bounded_time() -> None:
    asked: list[str] = []

    def frequency(term: str) -> int:
        asked.append(term)
        return 1

    text = "about " + "Sap " * 5_000
    assert not has_proper_name(analyse(text, None, {}), frequency)
    assert len(asked) <= 200
