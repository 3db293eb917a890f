"""A live OpenAPI document, from a server that the test runs itself."""

import contextlib
import gzip
import json
import logging
import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from ingest.sources import read_catalog
from ingest.sources.fetch import fetch
from ontology.errors import CatalogError, DocumentError

SPEC = {
    "openapi": "3.1.0",
    "info": {"title": "Live", "version": "1"},
    "servers": [{"url": "/api"}, {"url": "https://far.test/v1"}, {"url": "//["}],
    "paths": {
        "/things": {"get": {"operationId": "listThings", "responses": {}}},
        "/other": {"get": {"operationId": "other", "parameters": [{"$ref": "other.json#/x"}]}},
    },
}
LOCATIONS = {"/away": "ftp://127.0.0.1/x", "/port": "http://127.0.0.1:99999/x"}


class Handler(BaseHTTPRequestHandler):
    asked: list[str]

    def do_GET(self) -> None:
        self.server.asked.append(self.path)  # type: ignore[attr-defined]
        body = json.dumps(SPEC).encode()
        status = 200
        if self.path.startswith("/packed"):
            body = gzip.compress(body)
        elif self.path.startswith("/huge"):
            body = b" " * 5000
        elif self.path.startswith("/gone"):
            status = 404
        elif self.path.startswith(("/away", "/moved", "/port")):
            status = 302
        self.send_response(status)
        if status == 302:
            self.send_header("Location", LOCATIONS.get(self.path, "/openapi.json"))
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.path.startswith("/slow"):
            with contextlib.suppress(OSError):
                for _ in body:
                    self.wfile.write(b" ")
                    time.sleep(0.05)
            return
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Tests are quiet."""


@pytest.fixture
def server() -> Iterator[tuple[str, list[str]]]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        http.asked = []  # type: ignore[attr-defined]
        thread = threading.Thread(target=http.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{http.server_port}", http.asked  # type: ignore[attr-defined]
        http.shutdown()
        thread.join()


@pytest.mark.parametrize("path", ["/openapi.json", "/packed/openapi.json", "/moved", "/v3/api-docs"])
def test_a_live_document(server: tuple[str, list[str]], path: str) -> None:
    url, _ = server
    catalog = read_catalog([url + path])
    assert [tool.name for tool in catalog.tools] == ["listThings"]
    assert catalog.documents[0].format == "openapi.v1"


def test_a_live_document_makes_nothing_else_be_fetched(server: tuple[str, list[str]]) -> None:
    url, asked = server
    catalog = read_catalog([f"{url}/openapi.json"])
    assert asked == ["/openapi.json"]
    assert [record.reason for record in catalog.rejected] == ["dangling-ref"]


@pytest.mark.parametrize("location", ["/openapi.json", "http://localhost:PORT/openapi.json"])
def test_a_public_host_does_not_redirect_into_an_inner_network(
    server: tuple[str, list[str]], monkeypatch: pytest.MonkeyPatch, location: str
) -> None:
    """Also not by a name server that has another answer the second time."""
    url, asked = server
    port = int(url.rpartition(":")[2])
    answers = iter(["93.184.215.14"])
    resolve = socket.getaddrinfo

    def rebound(host: str | bytes, *rest: Any, **named: Any) -> Any:
        return resolve(next(answers, "127.0.0.1") if host in ("public.test", b"public.test") else host, *rest, **named)

    monkeypatch.setattr(socket, "getaddrinfo", rebound)
    monkeypatch.setitem(LOCATIONS, "/moved", location.replace("PORT", str(port)))
    with pytest.raises(DocumentError, match="nothing was sent there"):
        fetch(f"http://public.test:{port}/moved")
    assert asked == ["/moved"]


@pytest.mark.parametrize("path", ["/gone", "/away", "/port"])
def test_what_cannot_be_fetched(server: tuple[str, list[str]], path: str) -> None:
    url, _ = server
    with pytest.raises(CatalogError, match="cannot be fetched"):
        read_catalog([url + path])


@pytest.mark.parametrize("proxy", ["socks5://u:hunter2@127.0.0.1:1080", "http://x:y", "http://127.0.0.1:99999"])
def test_a_proxy_that_cannot_be_used_is_named_for_the_addresses_that_it_is_for(
    monkeypatch: pytest.MonkeyPatch, proxy: str
) -> None:
    monkeypatch.setenv("http_proxy", proxy)
    with pytest.raises(DocumentError, match=r"the proxy .* cannot be used") as caught:
        fetch("http://host.invalid/openapi.json")
    assert "hunter2" not in str(caught.value)


def test_a_proxy_is_asked_for_all_hosts_but_those_of_no_proxy(
    server: tuple[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    url, asked = server
    monkeypatch.setenv("http_proxy", url.removeprefix("http://"))
    monkeypatch.setenv("no_proxy", "direct.invalid")
    assert fetch("http://host.invalid/openapi.json")
    assert asked == ["http://host.invalid/openapi.json"]
    with pytest.raises(DocumentError, match="cannot be fetched"):
        fetch("http://direct.invalid/openapi.json")
    assert len(asked) == 1


def test_a_server_that_sends_little_by_little_is_cut_at_the_total_time(server: tuple[str, list[str]]) -> None:
    url, _ = server
    with pytest.raises(DocumentError, match=r"it takes more than 0\.3 s") as caught:
        fetch(f"{url}/slow", timeout_s=0.3)
    assert caught.value.reason == "unreachable"


def test_a_secret_of_an_address_is_not_logged(server: tuple[str, list[str]], caplog: pytest.LogCaptureFixture) -> None:
    url, _ = server
    with caplog.at_level(logging.INFO):
        fetch(f"{url.replace('http://', 'http://user:hunter2@')}/openapi.json?token=s3cret")
    assert "s3cret" not in caplog.text
    assert "hunter2" not in caplog.text


def test_credentials_of_an_address_are_sent_nowhere_but_to_its_server(server: tuple[str, list[str]]) -> None:
    url, asked = server
    catalog = read_catalog([f"{url}/openapi.json?token=s3cret"])
    assert asked == ["/openapi.json?token=s3cret"]
    assert "s3cret" not in repr(catalog)
    with pytest.raises(CatalogError) as caught:
        read_catalog([f"{url}/gone?token=s3cret"])
    assert "s3cret" not in str(caught.value)


def test_a_dead_server_is_said_without_its_credentials(server: tuple[str, list[str]]) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as closed:
        port = closed.server_port
    with pytest.raises(DocumentError) as caught:
        fetch(f"http://user:hunter2@127.0.0.1:{port}/openapi.json?token=s3cret")
    assert "hunter2" not in str(caught.value)
    assert "s3cret" not in str(caught.value)
    assert f"127.0.0.1:{port}" in caught.value.subject
