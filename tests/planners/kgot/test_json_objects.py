"""JSON objects in answers of models: found amid other text, read where they are only written wrongly; nothing else is guessed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planners.kgot.asking import json_objects, without_thoughts

READ: dict[str, tuple[str, list[Any]]] = {
    "a fence": ('```json\n{"a": 1}\n```', [{"a": 1}]),
    "a preface": ('Here it is {really}: {"a": 1}', [{"a": 1}]),
    "text after it": ('{"a": 1} I hope this {helps}', [{"a": 1}]),
    "several": ('{"a": 1} or rather {"a": {"b": 2}}', [{"a": 1}, {"a": {"b": 2}}]),
    "a quote of Python": (r"""{"q": "it\'s"}""", [{"q": "it's"}]),
    "a backslash that begins nothing": (r'{"q": "C:\dir \d+"}', [{"q": "C:\\dir \\d+"}]),
    "hexadecimal": (r'{"q": "\x41\U0001F600\'"}', [{"q": "A😀'"}]),
    "half an escape": (r'{"q": "\u12 \xZZ"}', [{"q": "\\u12 \\xZZ"}]),
    "a line break": ('{"q": "MATCH (n)\nRETURN\tn"}', [{"q": "MATCH (n)\nRETURN\tn"}]),
    "lost braces": ('{"a": {"b": [1, 2]', [{"a": {"b": [1, 2]}}]),
    "a lost bracket before a brace": ('{"a": [1, 2}', [{"a": [1, 2]}]),
    "surplus braces": ('{"a": 1}}]', [{"a": 1}]),
    "commas at the end": ('{"a": [1, 2, ], }', [{"a": [1, 2]}]),
    "a comma before a lost brace": ('{"a": 1,', [{"a": 1}]),
    "a lost bracket amid others": ('{"a": [1, {"b": 2}, "c": 3}', [{"b": 2}]),
    "prose": ("The answer is RETRIEVE.", []),
    "cut amid a string": ('{"a": "MATCH (n', []),
    "cut before a value": ('{"a":', []),
    "no quotes": ("{a: 1}", []),
    "nothing": ("", []),
    "too deep": ('{"a": ' * 5_000, []),
    "NaN": ('{"a": NaN}', []),
    "a list": ("[1]", []),
}


@pytest.mark.parametrize("case", READ)
def test_what_is_read(case: str) -> None:
    text, values = READ[case]
    assert list(json_objects(text)) == values


@given(st.text(alphabet='{}[]",:\\ab1 \n', max_size=25))
def test_whatever_comes_out_is_an_object(text: str) -> None:
    assert all(isinstance(value, dict) and json.dumps(value) for value in json_objects(text))


@pytest.mark.parametrize(
    "text",
    ["<think>Is it {9}?</think> 8", "Is it 9?</think> 8", "8 <think>I am not sure", "<thinking>9\n9</thinking>8"],
)
def test_thoughts_are_not_said(text: str) -> None:
    assert without_thoughts(text).strip() == "8"
