"""What a client sends too much of, too slowly or from elsewhere, and a client that goes away."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from ontology.errors import InvalidArgumentError
from services.http.http_server import serve_http
from services.rest.rest_server import RestSettings, rest_app, serve_rest
from services.server.settings import ServerSettings
from tests.harness.engines import HeldRequests, serving, small_engine, small_settings
from tests.harness.issuers import Authority, guarded_by, write_pair
from tests.harness.waiting import until
from tests.services.rest.gateways import gateway

ASKED = {"query": "a customer"}
JSON = {"content-type": "application/json"}


async def _chunks(size: int, number: int) -> AsyncIterator[bytes]:
    for _ in range(number):
        yield b" " * size


async def test_a_long_body_is_refused_before_it_is_read() -> None:
    async with serving() as server, gateway(server.address) as client:
        for path, most in (("/v1/retrieve", 2**20), ("/v1/retrieve-batch", 4 * 2**20)):
            url = urlsplit(str(client.base_url))
            reader, writer = await asyncio.open_connection(url.hostname, url.port)
            writer.write(
                f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                f"Content-Length: {most + 1}\r\n\r\n".encode()
            )
            assert (await asyncio.wait_for(reader.readline(), 10)).split()[1] == b"413"  # nothing of the body was sent
            writer.close()
            chunked = await client.post(path, content=_chunks(2**18, 4 * (most >> 20) + 1), headers=JSON)
            assert (chunked.status_code, chunked.json()["status"]) == (413, 413)
            exact = await client.post(path, content=b" " * most, headers=JSON)
            assert (exact.status_code, exact.json()["subject"]) == (400, "body")
        text = await client.post("/v1/retrieve", content=b"{}", headers={"content-type": "text/plain"})
        assert text.status_code == 415


NESTED = {"array": (b"[", b"]"), "object": (b'{"query":', b"}"), "open": (b"[", b"")}


@pytest.mark.parametrize("form", NESTED)
@pytest.mark.parametrize("path", ["/v1/retrieve", "/v1/retrieve-batch"])
async def test_a_body_that_is_nested_too_deep_is_told_so(form: str, path: str) -> None:
    begin, end = NESTED[form]
    async with serving() as server, gateway(server.address) as client:
        for depth in (500, 950, 1_000, 5_000, 10**5):
            for wrap in (b"%s", b'{"query": %s}', b'{"requests": [%s]}'):
                answer = await client.post(path, content=wrap % (begin * depth + b"1" + end * depth), headers=JSON)
                problem = answer.json()
                assert answer.headers["content-type"] == "application/problem+json"
                assert (answer.status_code, problem["reason"]) == (400, "INVALID_ARGUMENT"), answer.text
                if depth > 1_000:
                    assert (problem["subject"], problem["detail"]) == ("body", "the body is nested too deep.")
        long = await client.post(path, content=begin * (5 * 2**20 // len(begin)), headers=JSON)
        assert (long.status_code, long.json()["status"]) == (413, 413)


async def test_a_slow_body_is_answered_in_time() -> None:
    app = rest_app(None, ServerSettings(), ready=lambda: asyncio.sleep(0, True), body_s=0.2)
    async with serve_http(app, host="127.0.0.1", port=0) as address:
        url = urlsplit(address)
        reader, writer = await asyncio.open_connection(url.hostname, url.port)
        writer.write(
            b"POST /v1/plan HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{"
        )
        answer = await asyncio.wait_for(reader.read(), 10)  # until it is closed
        writer.close()
    assert answer.startswith(b"HTTP/1.1 408") and b"application/problem+json" in answer


async def test_who_calls_is_asked_before_a_large_body_is_read(tmp_path: Path) -> None:
    access, tokens = guarded_by(tmp_path, agent={"roles": ["read"]})
    wrong = {"requests": [{"query": "word " * 10_000, "unknown": 1}] * 20}
    async with serving(settings=small_settings(**access)) as server, gateway(server.address) as client:
        assert (await client.post("/v1/retrieve-batch", json=wrong)).status_code == 401
        headers = {"authorization": f"Bearer {tokens['agent']}"}
        known = await client.post("/v1/retrieve-batch", json=wrong, headers=headers)
    assert (known.status_code, known.json()["subject"]) == (400, "requests.unknown")


async def test_a_body_of_many_objects_is_refused_before_they_are_made() -> None:
    async with serving() as server, gateway(server.address) as client:
        body = b'{"requests": [' + b"{}," * 300_000 + b"{}]}"
        async with asyncio.timeout(5):  # it took 3 s, and 60 MB, to make the messages
            answer = await client.post("/v1/retrieve-batch", content=body, headers=JSON)
    assert (answer.status_code, answer.json()["detail"]) == (400, "there are more than 20,000 values.")


@pytest.mark.parametrize("text", ["0", "60001", "0" * 9 + "1", "0" * 8 + "1" + "9" * 400, "0" * 8 + "1" + "9" * 5_000])
async def test_a_timeout_out_of_range_is_refused(text: str) -> None:
    async with serving() as server, gateway(server.address) as client:
        answer = await client.post("/v1/retrieve", json=ASKED, headers={"egotools-timeout-ms": text})
    assert (answer.status_code, answer.json()["subject"]) == (400, "egotools-timeout-ms")


async def test_a_client_that_goes_away_cancels_its_call() -> None:
    held = HeldRequests()
    async with serving(small_engine(hook=held)) as server, gateway(server.address) as client:
        held.hold()  # not before: the server asks a request of its own first
        try:
            for path, body in (("/v1/retrieve", ASKED), ("/v1/retrieve-batch", {"requests": [ASKED]})):
                asked = asyncio.ensure_future(client.post(path, json=body))
                await until(lambda: server.calls.in_flight)
                asked.cancel()
                await until(lambda: not server.calls.in_flight)
        finally:
            held.released.set()


async def test_one_address_has_a_share_of_the_calls() -> None:
    limits = small_settings(workers=3, max_streams=4)
    held = HeldRequests()
    async with serving(small_engine(hook=held), limits) as server, gateway(server.address, limits=limits) as client:
        held.hold()  # not before: the server asks a request of its own first
        try:
            waiting = [asyncio.ensure_future(client.post("/v1/retrieve", json=ASKED)) for _ in range(2)]
            await until(lambda: server.calls.in_flight == 2)
            refused = await client.post("/v1/retrieve", json=ASKED)
            assert (refused.status_code, refused.json()["reason"]) == (429, "OVERLOADED")
            assert int(refused.headers["retry-after"]) >= 1
            assert (await client.get("/livez")).status_code == 200
            other = httpx.AsyncHTTPTransport(local_address="127.0.0.2")
            async with httpx.AsyncClient(base_url=client.base_url, transport=other) as elsewhere:
                assert (await elsewhere.get("/v1/catalog")).status_code == 200
        finally:
            held.released.set()
        assert {(await each).status_code for each in waiting} == {200}


async def test_another_host_name_and_another_origin_are_refused() -> None:
    async with serving() as server:
        async with gateway(server.address, names=["tools.example"]) as client:
            statuses = {}
            for host in ("localhost", "127.0.0.1:1", "[::1]", "tools.example", "TOOLS.example:8080", "evil.example", "127.0.0.1.evil.example", "", "[:"):  # fmt: skip
                statuses[host] = (await client.get("/v1/catalog", headers={"host": host})).status_code
            own = ("localhost", "127.0.0.1:1", "[::1]", "tools.example", "TOOLS.example:8080")
            assert {host for host, status in statuses.items() if status == 200} == set(own)
            assert {status for host, status in statuses.items() if host not in own} <= {400, 421}
            preflight = {"origin": "https://agents.example", "access-control-request-method": "POST"}
            assert (await client.options("/v1/retrieve", headers=preflight)).status_code == 405
            plain = await client.get("/v1/catalog", headers={"origin": "https://agents.example"})
            assert not any(name.startswith("access-control") for name in plain.headers)


@pytest.mark.parametrize(
    ("target", "options", "subject"),
    [
        ("127.0.0.1:1", {"host": "0.0.0.0"}, "0.0.0.0"),
        ("tools.example:443", {}, "tools.example:443"),
        ("127.0.0.1:1", {"tls_cert": Path("cert.pem")}, "--tls-cert, --tls-key"),
    ],
)
async def test_what_would_send_tokens_in_plain_text_does_not_start(
    target: str, options: dict[str, object], subject: str
) -> None:
    with pytest.raises(InvalidArgumentError) as refused:
        async with serve_rest(target, RestSettings(port=0, **options)):  # type: ignore[arg-type]
            pass
    assert refused.value.subject == subject


async def test_it_has_tls_on_both_sides(tmp_path: Path) -> None:
    authority = Authority()
    certificate, key = write_pair(tmp_path, authority.issue("server"))
    (tmp_path / "ca.pem").write_bytes(authority.pem)
    settings = small_settings(tls_cert=certificate, tls_key=key)
    rest = RestSettings(port=0, tls_cert=certificate, tls_key=key, server_ca=tmp_path / "ca.pem")
    async with serving(small_engine(), settings) as server, serve_rest(server.address, rest) as url:
        assert url.startswith("https://")
        async with httpx.AsyncClient(
            base_url=url, verify=ssl.create_default_context(cafile=tmp_path / "ca.pem"), trust_env=False
        ) as client:
            assert (await client.post("/v1/retrieve", json=ASKED)).status_code == 200
