"""What is written into a URL, a form or a header is read back by parsers that know nothing of it, for any values."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from egotools import Argument, Call, build_request
from egotools.calling.http_call import ToolHttpRequest
from egotools.calling.odata_literals import odata_literal

texts = st.text(st.characters(codec="utf-8"), max_size=30)
values = texts.filter(lambda text: text not in ("", ".", ".."))
items = st.lists(texts, min_size=1, max_size=5)
objects = st.dictionaries(texts.filter(bool), texts, min_size=1, max_size=5)
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


def raw_path(request: ToolHttpRequest) -> str:
    return urlsplit(request.url.raw_path.decode("ascii")).path


def pairs(request: ToolHttpRequest) -> list[tuple[str, str]]:
    return parse_qsl(request.url.query.decode("ascii"), keep_blank_values=True, strict_parsing=bool(request.url.query))


@given(first=values, second=values)
def test_a_value_of_the_path_is_one_segment(first: str, second: str) -> None:
    places = (Argument(name="a", location="path"), Argument(name="b", location="path"))
    request = sent({"a": first, "b": second}, *places, path="/x/{a}/y/{b}")
    assert [unquote(part) for part in raw_path(request).split("/")] == ["", "x", first, "y", second]
    assert request.url.host == "h.test"
    assert request.url.query == b""


@given(name=texts.filter(bool), value=texts, other=texts)
def test_a_query_is_read_back(name: str, value: str, other: str) -> None:
    places = (Argument(name="a", location="query", wire_name=name), Argument(name="b", location="query", wire_name="z"))
    assert pairs(sent({"a": value, "b": other}, *places)) == [(name, value), ("z", other)]


@given(value=items)
def test_a_list_is_read_back(value: list[str]) -> None:
    assert pairs(sent({"a": value}, Argument(name="a", location="query"))) == [("a", item) for item in value]
    raw = sent({"a": value}, Argument(name="a", location="query", explode=False)).url.query.decode("ascii")
    assert [unquote(item) for item in raw.removeprefix("a=").split(",")] == value


@given(value=objects)
def test_an_object_is_read_back(value: dict[str, str]) -> None:
    assert dict(pairs(sent({"a": value}, Argument(name="a", location="query")))) == value
    deep = pairs(sent({"a": value}, Argument(name="a", location="query", style="deepObject")))
    assert deep == [(f"a[{key}]", text) for key, text in value.items()]


@given(value=json_values)
def test_json_is_read_back(value: Any) -> None:
    if value is None:
        return
    query = sent({"a": value}, Argument(name="a", location="query", style="json"))
    assert json.loads(dict(pairs(query))["a"]) == value
    body = sent({"a": value}, Argument(name="a", location="body"), media_type="application/json")
    assert json.loads(body.content) == {"a": value}


@given(value=objects, other=texts)
def test_a_form_is_read_back(value: dict[str, str], other: str) -> None:
    places = (Argument(name="a", location="form"), Argument(name="b", location="form"))
    request = sent({"a": value, "b": other}, *places, media_type="application/x-www-form-urlencoded")
    read = parse_qsl(request.content.decode("ascii"), keep_blank_values=True)
    assert read == [*((f"a[{key}]", text) for key, text in value.items()), ("b", other)]


@given(value=texts)
def test_a_text_of_odata_is_one_literal(value: str) -> None:
    literal = odata_literal(value, "Edm.String", version="v2", name="k")
    assert literal[0] == literal[-1] == "'"
    inner = literal[1:-1]
    assert inner.replace("''", "'") == value
    assert "'" not in inner.replace("''", "")


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


@given(value=st.text(st.characters(codec="utf-8", exclude_characters="?#%[]"), min_size=1, max_size=30))
def test_reserved_expansion_against_another_implementation(value: str) -> None:
    expand = pytest.importorskip("uritemplate").expand
    text = f"-{value.replace('.', '-')}-"
    request = sent({"a": text}, Argument(name="a", location="path"), path="/x/{+a}")
    assert str(request.url) == "http://h.test/x/" + expand("{+a}", a=text)
