"""What is written into a URL, a form or a header is read back by parsers that know nothing of it, for any values."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from egotools import Argument, Call, build_request
from egotools.calling.http_call import ToolHttpRequest

texts = st.text(st.characters(codec="utf-8"), max_size=30)
values = texts.filter(lambda text: text not in ("", ".", ".."))
items = st.lists(texts, min_size=1, max_size=5)
json_values = st.recursive(
    st.booleans() | st.integers() | texts | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)


def sent(arguments: dict[str, Any], *places: Argument, path: str = "/x", **fields: Any) -> ToolHttpRequest:
    call = Call(protocol="http", servers=("http://h.test",), method="POST", path=path, arguments=places, **fields)
    request = build_request(call, arguments)
    assert isinstance(request, ToolHttpRequest)
    return request


def pairs(request: ToolHttpRequest) -> list[tuple[str, str]]:
    return parse_qsl(request.url.query.decode("ascii"), keep_blank_values=True, strict_parsing=bool(request.url.query))


@given(value=json_values)
def test_json_is_read_back(value: Any) -> None:
    if value is None:
        return
    query = sent({"a": value}, Argument(name="a", location="query", style="json"))
    assert json.loads(dict(pairs(query))["a"]) == value
    body = sent({"a": value}, Argument(name="a", location="body"), media_type="application/json")
    assert json.loads(body.content) == {"a": value}


# Expansion by RFC 6570, which the styles of OpenAPI are defined by.
TEMPLATES = [
    ("simple", False, "path", "{a}"),
    ("simple", True, "path", "{a*}"),
    ("label", False, "path", "{.a}"),
    ("label", True, "path", "{.a*}"),
    ("matrix", False, "path", "{;a}"),
    ("matrix", True, "path", "{;a*}"),
    ("form", False, "query", "{?a}"),
    ("form", True, "query", "{?a*}"),
]


@pytest.mark.parametrize(("style", "explode", "location", "template"), TEMPLATES, ids=[row[3] for row in TEMPLATES])
@given(
    value=values | st.lists(values, min_size=1, max_size=4) | st.dictionaries(values, values, min_size=1, max_size=4)
)
def test_against_another_implementation(style: str, explode: bool, location: str, template: str, value: Any) -> None:
    expand = pytest.importorskip("uritemplate").expand
    place = Argument(name="a", location=location, style=style, explode=explode)
    path = "/x/-{a}" if location == "path" else "/x"
    if isinstance(value, dict):
        value = dict(sorted(value.items()))  # the order in which the other writes them
    expected = "http://h.test/x" + ("/-" if location == "path" else "") + expand(template, a=value)
    assert str(sent({"a": value}, place, path=path).url) == expected
