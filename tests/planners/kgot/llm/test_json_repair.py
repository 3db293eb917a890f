"""Repaired JSON: what is only written wrongly is read; nothing is guessed; what was right stays as it is."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planners.kgot.llm.json_repair import repaired_json

REPAIRED: dict[str, tuple[str, Any]] = {
    "a fence": ('```json\n{"a": 1}\n```', {"a": 1}),
    "a fence without a language": ("```\n[1]\n```", [1]),
    "a quote of Python": (r"""{"q": "it\'s"}""", {"q": "it's"}),
    "a backslash that begins nothing": (r'{"q": "C:\dir \d+"}', {"q": "C:\\dir \\d+"}),
    "hexadecimal": (r'{"q": "\x41\U0001F600"}', {"q": "A😀"}),
    "half an escape": (r'{"q": "\u12 \xZZ"}', {"q": "\\u12 \\xZZ"}),
    "a line break": ('{"q": "MATCH (n)\nRETURN\tn"}', {"q": "MATCH (n)\nRETURN\tn"}),
    "a lost brace": ('{"a": {"b": [1, 2]', {"a": {"b": [1, 2]}}),
    "a lost bracket amid others": ('{"a": [1, {"b": 2}, "c": 3}', None),
    "a lost bracket before a brace": ('{"a": [1, 2}', {"a": [1, 2]}),
    "surplus braces": ('{"a": 1}}]', {"a": 1}),
    "a comma at the end": ('{"a": [1, 2, ], }', {"a": [1, 2]}),
    "a comma before a lost brace": ('{"a": 1,', {"a": 1}),
}
REFUSED = {
    "prose": "The answer is RETRIEVE.",
    "prose around": 'Here it is: {"a": 1}',
    "prose after": '{"a": 1} I hope this helps',
    "cut amid a string": '{"a": "MATCH (n',
    "cut before a value": '{"a":',
    "no quotes": "{a: 1}",
    "two objects": '{"a": 1}{"b": 2}',
    "nothing": "",
    "too deep": "[" * 5_000,
    "a stray brace": '{"a": 1, ] "b": 2}',
    "a number": "3",
}


@pytest.mark.parametrize("case", REPAIRED)
def test_what_is_written_wrongly_is_read(case: str) -> None:
    text, value = REPAIRED[case]
    repaired = repaired_json(text)
    assert (json.loads(repaired) if repaired is not None else None) == value


@pytest.mark.parametrize("case", REFUSED)
def test_nothing_is_guessed(case: str) -> None:
    assert repaired_json(REFUSED[case]) is None


@given(st.text(alphabet='{}[]",:\\ab1 \n', max_size=25))
def test_whatever_comes_out_is_json(text: str) -> None:
    repaired = repaired_json(text)
    if repaired is not None:
        json.loads(repaired)
