"""No document of a tool chooses an address inside of the caller's network, and no server of a document leaves the base URL."""

import asyncio
import socket
from typing import Any

import httpx
import pytest

from egotools import Call, PermissionDeniedError, Security, SecurityScheme, ToolRequestError, build_request
from egotools.calling.address_guard import is_public, parse_networks
from egotools.calling.http_invoker import GuardedTransport, send_http
from egotools.calling.invoker import ToolAnswer
from tests.harness.http_server import Loopback, Reply
from tests.harness.waiting import LIMIT_S

LOOPBACK = parse_networks(["127.0.0.0/8", "::1"])
OK = Reply()


NOT_PUBLIC = (
    "127.0.0.1 10.0.0.1 172.16.0.1 192.168.1.1 169.254.169.254 100.64.0.1 0.0.0.0 192.0.0.8 192.0.0.9 192.0.2.1 192.88.99.1"
    " 198.18.0.1 224.0.0.1 240.0.0.1 255.255.255.255 ::1 :: ::7f00:1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 64:ff9b::7f00:1"
    " 64:ff9b::a9fe:a9fe 64:ff9b:1::808:808 2002:7f00:1:: 2002:a00:1::1 2001:0:1::1 2001:db8::1 3fff::1 fe80::1 fe80::1%lo"
    " fc00::1 fd00:ec2::254 fec0::1 ff02::1"
)


def test_numbers_that_are_not_public() -> None:
    assert [number for number in NOT_PUBLIC.split() if is_public(number)] == []


def send(server_of_document: str, allowed: Any = (), *, server: str = "") -> ToolAnswer:
    request = build_request(
        Call(protocol="http", method="GET", path="/x", servers=(server_of_document,)), {}, server=server
    )
    return asyncio.run(send_http(request, allowed_networks=allowed, timeout_s=LIMIT_S))  # type: ignore[arg-type]


@pytest.fixture
def shop() -> Any:
    with Loopback(lambda arrived: OK) as server:
        yield server


class TestSending:
    @pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "2130706433", "0x7f.1", "127.1"])
    def test_loopback_in_a_document_is_refused(self, shop: Loopback, host: str) -> None:
        with pytest.raises(PermissionDeniedError, match="nothing was sent") as caught:
            send(shop.url.replace("127.0.0.1", host))
        assert "--allow-network" in caught.value.remedy
        assert caught.value.reason == "ADDRESS_NOT_ALLOWED"
        assert shop.arrived == []

    def test_an_allowed_network_is_reached_under_the_name_of_the_host(self, shop: Loopback) -> None:
        assert send(shop.url.replace("127.0.0.1", "localhost"), LOOPBACK).ok
        assert shop.only.headers["host"].startswith("localhost:")


class _Inner(httpx.AsyncBaseTransport):
    """Keeps what it is told to send; the numbers in ``dead`` take no connection."""

    def __init__(self, *dead: str) -> None:
        self.sent: list[httpx.Request] = []
        self._dead = dead

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.sent.append(request)
        if request.url.host in self._dead:
            raise httpx.ConnectError("refused")
        return httpx.Response(200)


class TestTransport:
    @pytest.fixture
    def names(self, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
        """What the name server answers, one list a question."""
        answers: list[list[str]] = []
        monkeypatch.setattr(
            socket, "getaddrinfo", lambda *_, **__: [(2, 1, 6, "", (each, 443)) for each in answers.pop(0)]
        )
        return answers

    async def get(self, inner: _Inner) -> None:
        async with httpx.AsyncClient(transport=GuardedTransport(inner)) as client:
            await client.get("https://bücher.test/a?b=c")

    async def test_the_connection_goes_to_the_checked_number(self, names: list[list[str]]) -> None:
        names += [["8.8.8.8"], ["127.0.0.1"]]  # a second question would be answered otherwise
        inner = _Inner()
        await self.get(inner)
        (sent,) = inner.sent
        assert (sent.url.host, sent.url.raw_path) == ("8.8.8.8", b"/a?b=c")
        assert sent.headers["host"] == sent.extensions["sni_hostname"] == "xn--bcher-kva.test"
        assert len(names) == 1

    async def test_one_number_inside_is_enough_to_refuse_all(self, names: list[list[str]]) -> None:
        names += [["8.8.8.8", "10.0.0.1"]]
        inner = _Inner()
        with pytest.raises(PermissionDeniedError, match=r"10\.0\.0\.1"):
            await self.get(inner)
        assert inner.sent == []


SERVERS: list[tuple[str, str]] = [
    ("../../admin", "https://b.test/tenant/api"),
    ("..", "https://b.test/tenant/api"),
    ("/other", "https://b.test/tenant/api"),
    ("/tenant/apix", "https://b.test/tenant/api"),
    ("https:/other", "https://b.test/tenant/api"),
    ("http:/tenant/api", "https://b.test/tenant/api"),
    ("%2e%2e/admin", "https://b.test/tenant/api"),
    ("%252e%252e/admin", "https://b.test/tenant/api"),
    ("v1/%2E./%2e%2e/admin", "https://b.test/tenant/api"),
    ("v1\\..\\..\\admin", "https://b.test/tenant/api"),
    ("..%2f..%2fadmin", "https://b.test/tenant/api"),
    ("/tenant/api/%00", "https://b.test/tenant/api"),
    ("/tenant/api", "https://b.test/tenant/api"),
    ("/tenant/api/v1", "https://b.test/tenant/api/v1"),
    ("v1", "https://b.test/tenant/api/v1"),
    ("./v1", "https://b.test/tenant/api/v1"),
    ("https://evil.test/", "https://b.test/tenant/api"),
    ("//evil.test/tenant/api", "https://b.test/tenant/api"),
]


def test_a_server_of_a_document_stays_below_the_one_that_was_given(subtests: pytest.Subtests) -> None:
    for end in ["", "/"]:
        for own, url in SERVERS:
            with subtests.test(ascii(own)):
                request = build_request(
                    Call(protocol="http", method="GET", path="/x", servers=(own,)),
                    {},
                    server=f"https://b.test/tenant/api{end}",
                )
                assert isinstance(request, httpx.Request)
                assert str(request.url) == f"{url}/x"


@pytest.mark.parametrize(
    "name", ["Host", "content-length", "Transfer-Encoding", "X-Forwarded-Host", "Connection", "a b", ""]
)
def test_a_credential_in_a_header_that_is_not_the_callers(name: str) -> None:
    key = SecurityScheme(key="k", type="apiKey", location="header", name=name)
    made = Call(protocol="http", method="GET", path="/x", security=(Security(schemes=(key,)),))
    with pytest.raises(ToolRequestError, match="not the caller's"):
        build_request(made, {}, server="https://b.test", credentials={"k": "s3cret"})
