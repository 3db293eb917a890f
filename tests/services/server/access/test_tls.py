"""TLS over real connections, with certificates made here: who is refused, and rotation under running calls."""

import asyncio
import logging
from pathlib import Path

import grpc
import pytest

from egotools.v1 import egotools_pb2 as pb
from egotools.v1 import egotools_pb2_grpc as pb_grpc
from ontology.errors import InvalidArgumentError
from services.server.access.authentication import Access, access_of
from services.server.access.tls import server_credentials
from services.server.settings import ServerSettings
from tests.harness.engines import serving, small_settings
from tests.harness.issuers import Authority, write_pair, write_policy
from tests.harness.waiting import LIMIT_S, until

AUTHORITY = Authority()
STRANGER = Authority("another authority")
ASKED = pb.GetToolRequest(id="crm/find_customer")


def tls_settings(folder: Path, **changed: object) -> ServerSettings:
    certificate, key = write_pair(folder, AUTHORITY.issue("server"))
    return small_settings(tls_cert=certificate, tls_key=key, **changed)


async def one_call(target: str, credentials: grpc.ChannelCredentials | None, timeout_s: float = LIMIT_S) -> pb.Tool:
    options = [("grpc.enable_retries", 0), ("grpc.use_local_subchannel_pool", 1)]
    channel = (
        grpc.aio.insecure_channel(target, options=options)
        if credentials is None
        else grpc.aio.secure_channel(target, credentials, options=options)
    )
    async with channel:
        reply: pb.GetToolResponse = await pb_grpc.ToolRetrievalStub(channel).GetTool(ASKED, timeout=timeout_s)
        return reply.tool


async def refused(target: str, credentials: grpc.ChannelCredentials | None) -> grpc.StatusCode:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await one_call(target, credentials)
    return caught.value.code()


def trusting(authority: Authority = AUTHORITY, pair: tuple[bytes, bytes] | None = None) -> grpc.ChannelCredentials:
    if pair is None:
        return grpc.ssl_channel_credentials(authority.pem)
    return grpc.ssl_channel_credentials(authority.pem, private_key=pair[1], certificate_chain=pair[0])


async def test_client_certificates_are_required_and_checked(tmp_path: Path) -> None:
    authority = tmp_path / "ca.pem"
    authority.write_bytes(AUTHORITY.pem)
    settings = tls_settings(tmp_path, tls_client_ca=authority, require_client_cert=True)
    async with serving(settings=settings) as server:
        own = AUTHORITY.issue("agent")
        assert (await one_call(server.address, trusting(pair=own))).id == ASKED.id
        assert await refused(server.address, trusting()) == grpc.StatusCode.UNAVAILABLE
        assert await refused(server.address, trusting(pair=STRANGER.issue("agent"))) == grpc.StatusCode.UNAVAILABLE
        expired = AUTHORITY.issue("agent", days=-1)
        assert await refused(server.address, trusting(pair=expired)) == grpc.StatusCode.UNAVAILABLE


async def test_a_client_certificate_is_an_identity(tmp_path: Path) -> None:
    authority = tmp_path / "ca.pem"
    authority.write_bytes(AUTHORITY.pem)
    policy = write_policy(
        tmp_path / "policy.yaml",
        {"match": {"certificate": "uri:spiffe://corp/agents/*"}, "roles": ["read"]},
        {"match": {"certificate": "cn:monitor"}, "roles": ["metrics"]},
    )
    settings = tls_settings(tmp_path, tls_client_ca=authority, require_client_cert=True, access_policy=policy)
    async with serving(settings=settings) as server:
        agent = AUTHORITY.issue("x", hosts=(), uri="spiffe://corp/agents/7")
        assert (await one_call(server.address, trusting(pair=agent))).id == ASKED.id
        for name, uri in (("monitor", ""), ("agent", "spiffe://corp/other"), ("spiffe://corp/agents/7", "")):
            pair = AUTHORITY.issue(name, hosts=(), uri=uri)
            assert await refused(server.address, trusting(pair=pair)) == grpc.StatusCode.PERMISSION_DENIED


async def test_rotation_fails_no_call_and_a_bad_pair_keeps_the_old_one(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings = tls_settings(tmp_path)
    assert settings.tls_cert is not None and settings.tls_key is not None
    async with serving(settings=settings) as server:
        answered, ending = 0, False

        async def call_for_ever() -> None:
            nonlocal answered
            both = grpc.ssl_channel_credentials(AUTHORITY.pem + STRANGER.pem)
            while not ending:
                assert (await one_call(server.address, both)).id == ASKED.id
                answered += 1

        calling = [asyncio.ensure_future(call_for_ever()) for _ in range(2)]
        await until(lambda: answered > 5)

        settings.tls_key.write_bytes(AUTHORITY.issue("server")[1])  # of no certificate
        caplog.set_level(logging.ERROR)
        await until(lambda: "the old one stays" in caplog.text)
        assert (await one_call(server.address, trusting())).id == ASKED.id

        write_pair(tmp_path, STRANGER.issue("server"))

        async def is_trusted(authority: Authority) -> bool:
            try:
                return (await one_call(server.address, trusting(authority))).id == ASKED.id
            except grpc.aio.AioRpcError:
                return False

        while not await is_trusted(STRANGER):  # the files are looked at once a second
            await asyncio.sleep(0.01)
        assert not await is_trusted(AUTHORITY)
        ending = True
        await asyncio.gather(*calling)


def test_files_that_cannot_serve_are_refused_at_the_start(tmp_path: Path) -> None:
    certificate, key = write_pair(tmp_path, AUTHORITY.issue("server", days=-1))
    with pytest.raises(InvalidArgumentError, match="expired"):
        server_credentials(certificate, key)
    certificate, key = write_pair(tmp_path, (AUTHORITY.issue("server")[0], AUTHORITY.issue("server")[1]))
    with pytest.raises(InvalidArgumentError, match="not that of the certificate"):
        server_credentials(certificate, key)
    key.write_text("nothing")
    with pytest.raises(InvalidArgumentError, match=r"server\.key: this is not a private key"):
        server_credentials(certificate, key)
    certificate.unlink()
    with pytest.raises(InvalidArgumentError, match="cannot be read"):
        server_credentials(certificate, key)


@pytest.mark.parametrize(
    ("host", "is_open"),
    [
        *((host, False) for host in ("127.0.0.1", "localhost", "::1", "[::1]", "127.3.2.1")),
        *((host, True) for host in ("0.0.0.0", "::", "10.1.2.3", "127.example", "localhost.example")),
    ],
)
def test_beyond_loopback_the_server_needs_tls_and_access_control(tmp_path: Path, host: str, is_open: bool) -> None:
    def start(**changed: object) -> Access:
        return access_of(small_settings(host=host, **changed))

    if not is_open:
        start()
        return
    with pytest.raises(InvalidArgumentError, match="--insecure"):
        start()
    certificate, key = write_pair(tmp_path, AUTHORITY.issue("server"))
    with pytest.raises(InvalidArgumentError, match="--insecure"):
        start(tls_cert=certificate, tls_key=key)
    tokens = tmp_path / "tokens.json"
    tokens.write_text('{"version": 1}')
    policy = write_policy(tmp_path / "policy.yaml", {"match": {"token": "x"}, "roles": ["read"]})
    with pytest.raises(InvalidArgumentError, match="--insecure"):
        start(access_policy=policy, tokens_file=tokens)
    start(access_policy=policy, tokens_file=tokens, tls_cert=certificate, tls_key=key)
    start(insecure=True)


@pytest.mark.parametrize(
    ("changed", "subject"),
    [
        ({"tls_cert": Path("x")}, "tls_cert"),
        ({"require_client_cert": True}, "require_client_cert"),
        ({"tls_client_ca": Path("x")}, "require_client_cert"),
        ({"tls_client_ca": Path("x"), "require_client_cert": True}, "require_client_cert"),
        ({"tokens_file": Path("x")}, "access_policy"),
        ({"access_policy": Path("x")}, "access_policy"),
        ({"access_policy": Path("x"), "jwks": "x"}, "jwks"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(changed: dict[str, object], subject: str) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        access_of(small_settings(**changed))
    assert caught.value.subject == subject
