"""Faults of a function: which there are, that each runs, and that they are found again in another tree."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.mutation import Mutation, faulty, find, mutations

TEXT = '''
class Shop:
    def price(self, pounds: int = 3) -> "int":
        """What it costs."""
        if pounds > 10 and "é":
            raise ValueError(f"{pounds} is 1 too many")
        self.sold = pounds
        return pounds * 2
'''
FAULTS = list(mutations(TEXT, "shop.py"))


def _price(fault: Mutation, pounds: int) -> Any:
    names: dict[str, Any] = {}
    exec(faulty(TEXT, fault), names)
    shop = names["Shop"]()
    return shop.price(pounds), getattr(shop, "sold", None)


@pytest.mark.parametrize(
    ("kind", "before", "pounds", "result"),
    [
        ("negated condition", "pounds > 10 and 'é'", 20, (40, 20)),
        ("operator", "pounds * 2", 4, (6, 4)),
        ("constant", "10", 11, (22, 11)),
        ("constant", "2", 4, (12, 4)),
        ("empty return", "return pounds * 2", 4, (None, 4)),
        ("dropped statement", "self.sold = pounds", 4, (8, None)),
        ("dropped statement", "raise ValueError(f'{pounds} is 1 too many')", 20, (40, 20)),
    ],
)
def test_a_fault_changes_what_the_function_does(kind: str, before: str, pounds: int, result: object) -> None:
    (fault,) = [one for one in FAULTS if (one.kind, one.before) == (kind, before)]
    assert _price(fault, pounds) == result


def test_texts_and_types_get_no_fault() -> None:
    assert {one.before for one in FAULTS if one.kind == "constant"} == {"10", "'é'", "2"}
    assert list(mutations("def short() -> int:\n    return 1\n", "short.py")) == []


def test_a_fault_is_found_where_its_function_went() -> None:
    moved = [replace(one, file="goods.py") for one in FAULTS]
    other = list(mutations(TEXT.replace("* 2", "* 5"), "shop.py"))
    fault = next(one for one in FAULTS if one.before == "pounds * 2")
    assert find(FAULTS, fault) is fault
    assert find(moved, fault) == fault and find([*moved, *FAULTS], fault) is fault
    assert (find(other, fault), find([], fault)) == ("changed", "deleted")
