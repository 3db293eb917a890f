"""A live OpenAPI document, from a server that the test runs itself."""

import gzip
import json
import logging
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from ingest.sources import read_catalog
from ingest.sources.fetch import fetch
from ontology.errors import CatalogError, DocumentError
from tests.harness.http_server import Arrived, Loopback, Reply

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


def answer(arrived: Arrived) -> Reply:
    body = json.dumps(SPEC).encode()
    match arrived.path.split("/")[1]:
        case "packed":
            return Reply(body=gzip.compress(body))
        case "gone":
            return Reply(status=404)
        case "away" | "moved" | "port":
            return Reply(status=302, headers={"Location": LOCATIONS.get(arrived.path, "/openapi.json")})
        case "slow":
            return Reply(body=body, dribble_s=0.05)
    return Reply(body=body)


@pytest.fixture
def server() -> Iterator[Loopback]:
    with Loopback(answer) as served:
        yield served


def asked(server: Loopback) -> list[str]:
    return [arrived.target for arrived in server.arrived]


@pytest.mark.parametrize("path", ["/openapi.json", "/packed/openapi.json", "/moved", "/v3/api-docs"])
def test_a_live_document(server: Loopback, path: str) -> None:
    catalog = read_catalog([server.url + path])
    assert [tool.name for tool in catalog.tools] == ["listThings"]
    assert catalog.documents[0].format == "openapi.v1"


def test_a_live_document_makes_nothing_else_be_fetched(server: Loopback) -> None:
    catalog = read_catalog([f"{server.url}/openapi.json"])
    assert asked(server) == ["/openapi.json"]
    assert [record.reason for record in catalog.rejected] == ["dangling-ref"]


@pytest.mark.parametrize("location", ["/openapi.json", "http://localhost:PORT/openapi.json"])
def test_a_public_host_does_not_redirect_into_an_inner_network(
    server: Loopback, monkeypatch: pytest.MonkeyPatch, location: str
) -> None:
    """Also not by a name server that has another answer the second time."""
    port = int(server.url.rpartition(":")[2])
    answers = iter(["93.184.215.14"])
    resolve = socket.getaddrinfo

    def rebound(host: str | bytes, *rest: Any, **named: Any) -> Any:
        return resolve(next(answers, "127.0.0.1") if host in ("public.test", b"public.test") else host, *rest, **named)

    monkeypatch.setattr(socket, "getaddrinfo", rebound)
    monkeypatch.setitem(LOCATIONS, "/moved", location.replace("PORT", str(port)))
    with pytest.raises(DocumentError, match="nothing was sent there"):
        fetch(f"http://public.test:{port}/moved")
    assert asked(server) == ["/moved"]


@pytest.mark.parametrize("path", ["/gone", "/away", "/port"])
def test_what_cannot_be_fetched(server: Loopback, path: str) -> None:
    with pytest.raises(CatalogError, match="cannot be fetched"):
        read_catalog([server.url + path])


@pytest.mark.parametrize("proxy", ["socks5://u:hunter2@127.0.0.1:1080", "http://x:y", "http://127.0.0.1:99999"])
def test_a_proxy_that_cannot_be_used_is_named_for_the_addresses_that_it_is_for(
    monkeypatch: pytest.MonkeyPatch, proxy: str
) -> None:
    monkeypatch.setenv("http_proxy", proxy)
    with pytest.raises(DocumentError, match=r"the proxy .* cannot be used") as caught:
        fetch("http://host.invalid/openapi.json")
    assert "hunter2" not in str(caught.value)


def test_a_proxy_is_asked_for_all_hosts_but_those_of_no_proxy(
    server: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", server.url.removeprefix("http://"))
    monkeypatch.setenv("no_proxy", "direct.invalid")
    assert fetch("http://host.invalid/openapi.json")
    assert asked(server) == ["http://host.invalid/openapi.json"]
    with pytest.raises(DocumentError, match="cannot be fetched"):
        fetch("http://direct.invalid/openapi.json")
    assert len(server.arrived) == 1


def test_a_server_that_sends_little_by_little_is_cut_at_the_total_time(server: Loopback) -> None:
    with pytest.raises(DocumentError, match=r"it takes more than 0\.3 s") as caught:
        fetch(f"{server.url}/slow", timeout_s=0.3)
    assert caught.value.reason == "unreachable"


def test_a_dead_server_is_said_without_its_credentials(server: Loopback) -> None:
    server.stop()
    host = server.url.removeprefix("http://")
    with pytest.raises(DocumentError) as caught:
        fetch(f"http://user:hunter2@{host}/openapi.json?token=s3cret")
    assert "hunter2" not in str(caught.value) and "s3cret" not in str(caught.value)
    assert host in caught.value.subject


def test_a_secret_of_an_address_is_not_logged(server: Loopback, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        fetch(f"{server.url.replace('http://', 'http://user:hunter2@')}/openapi.json?token=s3cret")
    assert "s3cret" not in caplog.text
    assert "hunter2" not in caplog.text


def test_credentials_of_an_address_are_sent_nowhere_but_to_its_server(server: Loopback) -> None:
    catalog = read_catalog([f"{server.url}/openapi.json?token=s3cret"])
    assert asked(server) == ["/openapi.json?token=s3cret"]
    assert "s3cret" not in repr(catalog)
    with pytest.raises(CatalogError) as caught:
        read_catalog([f"{server.url}/gone?token=s3cret"])
    assert "s3cret" not in str(caught.value)
