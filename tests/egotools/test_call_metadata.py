"""Token and tenant of a client: on every call, over TLS or to this machine, and typed errors without them."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import NamedTuple

import grpc
import pytest

from egotools import AsyncClient, Client, InvalidRequestError, PermissionDeniedError
from egotools.channel import CallMetadata
from tests.harness.engines import serving, small_settings
from tests.harness.issuers import Authority, guarded_by, write_pair

TOOL = "crm/find_customer"


class Guarded(NamedTuple):
    target: str
    token: str
    authority: bytes


@pytest.fixture
async def guarded(tmp_path: Path) -> AsyncIterator[Guarded]:
    authority = Authority()
    access, tokens = guarded_by(tmp_path, agent={"roles": ["read"], "filters": {"namespace": ["crm"]}})
    certificate, key = write_pair(tmp_path, authority.issue("server"))
    async with serving(settings=small_settings(tls_cert=certificate, tls_key=key, **access)) as server:
        yield Guarded(server.address, tokens["agent"], authority.pem)


async def test_a_function_gives_the_token_of_each_call(guarded: Guarded) -> None:
    given = iter(["expired", guarded.token])
    tls = grpc.ssl_channel_credentials(guarded.authority)

    def ask() -> list[str]:
        with Client(guarded.target, tls=tls, token=guarded.token) as client:
            return list(client.tool_ids())

    assert await asyncio.to_thread(ask) == ["crm/find_customer", "crm/get_customer"]
    async with AsyncClient(guarded.target, tls=tls, token=lambda: next(given)) as client:
        with pytest.raises(PermissionDeniedError):
            await client.get_tool(TOOL)
        assert (await client.get_tool(TOOL)).id == TOOL


LOCAL = "127.0.0.1:50051 localhost:50051 [::1]:50051 dns:///localhost:50051 ipv4:127.0.0.1:1,127.0.0.2:2 ipv6:[::1]:5 unix:/run/s"
REMOTE = (
    "tools.example:50051 10.0.0.1:50051 dns:///tools.example:50051 ipv4:127.0.0.1:1,10.0.0.1:2 localhost.example:1 xds:///tools ::"
    " dns://127.0.0.1/tools.example:1 127.0.0.1.example:1 unix.example:1"
)


@pytest.mark.parametrize("target", LOCAL.split())
def test_a_token_may_go_to_this_machine(target: str) -> None:
    CallMetadata(target, token="x", tenant="", is_private=False)


@pytest.mark.parametrize("target", [*REMOTE.split(), ""])
def test_a_token_leaves_the_machine_only_over_tls(target: str) -> None:
    with pytest.raises(InvalidRequestError, match="plain text"):
        CallMetadata(target, token="x", tenant="", is_private=False)
    CallMetadata(target, token="x", tenant="", is_private=True)
    CallMetadata(target, token=None, tenant="acme", is_private=False)
    with pytest.raises(InvalidRequestError):
        Client("10.0.0.1:1", token="x")
    with Client("10.0.0.1:1", token="x", insecure_token=True):
        pass
