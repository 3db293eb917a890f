"""Every RPC of the server × every kind of token: the code of each cell."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import grpc
import pytest
from google.protobuf.descriptor import MethodDescriptor
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection, reflection_pb2

from egotools.v1 import admin_pb2, egotools_pb2
from egotools.v1 import egotools_pb2 as pb
from egotools.v1 import egotools_pb2_grpc as pb_grpc
from services.server.access import server_access
from services.server.access.server_access import access_of
from services.server.access.tokens import SteadyClock, create_token
from services.server.caller import current_caller
from services.server.error_status import ERROR_METADATA_KEY
from tests.harness.issuers import AUDIENCE, ISSUER, Clock, Issuer, key_set, write_policy
from tests.harness.waiting import LIMIT_S
from tests.services.server.memory_engine import serving, small_settings

OK, NOBODY, DENIED = (
    grpc.StatusCode.OK,
    grpc.StatusCode.UNAUTHENTICATED,
    grpc.StatusCode.PERMISSION_DENIED,
)
KINDS = ("no", "bad", "expired", "other tenant's", "read-only", "admin", "metrics")
READS = (NOBODY, NOBODY, NOBODY, DENIED, OK, DENIED, DENIED)
CHANGES = (NOBODY, NOBODY, NOBODY, DENIED, DENIED, OK, DENIED)
OPEN = (OK,) * 7

MATRIX: Mapping[str, tuple[grpc.StatusCode, ...]] = {
    "/egotools.v1.ToolRetrieval/Retrieve": READS,
    "/egotools.v1.ToolRetrieval/RetrieveBatch": READS,
    "/egotools.v1.ToolRetrieval/RetrieveEach": READS,
    "/egotools.v1.ToolRetrieval/GetTool": READS,
    "/egotools.v1.ToolRetrieval/Neighbors": READS,
    "/egotools.v1.ToolRetrieval/GetCatalog": READS,
    "/egotools.v1.ToolRetrieval/ReportOutcome": READS,
    "/egotools.v1.ToolRetrieval/Plan": READS,
    "/egotools.v1.CatalogAdmin/Publish": CHANGES,
    "/egotools.v1.CatalogAdmin/Rollback": CHANGES,
    "/egotools.v1.CatalogAdmin/ListSnapshots": CHANGES,
    "/egotools.v1.CatalogAdmin/Diff": CHANGES,
    "/egotools.v1.CatalogAdmin/UpsertTools": CHANGES,
    "/egotools.v1.CatalogAdmin/DeleteTools": CHANGES,
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
    target: str
    tokens: Mapping[str, str]
    callers: list[str]


def generic_handler(callers: list[str]) -> grpc.GenericRpcHandler:
    """Handlers that answer every call of both services with an empty message, and note who called."""
    kinds: Any = {
        (False, False): grpc.unary_unary_rpc_method_handler,
        (False, True): grpc.unary_stream_rpc_method_handler,
        (True, False): grpc.stream_unary_rpc_method_handler,
    }

    def handler_of(method: MethodDescriptor) -> Any:
        async def single(request: Any, context: Any) -> bytes:
            callers.append(current_caller().name)
            return b""

        async def stream(request: Any, context: Any) -> AsyncIterator[bytes]:
            callers.append(current_caller().name)
            yield b""

        return kinds[method.client_streaming, method.server_streaming](stream if method.server_streaming else single)

    handlers = {path: handler_of(method) for path, method in METHODS.items() if "egotools" in path}

    class Generic(grpc.GenericRpcHandler):
        def service(self, details: Any) -> Any:
            return handlers.get(details.method)

    return Generic()


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
        access_policy=policy, tokens_file=tokens_file, jwks=str(keys), jwt_issuer=ISSUER, jwt_audience=AUDIENCE
    )
    callers: list[str] = []
    server = grpc.aio.server(interceptors=access_of(settings).interceptors)
    server.add_generic_rpc_handlers((generic_handler(callers),))
    health_pb2_grpc.add_HealthServicer_to_server(health.aio.HealthServicer(), server)
    reflection.enable_server_reflection((reflection.SERVICE_NAME,), server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    yield Kept(f"127.0.0.1:{port}", tokens, callers)
    await server.stop(None)


async def code_of(
    channel: grpc.aio.Channel, path: str, token: str, tenant: str = "acme", message: bytes = b""
) -> tuple[grpc.StatusCode, bytes]:
    """The status of one call, and its ``Error``."""
    method = METHODS.get(path)
    client_streaming = method is not None and method.client_streaming
    server_streaming = method is not None and method.server_streaming
    if method is not None and method.name == "ServerReflectionInfo":
        message = reflection_pb2.ServerReflectionRequest(list_services="").SerializeToString()
    metadata = [("egotools-tenant", tenant)] if tenant else []
    metadata += [("authorization", f"Bearer {token}")] if token else []
    kinds: Any = {
        (False, False): channel.unary_unary,
        (False, True): channel.unary_stream,
        (True, False): channel.stream_unary,
        (True, True): channel.stream_stream,
    }
    given: Any = iter([message]) if client_streaming else message
    call = kinds[client_streaming, server_streaming](path)(given, metadata=metadata, timeout=LIMIT_S)
    try:
        if server_streaming:
            assert await call.read() is not grpc.aio.EOF
            call.cancel()
            return OK, b""
        await call
    except grpc.aio.AioRpcError as error:
        return error.code(), dict(error.trailing_metadata() or ()).get(ERROR_METADATA_KEY, b"")
    return OK, b""


def test_every_method_has_a_row() -> None:
    assert set(MATRIX) == set(METHODS), (
        "a new RPC needs a row here, and one in services/server/access/authentication.py"
    )


@pytest.mark.parametrize("kind", KINDS)
async def test_every_call_with_every_token(kept: Kept, kind: str) -> None:
    async with grpc.aio.insecure_channel(kept.target) as channel:
        found = {path: (await code_of(channel, path, kept.tokens[kind]))[0] for path in MATRIX}
    assert found == {path: row[KINDS.index(kind)] for path, row in MATRIX.items()}
    allowed = [path for path, code in found.items() if code == OK and "egotools" in path]
    assert len(kept.callers) == len(allowed), "a denied call reached its handler"
    assert "" not in kept.callers


async def test_a_method_without_a_row_is_denied_to_everybody(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(access_table(), "/egotools.v1.ToolRetrieval/GetTool")
    async with grpc.aio.insecure_channel(kept.target) as channel:
        for kind in KINDS[3:]:
            code, _ = await code_of(channel, "/egotools.v1.ToolRetrieval/GetTool", kept.tokens[kind])
            assert code == DENIED
        code, _ = await code_of(channel, "/egotools.v1.ToolRetrieval/Nothing", kept.tokens["no"])
        assert code == NOBODY
        code, _ = await code_of(channel, "/egotools.v1.ToolRetrieval/Nothing", kept.tokens["read-only"])
        assert code == grpc.StatusCode.UNIMPLEMENTED


def access_table() -> dict[str, Any]:
    from services.server.access.authentication import METHODS as table

    return table


async def test_a_denial_has_a_typed_error_and_says_not_whether_a_tenant_exists(kept: Kept) -> None:
    path = "/egotools.v1.ToolRetrieval/GetTool"
    async with grpc.aio.insecure_channel(kept.target) as channel:
        denials = {
            tenant: await code_of(channel, path, kept.tokens["read-only"], tenant) for tenant in ("globex", "nowhere")
        }
        code, raw = await code_of(channel, path, kept.tokens["expired"])
        assert await code_of(channel, path, kept.tokens["read-only"], "") == (OK, b"")  # its only tenant
    assert denials["globex"] == denials["nowhere"]
    assert pb.Error.FromString(denials["globex"][1]).reason == "PERMISSION_DENIED"
    assert denials["globex"][0] == DENIED
    error = pb.Error.FromString(raw)
    assert (code, error.reason, error.subject) == (NOBODY, "UNAUTHENTICATED", "authorization")
    assert "expired" in error.message and error.remedy


async def test_a_denied_message_is_not_read(kept: Kept) -> None:
    """A stream that never ends, and bytes that are no message, are refused all the same."""

    async def endless() -> AsyncIterator[bytes]:
        while True:
            yield b"\xff" * 1_000

    async with grpc.aio.insecure_channel(kept.target) as channel:
        call: Any = channel.stream_unary("/egotools.v1.CatalogAdmin/UpsertTools")
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await call(endless(), timeout=LIMIT_S)
        assert caught.value.code() == NOBODY
        code, _ = await code_of(channel, "/egotools.v1.ToolRetrieval/GetTool", "", message=b"\xff")
        assert code == NOBODY


async def test_a_header_that_is_given_twice_is_refused(kept: Kept) -> None:
    token = kept.tokens["read-only"]
    async with grpc.aio.insecure_channel(kept.target) as channel:
        call: Any = channel.unary_unary("/egotools.v1.ToolRetrieval/GetTool")
        for twice in (("authorization", f"Bearer {token}"), ("egotools-tenant", "globex")):
            metadata = [("authorization", f"Bearer {token}"), ("egotools-tenant", "acme"), twice]
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await call(b"", metadata=metadata, timeout=LIMIT_S)
            assert caught.value.code() == grpc.StatusCode.INVALID_ARGUMENT


async def test_the_server_asks_before_it_answers(tmp_path: Path) -> None:
    tokens_file = tmp_path / "tokens.json"
    token = create_token(tokens_file, "agent")
    policy = write_policy(tmp_path / "policy.yaml", {"match": {"token": "agent"}, "roles": ["read"]})
    async with (
        serving(settings=small_settings(access_policy=policy, tokens_file=tokens_file)) as server,
        grpc.aio.insecure_channel(server.address) as channel,
    ):
        stub = pb_grpc.ToolRetrievalStub(channel)
        metadata = (("authorization", f"bearer {token}"),)
        reply = await stub.GetTool(pb.GetToolRequest(id="crm/find_customer"), metadata=metadata, timeout=LIMIT_S)
        assert reply.tool.id == "crm/find_customer"
        for path in (path for path in METHODS if "ToolRetrieval" in path):
            assert (await code_of(channel, path, "", tenant=""))[0] == NOBODY
        assert (await code_of(channel, "/grpc.health.v1.Health/Check", "", tenant=""))[0] == OK
        for authorization in ("", "Basic abc", "Bearer", f"Bearer  {token}x", f"Token {token}", "Bearer egotools_0_0"):
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await stub.GetTool(pb.GetToolRequest(id="x"), metadata=(("authorization", authorization),))
            assert caught.value.code() == NOBODY


async def test_a_token_expires_on_a_running_server_whatever_the_clock_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, issuer = Clock(), Issuer()
    monkeypatch.setattr(server_access, "SteadyClock", lambda: SteadyClock(clock.wall, clock.passed))
    (tmp_path / "keys.json").write_text(key_set(issuer))
    settings = small_settings(
        access_policy=write_policy(tmp_path / "policy.yaml", {"match": {"claims": {"sub": "*"}}, "roles": ["read"]}),
        jwks=str(tmp_path / "keys.json"),
        jwt_issuer=ISSUER,
        jwt_audience=AUDIENCE,
        jwt_leeway_s=0.0,
    )
    token = issuer.token(now=clock.wall_s, lasts_s=60)
    async with serving(settings=settings) as server, grpc.aio.insecure_channel(server.address) as channel:
        stub = pb_grpc.ToolRetrievalStub(channel)

        async def code() -> grpc.StatusCode:
            try:
                await stub.GetTool(
                    pb.GetToolRequest(id="crm/find_customer"),
                    metadata=(("authorization", f"Bearer {token}"),),
                    timeout=LIMIT_S,
                )
            except grpc.aio.AioRpcError as error:
                return error.code()
            return OK

        assert await code() == OK
        clock.passes(61)
        assert await code() == NOBODY
        clock.wall_s -= 3_600
        assert await code() == NOBODY


async def test_metrics_need_their_role(tmp_path: Path) -> None:
    tokens_file = tmp_path / "tokens.json"
    agent, prometheus = create_token(tokens_file, "agent"), create_token(tokens_file, "prometheus")
    policy = write_policy(
        tmp_path / "policy.yaml",
        {"match": {"token": "agent"}, "roles": ["read", "admin"]},
        {"match": {"token": "prometheus"}, "roles": ["metrics"]},
    )
    access = access_of(small_settings(access_policy=policy, tokens_file=tokens_file))
    allowed = [await access.metrics_status(header) for header in ("", f"Bearer {agent}", f"Bearer {prometheus}", "x")]
    assert allowed == [401, 403, 200, 401]
    assert await access_of(small_settings()).metrics_status("") == 200
