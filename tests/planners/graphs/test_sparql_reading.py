"""What passes the allow-list is read by engines as it was checked: no text leads them to an address."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ontology.errors import StatementError
from planners.graphs.rdf.sparql_allow_list import allowed_query, allowed_update

pyoxigraph = pytest.importorskip("pyoxigraph", reason="the extra `rdf` is not installed")

_TRIPLE = '<urn:a> <urn:egotools:name:b> "\'" .'
# Each hides the rest in what one reader takes for an IRI, a string, a comment or a name, and another for something else.
_OPENING = [
    "FILTER(1<'>'||true)",
    "FILTER(?o<p:b#>'''\n)",
    "FILTER('a'<\">\"||true)",
    "FILTER(1 <urn:a#>'''\n)",
    "FILTER(1<\\u0027>'||true)",
]
_OPENING += [
    "FILTER('\\\\u0027'!='')",
    'FILTER(""""""<\'>\'||1)',
    "FILTER(1 IN(2<'>'))",
    "?s ?p (1 <'>'), 2.",
    "?s :p?'",
    "#\n",
    "?s ?p '''''.",
    "",
]
_CLOSING = [
    "FILTER(' ,<'>1||true)",
    "#'''\n",
    'FILTER(" ,<">1||true)',
    "FILTER('''>1||true)",
    "FILTER(' <urn:x#>1)#'",
    "#",
    "'",
    "'''",
    "",
]
_WORD = ["SERVICE ", "SERVICE SILENT", "service", "SERVICEq:x ", "\\u0053ERVICE", "?s ?p <urn:x>.SERVICE", "SERVICE#\n"]
_NOISE = st.sampled_from(
    [*"<>'\"#()&|{}\n\\?:@.1", "<'", "'>", "'''", '"""', "^^", "urn:a", "p:b", " ", "true", "||", "FILTER(", "<urn:a>"]
)


@pytest.fixture(scope="module")
def listener() -> Iterator[tuple[str, list[str]]]:
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_error(404)

        do_POST = do_GET

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/", asked
        server.shutdown()
        thread.join()


def _store() -> Any:
    store = pyoxigraph.Store()
    store.load(_TRIPLE.encode(), pyoxigraph.RdfFormat.N_TRIPLES)
    return store


def _query(text: str) -> None:
    list(_store().query(text))


def _update(text: str) -> None:
    _store().update(text)


def _asks(listener: tuple[str, list[str]], run: Callable[[str], object], text: str) -> list[str]:
    listener[1].clear()
    try:
        run(text)
    except (SyntaxError, ValueError, OSError, RuntimeError):
        pass
    return list(listener[1])


_TEXT = st.lists(_NOISE, max_size=6).map("".join)


def _texts(address: str, opening: str, word: str, closing: str) -> tuple[str, str]:
    prefix = f"PREFIX q: <{address}> "
    service = f"{opening} {word} <{address}> {{ ?s2 ?p2 ?o2 }} {closing}"
    if "q:" in word:
        service = service.replace(f"<{address}>", "")
    pattern = f"{{ ?s ?p ?o {opening} }}"
    load = f"INSERT {{ :a :b 1 }} WHERE {pattern} ; LOAD <{address}l.nt> ; INSERT {{ :a :b 1 }} WHERE {{ {closing} }}"
    return f"{prefix}SELECT * {{ ?s ?p ?o {service} }}", load


def test_the_listener_hears_an_engine(listener: tuple[str, list[str]]) -> None:
    query, update = _texts(listener[0], "FILTER(1<'>'||true)", "SERVICE", "FILTER(' ,<'>1||true)")
    assert _asks(listener, _query, query)
    assert _asks(listener, _update, f"PREFIX : <urn:> {update}")


@pytest.mark.parametrize("word", _WORD)
@pytest.mark.parametrize("opening", _OPENING)
def test_no_text_of_the_collection_leads_to_an_address(
    listener: tuple[str, list[str]], opening: str, word: str
) -> None:
    for closing in _CLOSING:
        _check(listener, _texts(listener[0], opening, word, closing))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    opening=_TEXT,
    word=st.sampled_from(_WORD),
    closing=_TEXT,
    start=st.sampled_from(_OPENING),
    end=st.sampled_from(_CLOSING),
)
def test_no_text_leads_to_an_address(
    listener: tuple[str, list[str]], opening: str, word: str, closing: str, start: str, end: str
) -> None:
    _check(listener, _texts(listener[0], start + opening, word, closing + end))


def _check(listener: tuple[str, list[str]], texts: tuple[str, str]) -> None:
    query, update = texts
    try:
        assert _asks(listener, _query, allowed_query(query, {}, 10)) == [], query
    except StatementError:
        pass
    try:
        assert _asks(listener, _update, allowed_update(update, {})) == [], update
    except StatementError:
        pass
