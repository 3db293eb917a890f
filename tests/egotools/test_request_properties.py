"""What is written into a URL, a form or a header is read back by parsers that know nothing of it, for any values."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from egotools import Argument, Call, build_request
from egotools.calling.http_call import ToolHttpRequest

texts = st.text(st.characters(codec="utf-8"), max_size=30)
values = texts.filter(lambda text: text not in ("", ".", ".."))


def sent(arguments: dict[str, Any], *places: Argument, path: str = "/x", **fields: Any) -> ToolHttpRequest:
    call = Call(protocol="http", servers=("http://h.test",), method="POST", path=path, arguments=places, **fields)
    request = build_request(call, arguments)
    assert isinstance(request, ToolHttpRequest)
    return request


# Expansion by RFC 6570, which the styles of OpenAPI are defined by.
TEMPLATES = [
    ("simple", False, "path", "{a}"),
    ("simple", True, "path", "{a*}"),
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
