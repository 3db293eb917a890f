"""Every RPC of the server × every kind of token: the code of each cell."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import grpc
import pytest
from google.protobuf.descriptor import MethodDescriptor
from grpc_health.v1 import health_pb2
from grpc_reflection.v1alpha import reflection_pb2

from egotools.v1 import admin_pb2, egotools_pb2
from egotools.v1 import egotools_pb2 as pb
from services.server.access.tokens import create_token
from services.server.calls import ERROR_METADATA_KEY
from services.server.server import Server
from tests.harness.engines import serving, small_settings
from tests.harness.issuers import AUDIENCE, ISSUER, Issuer, key_set, write_policy
from tests.harness.waiting import LIMIT_S

OK, NOBODY, DENIED = (grpc.StatusCode.OK, grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED)
KINDS = ("no", "bad", "expired", "other tenant's", "read-only", "admin", "metrics")
READS = (NOBODY, NOBODY, NOBODY, DENIED, OK, DENIED, DENIED)
CHANGES = (NOBODY, NOBODY, NOBODY, DENIED, DENIED, OK, DENIED)
OPEN = (OK,) * 7

MATRIX: Mapping[str, tuple[grpc.StatusCode, ...]] = {
    "/egotools.v1.ToolRetrieval/Retrieve": READS,
    "/egotools.v1.ToolRetrieval/RetrieveBatch": READS,
    "/egotools.v1.ToolRetrieval/GetTool": READS,
    "/egotools.v1.ToolRetrieval/Neighbors": READS,
    "/egotools.v1.ToolRetrieval/GetCatalog": READS,
    "/egotools.v1.ToolRetrieval/ReportOutcome": READS,
    "/egotools.v1.ToolRetrieval/Plan": READS,
    "/egotools.v1.CatalogAdmin/Publish": CHANGES,
    "/egotools.v1.CatalogAdmin/Rollback": CHANGES,
    "/egotools.v1.CatalogAdmin/ListSnapshots": CHANGES,
    "/egotools.v1.CatalogAdmin/Diff": CHANGES,
    # It names no tenant: an administrator of another one sees that one.
    "/egotools.v1.CatalogAdmin/ListCatalogs": (NOBODY, NOBODY, NOBODY, OK, DENIED, OK, DENIED),
    "/grpc.health.v1.Health/Check": OPEN,
    "/grpc.health.v1.Health/Watch": OPEN,
    "/grpc.health.v1.Health/List": (grpc.StatusCode.UNIMPLEMENTED,) * 7,  # by the health service itself
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo": (
        (NOBODY, NOBODY, NOBODY, OK, OK, DENIED, DENIED)
    ),
}


def methods() -> Iterator[MethodDescriptor]:
    """The methods of every service that a server of egotools may have."""
    for file in (egotools_pb2, admin_pb2, health_pb2, reflection_pb2):
        for service in file.DESCRIPTOR.services_by_name.values():
            yield from service.methods


def path_of(method: MethodDescriptor) -> str:
    return f"/{method.containing_service.full_name}/{method.name}"


METHODS = {path_of(method): method for method in methods()}


class Kept(NamedTuple):
    server: Server
    tokens: Mapping[str, str]


@pytest.fixture
async def kept(tmp_path: Path) -> AsyncIterator[Kept]:
    issuer, tokens_file = Issuer(), tmp_path / "tokens.json"
    keys = tmp_path / "keys.json"
    keys.write_text(key_set(issuer))
    policy = write_policy(
        tmp_path / "policy.yaml",
        {"match": {"claims": {"groups": "agents"}}, "roles": ["read"], "tenants": ["{tenant}"]},
        {"match": {"token": "publisher"}, "roles": ["admin"], "tenants": ["acme"]},
        {"match": {"token": "prometheus"}, "roles": ["metrics"], "tenants": ["*"]},
        {"match": {"token": "other"}, "roles": ["read", "admin"], "tenants": ["globex"]},
    )
    agent: dict[str, Any] = {"groups": ["agents"], "tenant": "acme", "sub": "agent"}
    tokens = {
        "no": "",
        "bad": issuer.token(**agent)[:-4] + "AAAA",
        "expired": issuer.token(lasts_s=-600, **agent),
        "other tenant's": create_token(tokens_file, "other"),
        "read-only": issuer.token(**agent),
        "admin": create_token(tokens_file, "publisher"),
        "metrics": create_token(tokens_file, "prometheus"),
    }
    settings = small_settings(
        access_policy=policy,
        tokens_file=tokens_file,
        jwks=str(keys),
        jwt_issuer=ISSUER,
        jwt_audience=AUDIENCE,
        admin_port=0,
    )
    async with serving(settings=settings) as server:
        yield Kept(server, tokens)


async def code_of(
    server: Server, path: str, token: str, tenant: str = "acme", message: bytes = b""
) -> tuple[grpc.StatusCode, bytes]:
    """The status of one call, ``OK`` also where the handler refuses an empty message, and its ``Error``."""
    method = METHODS.get(path)
    client_streaming = method is not None and method.client_streaming
    server_streaming = method is not None and method.server_streaming
    if method is not None and method.name == "ServerReflectionInfo":
        message = reflection_pb2.ServerReflectionRequest(list_services="").SerializeToString()
    metadata = [("egotools-tenant", tenant)] if tenant else []
    metadata += [("authorization", f"Bearer {token}")] if token else []
    address = server.admin_address if "CatalogAdmin" in path else server.address
    async with grpc.aio.insecure_channel(address) as channel:
        kinds: Any = {
            (False, False): channel.unary_unary,
            (False, True): channel.unary_stream,
            (True, False): channel.stream_unary,
            (True, True): channel.stream_stream,
        }
        start = kinds[client_streaming, server_streaming](path)
        call = (
            start(metadata=metadata, timeout=LIMIT_S)
            if client_streaming
            else start(message, metadata=metadata, timeout=LIMIT_S)
        )
        try:
            if client_streaming:
                with contextlib.suppress(grpc.aio.AioRpcError, asyncio.InvalidStateError):  # denied before it was read
                    await call.write(message)
                    await call.done_writing()
            if server_streaming:
                assert await call.read() is not grpc.aio.EOF
                call.cancel()
                return OK, b""
            await call
        except grpc.aio.AioRpcError as error:
            raw = dict(error.trailing_metadata() or ()).get(ERROR_METADATA_KEY, b"")
            handled = bool(raw) and error.code() not in (NOBODY, DENIED)
            if client_streaming and not raw and error.code() is grpc.StatusCode.INTERNAL:
                # Made by the client itself, where it wrote at the moment in which the server ended the call.
                return await code_of(server, path, token, tenant, message)
            return OK if handled else await call.code(), raw
    return OK, b""


def test_every_method_has_a_row() -> None:
    assert set(MATRIX) == set(METHODS), (
        "a new RPC needs a row here, and one in services/server/access/authentication.py"
    )


@pytest.mark.parametrize("kind", KINDS)
async def test_every_call_with_every_token(kept: Kept, kind: str) -> None:
    found = {path: (await code_of(kept.server, path, kept.tokens[kind]))[0] for path in MATRIX}
    assert found == {path: row[KINDS.index(kind)] for path, row in MATRIX.items()}


async def test_an_unknown_method_is_told_to_known_callers_only(kept: Kept) -> None:
    path = "/egotools.v1.ToolRetrieval/Nothing"
    assert (await code_of(kept.server, path, kept.tokens["no"]))[0] == NOBODY
    assert (await code_of(kept.server, path, kept.tokens["read-only"]))[0] == grpc.StatusCode.UNIMPLEMENTED


async def test_a_denial_has_a_typed_error_and_says_not_whether_a_tenant_exists(kept: Kept) -> None:
    path, token = "/egotools.v1.ToolRetrieval/GetTool", kept.tokens["read-only"]
    denials = [await code_of(kept.server, path, token, tenant) for tenant in ("globex", "nowhere")]
    code, raw = await code_of(kept.server, path, kept.tokens["expired"])
    own, other = [await code_of(kept.server, path, token, tenant) for tenant in ("", "acme")]
    assert own == other, "its only tenant"
    assert denials[0] == denials[1]
    assert (denials[0][0], pb.Error.FromString(denials[0][1]).reason) == (DENIED, "PERMISSION_DENIED")
    error = pb.Error.FromString(raw)
    assert (code, error.reason, error.subject) == (NOBODY, "UNAUTHENTICATED", "authorization")
    assert "expired" in error.message and error.remedy


async def test_a_denied_message_is_not_read(kept: Kept) -> None:
    """A stream that never ends, and bytes that are no message, are refused all the same."""

    async def endless() -> AsyncIterator[bytes]:
        while True:
            yield b"\xff" * 1_000

    async with grpc.aio.insecure_channel(kept.server.admin_address) as channel:
        call: Any = channel.stream_unary("/egotools.v1.CatalogAdmin/Publish")
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await call(endless(), timeout=LIMIT_S)
        assert caught.value.code() == NOBODY
    code, _ = await code_of(kept.server, "/egotools.v1.ToolRetrieval/GetTool", "", message=b"\xff")
    assert code == NOBODY


async def test_a_header_that_is_given_twice_is_refused(kept: Kept) -> None:
    token = kept.tokens["read-only"]
    async with grpc.aio.insecure_channel(kept.server.address) as channel:
        call: Any = channel.unary_unary("/egotools.v1.ToolRetrieval/GetTool")
        for twice in (("authorization", f"Bearer {token}"), ("egotools-tenant", "globex")):
            metadata = [("authorization", f"Bearer {token}"), ("egotools-tenant", "acme"), twice]
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await call(b"", metadata=metadata, timeout=LIMIT_S)
            assert caught.value.code() == grpc.StatusCode.INVALID_ARGUMENT
