"""What passes the allow-list is read by engines as it was checked: no text leads them to an address."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ontology.errors import StatementError
from planners.stores.statements import allowed_sparql
from tests.harness.http_server import Loopback, Reply

pyoxigraph = pytest.importorskip("pyoxigraph", reason="the extra `rdf` is not installed")

_TRIPLE = '<urn:a> <urn:egotools:name:b> "\'" .'
# Each hides the rest in what one reader takes for an IRI, a string, a comment or a name, and another for something else.
_OPENING = [
    "FILTER(1<'>'||true)",
    "FILTER(?o<p:b#>'''\n)",
    "FILTER('a'<\">\"||true)",
    "FILTER(1<\\u0027>'||true)",
    "?s :p?'",
    "#\n",
    "",
]
_CLOSING = ["FILTER(' ,<'>1||true)", "#'''\n", 'FILTER(" ,<">1||true)', "FILTER(' <urn:x#>1)#'", "'", ""]
_WORD = ["SERVICE ", "SERVICE SILENT", "SERVICEq:x ", "\\u0053ERVICE", "?s ?p <urn:x>.SERVICE", "SERVICE#\n"]
_NOISE = st.sampled_from(
    [*"<>'\"#()&|{}\n\\?:@.1", "<'", "'>", "'''", '"""', "^^", "urn:a", "p:b", " ", "true", "||", "FILTER(", "<urn:a>"]
)


@pytest.fixture(scope="module")
def listener() -> Iterator[Loopback]:
    with Loopback(lambda arrived: Reply(status=404)) as server:
        yield server


def _store() -> Any:
    store = pyoxigraph.Store()
    store.load(_TRIPLE.encode(), pyoxigraph.RdfFormat.N_TRIPLES)
    return store


def _query(text: str) -> None:
    list(_store().query(text))


def _asks(listener: Loopback, text: str) -> list[str]:
    listener.arrived.clear()
    try:
        _query(text)
    except (SyntaxError, ValueError, OSError, RuntimeError):
        pass
    return [arrived.path for arrived in listener.arrived]


_TEXT = st.lists(_NOISE, max_size=6).map("".join)


def _text(address: str, opening: str, word: str, closing: str) -> str:
    service = f"{opening} {word} <{address}> {{ ?s2 ?p2 ?o2 }} {closing}"
    if "q:" in word:
        service = service.replace(f"<{address}>", "")
    return f"PREFIX q: <{address}> SELECT * {{ ?s ?p ?o {service} }}"


def test_the_listener_hears_an_engine(listener: Loopback) -> None:
    assert _asks(listener, _text(f"{listener.url}/", "FILTER(1<'>'||true)", "SERVICE", "FILTER(' ,<'>1||true)"))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    opening=_TEXT,
    word=st.sampled_from(_WORD),
    closing=_TEXT,
    start=st.sampled_from(_OPENING),
    end=st.sampled_from(_CLOSING),
)
def test_no_text_leads_to_an_address(
    listener: Loopback, opening: str, word: str, closing: str, start: str, end: str
) -> None:
    query = _text(f"{listener.url}/", start + opening, word, closing + end)
    try:
        allowed = allowed_sparql(query)
    except StatementError:
        return
    assert _asks(listener, allowed) == [], query
